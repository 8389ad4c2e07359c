"""Find memories: the lasting statements about one user that answer a question, with the reasons.

What a memory says counts most; how much it matters, how often it was needed and how fresh it is decide between equals.
Of several that say about the same, the best comes first and the others further down.
It is not safe to change an index while it is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import log2
from typing import Final

import msgspec
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
from recollect.recall.scoring import Asked, fused, memory_signals, shares_of
from recollect.recall.words import asked_words, stem, weight_of, words_of

#: How much each signal counts.
MEMORY_WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0,
    "meaning": 1.5,
    "importance": 0.4,
    "pinned": 0.2,
    "used": 0.1,
    "recent": 0.2,
    "time": 0.4,
}
_SHARES: Final = shares_of(MEMORY_WEIGHTS)
#: How much a memory loses that says the same as one before it.
_SAME: Final = 0.3
#: Candidates that are compared with each other, for each hit that is wanted.
_POOL: Final = 4
#: Seconds after which a memory is half as fresh, and uses after which more add nothing.
_HALF_LIFE, _OFTEN = 60 * 86_400.0, 31
#: Rows of memories that are gone are cleared away once they are as many as the others, and at least this many.
_CLEARED: Final = 1_000
_MEMORY_BYTES: Final = 1_500
#: About what the words of a memory will take once they are read.
_UNREAD_BYTES: Final = 1_000

Keep = Callable[[Memory], bool]


class MemoryHit(msgspec.Struct, frozen=True, kw_only=True):
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
        #: The words of rows that stand only in what a memory is filed under, not in what it says.
        self._unsaid: dict[int, frozenset[str]] = {}
        #: Rows whose words nobody asked for yet.
        self._unread: list[int] = []
        self._overview: _MemoryOverview | None = None

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        """Tell about how many bytes are held."""
        words = self._postings.nbytes + _UNREAD_BYTES * len(self._unread)
        return self._rows.nbytes + words + _MEMORY_BYTES * len(self._memories)

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
                self._unsaid.pop(before, None)
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
        self._read_words()
        terms = [(term, stem(term)) for term in asked_words(question.text)]
        asked = Asked({word: kin_of(term) for term, word in terms}, (), question)
        if self._overview is None:
            self._overview = _MemoryOverview(self._rows)
        found = memory_signals(self._overview, self._postings, asked)
        score = self._overview.standing(fused(self._overview, found, _SHARES), question.now)
        chosen = self._diverse(self._best(score, _POOL * limit, keep), score, limit)
        said = self._said([row for row, _, _ in chosen], terms)
        near = self._near([row for row, _, _ in chosen], question.vector)
        return [
            MemoryHit(memory=memory, score=worth, why=_why(memory, question, told, close))
            for (_, memory, worth), told, close in zip(chosen, said, near, strict=True)
        ]

    def close(self, vector: NDArray[np.float32], least: float) -> list[tuple[str, float]]:
        """Return the memories that are at least so close to a vector, and how close, the closest first."""
        rows = self._rows
        near = rows.vectors @ vector
        close = (near >= least).nonzero()[0]
        close = close[rows.with_vector(close)]
        near = near[close]
        order = (-near).argsort(kind="stable")
        return [(self._memory(row).id, at) for row, at in zip(close[order].tolist(), near[order].tolist(), strict=True)]

    def vector(self, memory_id: str) -> NDArray[np.float32] | None:
        """Return the vector of a memory, if it is held and has one."""
        row = self._places.get(memory_id)
        return None if row is None else self._rows.held_vector(row)

    def _best(self, score: NDArray[np.float32], count: int, keep: Keep | None) -> list[tuple[int, Memory]]:
        order = (-score).argsort(kind="stable")[: len(self._places)]
        best: list[tuple[int, Memory]] = []
        worths: list[float] = []
        for row in order.tolist():
            worth = score.item(row)
            if len(best) >= count and worth < worths[-1]:
                break
            memory = self._memory(row)
            if keep is None or keep(memory):
                best.append((row, memory))
                worths.append(worth)
        if len(set(worths)) < len(worths):
            best.sort(key=lambda one: (-score.item(one[0]), one[1].id))
        return best[:count]

    def _diverse(
        self, pool: list[tuple[int, Memory]], score: NDArray[np.float32], limit: int
    ) -> list[tuple[int, Memory, float]]:
        """Choose one after the other, each by its score less what the chosen ones say already."""
        if not pool:
            return []
        numbers = np.array([row for row, _ in pool])
        worth = score[numbers].astype(np.float64)
        vectors = self._rows.vectors.take(numbers, 0)
        # What each is worth once another is chosen.
        beside = worth - _SAME * np.square(np.maximum(vectors @ vectors.T, 0, dtype=np.float64))
        chosen: list[tuple[int, Memory, float]] = []
        for _ in range(min(limit, len(pool))):
            at = int(worth.argmax())
            chosen.append((*pool[at], worth.item(at)))
            worth[at] = -np.inf
            np.minimum(worth, beside[at], out=worth)
        return chosen

    def _said(self, rows: list[int], terms: list[tuple[str, str]]) -> list[list[str]]:
        """Return which of the terms, given with their stems, the memory of each row says itself."""
        postings, unsaid = self._postings, self._unsaid
        known = [(term, word) for term, word in terms if word in postings]
        return [
            [term for term, word in known if postings.has(word, row) and word not in unsaid.get(row, ())]
            for row in rows
        ]

    def _near(self, rows: list[int], vector: NDArray[np.float32] | None) -> list[float]:
        """Return how close the memory of each row is to a vector."""
        if vector is None or not rows:
            return [0.0] * len(rows)
        near: list[float] = (self._rows.vectors.take(rows, 0) @ vector).tolist()
        return near

    def _memory(self, row: int) -> Memory:
        memory = self._memories[row]
        if memory is None:
            raise AssertionError("a living row has a memory")
        return memory

    def _add(self, item: IndexedMemory) -> None:
        memory = item.memory
        values = {
            "at": (memory.valid_from or memory.updated_at).timestamp(),
            "importance": memory.importance,
            "is_pinned": memory.is_pinned,
            "accesses": memory.access_count,
        }
        vector = None if item.vector is None else np.frombuffer(item.vector, dtype="<f2")
        row = self._rows.add(values, vector)
        self._unread.append(row)
        self._memories.append(memory)
        self._places[memory.id] = row

    def _read_words(self) -> None:
        """Take in the words of what was added since the last search: many are added for one that is asked for."""
        if not self._unread:
            return
        for row in self._unread:
            memory = self._memories[row]
            if memory is None:
                continue
            words, unsaid = _words(memory)
            self._rows.set_length(row, weight_of(words))
            self._postings.add(row, words)
            if unsaid:
                self._unsaid[row] = unsaid
        self._unread.clear()
        self._rows.show()

    def _rebuild(self) -> None:
        left = [IndexedMemory(self._memory(row), self._rows.vector(row)) for row in self._places.values()]
        self._clear()
        self.put(left)


class _MemoryOverview(Overview):
    """The state of memories, with what speaks for them whatever is asked."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        used = np.log2(1 + rows.accesses) / np.float32(log2(1 + _OFTEN))
        self._standing = (
            _SHARES["importance"] * rows.importance,
            _SHARES["pinned"] * rows.is_pinned.astype(np.float32),
            _SHARES["used"] * np.minimum(used, np.float32(1)),
        )

    def standing(self, score: NDArray[np.float32], now: datetime) -> NDArray[np.float32]:
        """Add to the scores how much memories matter, how often they were needed and how fresh they are."""
        for share in self._standing:
            score += share
        age = np.maximum(now.timestamp() - self.rows.at, 0)
        score += _SHARES["recent"] * np.exp2(age / -_HALF_LIFE).astype(np.float32)
        return score


def _why(memory: Memory, question: Question, said: list[str], near: float) -> tuple[str, ...]:
    reasons = ["words: " + ", ".join(said)] if said else []
    if near >= NEAR:
        reasons.append(f"near in meaning ({near:.2f})")
    if memory.is_pinned:
        reasons.append("pinned")
    if memory.importance >= 0.75:
        reasons.append(f"important ({memory.importance:.2f})")
    if memory.access_count >= _OFTEN:
        reasons.append(f"often used ({memory.access_count})")
    when = question.when
    if when is not None and when.start <= (memory.valid_from or memory.created_at) < when.end:
        reasons.append(f"of {when.said}")
    return tuple(reasons) or (CLOSEST,)


def _words(memory: Memory) -> tuple[dict[str, int], frozenset[str]]:
    """Return the words that a memory is found by, and those of them that it does not say itself."""
    said = words_of(memory.content)
    filed = " ".join(filter(None, (memory.category, memory.subject, memory.attribute)))
    if not filed:
        return said, frozenset()
    others = words_of(filed)
    both = said | {word: count + said.get(word, 0) for word, count in others.items()}
    return both, frozenset(others.keys() - said.keys())
