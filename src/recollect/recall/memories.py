"""Find memories: the lasting statements about one user that answer a question, with the reasons.

What a memory says counts most; how much it matters, how often it was needed and how fresh it is decide between equals.
Of several that say about the same, the best comes first and the others further down.
It is not safe to change an index while it is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from math import log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.domain.memory import Memory
from recollect.domain.passage import IndexedMemory
from recollect.recall.explaining import CLOSEST, NEAR
from recollect.recall.kin import kin_of
from recollect.recall.overview import Overview
from recollect.recall.postings import Postings
from recollect.recall.question import Question
from recollect.recall.rows import Rows
from recollect.recall.scoring import Asked, Weights, fused, memory_signals
from recollect.recall.words import asked_words, stem, weight_of, words_of

#: How much each signal counts.
MEMORY_WEIGHTS: Final[Weights] = {
    "words": 1.0,
    "meaning": 1.5,
    "importance": 0.4,
    "pinned": 0.2,
    "used": 0.1,
    "recent": 0.2,
    "time": 0.4,
}
#: How much a memory loses that says the same as one before it.
_SAME: Final = 0.3
#: Candidates that are compared with each other, for each hit that is wanted.
_POOL: Final = 4
#: Days after which a memory is half as fresh, and uses after which more add nothing.
_HALF_LIFE, _OFTEN = 60.0, 31
_DAY: Final = 86_400.0
#: Rows of memories that are gone are cleared away once they are as many as the others, and at least this many.
_CLEARED: Final = 1_000
_MEMORY_BYTES: Final = 1_500

Keep = Callable[[Memory], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """A memory that answers, how well, and why."""

    memory: Memory
    #: At most about 1; comparable among the hits of one question only.
    score: float
    why: tuple[str, ...]


class MemoryIndex:
    """The memories of one user."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._clear()

    def _clear(self) -> None:
        self._rows = Rows(self._dimensions)
        self._postings = Postings()
        self._memories: list[Memory | None] = [None]
        self._places: dict[str, int] = {}
        self._overview: Overview | None = None

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        """Tell about how many bytes are held."""
        return self._rows.nbytes + self._postings.nbytes + _MEMORY_BYTES * len(self._memories)

    def replace(self, items: Iterable[IndexedMemory]) -> None:
        """Hold these memories and no others."""
        self._clear()
        self.put(items)

    def put(self, items: Iterable[IndexedMemory]) -> None:
        """Take memories in, in place of what they were before; those that are deleted leave."""
        for item in items:
            memory = item.memory
            before = self._places.pop(memory.id, None)
            if before is not None:
                self._rows.bury([before])
                self._memories[before] = None
            if memory.deleted_at is None:
                self._add(item)
        self._overview = None
        dead = self._rows.size - 1 - self._rows.living
        if dead >= _CLEARED and dead >= self._rows.living:
            self._rebuild()

    def search(self, question: Question, limit: int = 10, keep: Keep | None = None) -> list[MemoryHit]:
        """Return the best memories that may be kept, the best first; of equal ones by id."""
        if not self._places:
            return []
        asked = Asked({stem(word): kin_of(word) for word in asked_words(question.text)}, (), question)
        if self._overview is None:
            self._overview = Overview(self._rows)
        found = memory_signals(self._overview, self._postings, asked) | self._standing(question)
        score = fused(self._rows, found, MEMORY_WEIGHTS)
        pool = self._best(score, _POOL * limit, keep)
        return [
            MemoryHit(memory=memory, score=worth, why=self._why(memory, row, asked))
            for row, memory, worth in self._diverse(pool, score, limit)
        ]

    def nearest(self, vector: NDArray[np.float32], count: int, least: float) -> list[str]:
        """Return the memories closest to a vector, at most so many and none further than this, the closest first."""
        rows = self._rows
        near = np.where(rows.has_vector, rows.vectors @ vector, np.float32(-1))
        close = np.flatnonzero(near >= least)
        if len(close) > count:
            close = close[np.argpartition(-near[close], count - 1)[:count]]
        return [self._memory(int(row)).id for row in close[np.lexsort((close, -near[close]))]]

    def vector(self, memory_id: str) -> NDArray[np.float32] | None:
        """Return the vector of a memory, if it is held and has one."""
        row = self._places.get(memory_id)
        return None if row is None or not self._rows.has_vector[row] else self._rows.vectors[row]

    def _standing(self, question: Question) -> dict[str, NDArray[np.float32]]:
        """Return what speaks for memories whatever is asked."""
        rows = self._rows
        days = np.maximum(question.now.timestamp() - rows.at, 0) / _DAY
        used = np.log2(1 + rows.accesses) / np.float32(log2(1 + _OFTEN))
        return {
            "importance": rows.importance,
            "pinned": rows.is_pinned.astype(np.float32),
            "used": np.minimum(used, np.float32(1)),
            "recent": np.exp2(-days / _HALF_LIFE).astype(np.float32),
        }

    def _best(self, score: NDArray[np.float32], count: int, keep: Keep | None) -> list[tuple[int, Memory]]:
        rows = np.flatnonzero(self._rows.alive)
        order = rows[np.argsort(-score[rows], kind="stable")].tolist()
        best: list[tuple[int, Memory]] = []
        for _, equal in groupby(order, key=score.__getitem__):
            found = [(row, self._memory(row)) for row in equal]
            kept = [one for one in found if keep is None or keep(one[1])]
            best += sorted(kept, key=lambda one: one[1].id)
            if len(best) >= count:
                break
        return best[:count]

    def _diverse(
        self, pool: list[tuple[int, Memory]], score: NDArray[np.float32], limit: int
    ) -> list[tuple[int, Memory, float]]:
        """Choose one after the other, each by its score less what the chosen ones say already."""
        if not pool:
            return []
        numbers = np.array([row for row, _ in pool])
        worth = score[numbers].astype(np.float64)
        vectors = self._rows.vectors[numbers]
        alike = vectors @ vectors.T
        left = worth.copy()
        chosen: list[tuple[int, Memory, float]] = []
        said = np.zeros(len(pool))
        for _ in range(min(limit, len(pool))):
            at = int(np.argmax(left))
            chosen.append((*pool[at], float(left[at])))
            said = np.maximum(said, alike[at])
            left = np.where(np.isneginf(left), -np.inf, worth - _SAME * np.square(np.maximum(said, 0)))
            left[at] = -np.inf
        return chosen

    def _why(self, memory: Memory, row: int, asked: Asked) -> tuple[str, ...]:
        words = words_of(memory.content)
        terms = [term for term in asked_words(asked.question.text) if stem(term) in words]
        reasons = ["words: " + ", ".join(terms)] if terms else []
        vector = asked.question.vector
        near = 0.0 if vector is None else float(self._rows.vectors[row] @ vector)
        if near >= NEAR:
            reasons.append(f"near in meaning ({near:.2f})")
        if memory.is_pinned:
            reasons.append("pinned")
        if memory.importance >= 0.75:
            reasons.append(f"important ({memory.importance:.2f})")
        if memory.access_count >= _OFTEN:
            reasons.append(f"often used ({memory.access_count})")
        when = asked.question.when
        if when is not None and when.start <= (memory.valid_from or memory.created_at) < when.end:
            reasons.append(f"of {when.said}")
        return tuple(reasons) or (CLOSEST,)

    def _memory(self, row: int) -> Memory:
        memory = self._memories[row]
        if memory is None:
            raise AssertionError("a living row has a memory")
        return memory

    def _add(self, item: IndexedMemory) -> None:
        memory = item.memory
        words = words_of(" ".join(filter(None, (memory.content, memory.category, memory.subject, memory.attribute))))
        values = {
            "length": weight_of(words),
            "at": (memory.valid_from or memory.updated_at).timestamp(),
            "importance": memory.importance,
            "is_pinned": memory.is_pinned,
            "accesses": memory.access_count,
        }
        vector = None if item.vector is None else np.frombuffer(item.vector, dtype="<f2").astype(np.float32)
        row = self._rows.add(values, vector)
        self._postings.add(row, words)
        self._memories.append(memory)
        self._places[memory.id] = row

    def _rebuild(self) -> None:
        left = [IndexedMemory(self._memory(row), self._rows.vector(row)) for row in self._places.values()]
        self._clear()
        self.put(left)
