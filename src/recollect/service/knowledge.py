"""What is stored about each user that was active lately, held so that only what changed is read again.

Every use first asks the store whether the user's memories changed, so what is held is never older than the question;
only how often a memory was used may be, for that changes no revision.
Nothing here decides what becomes of a memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Indel, Levenshtein

from recollect.domain.likeness import Said
from recollect.domain.memory import Memory, NewMemory, SavedMemories, normalised
from recollect.domain.passage import IndexedMemory
from recollect.domain.scope import Scope
from recollect.domain.slots import Slot, slot_of
from recollect.domain.vector import Vector
from recollect.ports.recall import RecallStore
from recollect.recall.memories import MemoryIndex
from recollect.service.embedding import Embedding

#: Memories that are compared with a new one: so many that are worded alike, and as many that mean about the same.
NEAREST = 20
#: Below these nothing is a duplicate: words in another order or without the small ones still mean about the same.
LEAST_WORDING, LEAST_MEANING = 0.7, 0.7
#: Statements in Latin letters that mean less alike are no duplicates however they are worded.
LEAST_KINSHIP = 0.5
#: Bytes of all that is held; the users who were active longest ago are let go.
MOST_BYTES = 512 * 2**20


class _Newcomer(NamedTuple):
    """A new memory with what it says and means, read once for all that it is compared with."""

    new: NewMemory
    said: Said
    vector: NDArray[np.float32] | None


class UserKnowledge:
    """The memories of one user at one revision."""

    def __init__(self, revision: int, items: Iterable[IndexedMemory], embedding: Embedding) -> None:
        self.revision = revision
        self.index = MemoryIndex(embedding.dimensions)
        self._model = embedding.model
        self._thresholds = embedding.thresholds
        self.memories: dict[str, Memory] = {}
        #: Those that were found to hold no secret as they are.
        self.clean: set[str] = set()
        self._wordings: dict[str, str] = {}
        #: Those whose meaning nobody knows yet.
        self._bare: set[str] = set()
        #: What memories say that came near a new one, read for comparisons.
        self._said: dict[str, Said] = {}
        self._newcomer: _Newcomer | None = None
        #: Ids by what the memories say, by their slot and by their conversation.
        self._places: dict[tuple[str, str | Slot], set[str]] = {}
        self.put(items)

    def put(self, items: Iterable[IndexedMemory]) -> None:
        """Take memories in, in place of what they were before; those that are deleted leave."""
        taken = list(items)
        for item in taken:
            memory = item.memory
            self._leave(memory.id)
            self.clean.discard(memory.id)
            if memory.deleted_at is None:
                self._enter(memory)
                if item.vector is None:
                    self._bare.add(memory.id)
        self.index.put(taken)

    def _enter(self, memory: Memory) -> None:
        self.memories[memory.id] = memory
        last = self._newcomer
        is_last = last is not None and last.said.text == memory.content
        wording = last.said.wording if last is not None and is_last else normalised(memory.content)
        self._wordings[memory.id] = wording
        for place in _places(memory, wording):
            self._places.setdefault(place, set()).add(memory.id)

    def _leave(self, memory_id: str) -> None:
        before = self.memories.pop(memory_id, None)
        if before is None:
            return
        self._said.pop(memory_id, None)
        self._bare.discard(memory_id)
        for place in _places(before, self._wordings.pop(memory_id)):
            self._places[place].discard(memory_id)
            if not self._places[place]:
                del self._places[place]

    def of_slot(self, subject: str | None, attribute: str | None) -> list[Memory]:
        """Return all values of a slot, past ones too."""
        slot = slot_of(subject, attribute)
        return [] if slot is None else self._named(self._places.get(("slot", slot), ()))

    def of_conversation(self, conversation_id: str) -> list[Memory]:
        """Return the memories that belong to a conversation."""
        return self._named(self._places.get(("conversation", conversation_id), ()))

    def _named(self, ids: Collection[str]) -> list[Memory]:
        return [self.memories[memory_id] for memory_id in sorted(ids)]

    def vector(self, memory_id: str) -> bytes | None:
        """Return the bytes of the vector of a memory."""
        found = self.index.vector(memory_id)
        return None if found is None else found.astype("<f2").tobytes()

    def kept_vector(self, memory_id: str) -> Vector | None:
        """Return the vector of a memory, if it has one."""
        values = self.vector(memory_id)
        return None if values is None else Vector(self._model, values)

    def near(self, news: Sequence[NewMemory]) -> list[Memory]:
        """Return whatever may say the same as one of these, and all of their slots, past values too."""
        found: set[str] = set()
        for new in news:
            newcomer = self._read(new)
            for place in _places(new, newcomer.said.wording):
                if place[0] != "conversation":
                    found |= self._places.get(place, set())
            found.update(self._alike(newcomer))
        return self._named(found)

    def _alike(self, newcomer: _Newcomer) -> Sequence[str]:
        """Return what is worded or meant about as the new one."""
        said, vector = newcomer.said, newcomer.vector
        if vector is None or not vector.any():
            return _worded_alike(said.wording, self._wordings, LEAST_WORDING)
        close = self.index.close(vector, LEAST_KINSHIP)
        meant = [memory_id for memory_id, at in close[:NEAREST] if at >= LEAST_MEANING]
        if not said.is_latin:
            return meant + _worded_alike(said.wording, self._wordings, LEAST_WORDING)
        wordings = {memory_id: self._wordings[memory_id] for memory_id, _ in close[len(meant) :]}
        for memory_id in self._bare:
            wordings[memory_id] = self._wordings[memory_id]
        # What is worded less alike than a duplicate is one by its meaning.
        return meant + _worded_alike(said.wording, wordings, self._thresholds.wording) if wordings else meant

    def said(self, memory: NewMemory | Memory) -> Said:
        """Return what a memory says, read for comparisons; what is stored is read once while it is held."""
        if isinstance(memory, NewMemory):
            return self._read(memory).said
        said = self._said.get(memory.id)
        if said is None or said.text != memory.content:
            is_held = self.memories.get(memory.id) is memory
            said = Said(memory.content, self._wordings[memory.id] if is_held else None)
            if is_held:
                self._said[memory.id] = said
        return said

    def similarity(self, new: NewMemory, memory: Memory) -> float | None:
        """Return how close the two are in meaning, or None if one has no vector."""
        mine = self._read(new).vector
        if mine is None:
            return None
        theirs = self.index.vector(memory.id)
        return None if theirs is None else closeness(mine, theirs)

    def _read(self, new: NewMemory) -> _Newcomer:
        if self._newcomer is None or self._newcomer.new is not new:
            self._newcomer = _Newcomer(new, Said(new.content), None if new.vector is None else floats(new.vector))
        return self._newcomer


def _worded_alike(wording: str, wordings: Mapping[str, str], least: float) -> list[str]:
    """Return the ids of the wordings that are most alike."""
    # If a changed letter counts as one that goes and one that comes, what is so alike has at most twice the distance,
    # of lengths that differ no more than the likeness allows. That is found much faster.
    roughly = process.extract(
        wording,
        wordings,
        scorer=Indel.normalized_similarity,
        processor=None,
        score_cutoff=1 - 2 * (1 - least) / (1 + least) - 1e-6,
        limit=NEAREST + 1,
    )
    if not roughly:
        return []
    hits = process.extract(
        wording,
        # Which of equally good ones are the nearest depends on their order among all.
        {memory_id: alike for alike, _, memory_id in roughly} if len(roughly) <= NEAREST else wordings,
        scorer=Levenshtein.normalized_similarity,
        processor=None,
        score_cutoff=least,
        limit=NEAREST,
    )
    return [memory_id for _, _, memory_id in hits]


def _places(memory: Memory | NewMemory, wording: str) -> Iterable[tuple[str, str | Slot]]:
    """Give where a memory is looked up."""
    yield "says", wording
    slot = slot_of(memory.subject, memory.attribute)
    if slot is not None:
        yield "slot", slot
    if memory.conversation_id is not None:
        yield "conversation", memory.conversation_id


def floats(vector: Vector) -> NDArray[np.float32]:
    """Return the numbers of a vector."""
    return np.frombuffer(vector.values, dtype="<f2").astype(np.float32)


def closeness(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the cosine of two vectors of length one, in [0, 1]."""
    return min(1.0, max(0.0, float(one @ other)))


class Knowledge:
    """Hold what is stored about users."""

    def __init__(self, store: RecallStore, embedding: Embedding, *, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._embedding = embedding
        self._most_bytes = most_bytes
        #: In the order of their use.
        self._users: OrderedDict[tuple[str, str], UserKnowledge] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self._bytes = 0

    async def of(self, scope: Scope, *, afresh: bool = False) -> UserKnowledge:
        """Return what is stored about the user now; `afresh` reads it all, with how often each memory was used."""
        user = (scope.tenant, scope.user)
        held = self._users.get(user)
        revision = None if held is None or afresh else held.revision
        read = await self._store.read_memories(scope, self._embedding.model, revision)
        if read is not None:
            items = await self._embedded(scope, read.items)
            newest = self._users.get(user)
            has_moved = newest is not held or (
                newest is not None and revision is not None and newest.revision > revision
            )
            if newest is None or not has_moved or newest.revision < read.revision:
                newest = UserKnowledge(read.revision, items, self._embedding)
            held = newest
        if held is None:
            raise AssertionError("memories are read unless their revision is known")
        self._keep(user, held)
        return held

    def held(self, scope: Scope) -> UserKnowledge | None:
        """Return what is held of the user, which may be out of date: only for a write that names its revision."""
        user = (scope.tenant, scope.user)
        held = self._users.get(user)
        if held is not None:
            self._users.move_to_end(user)
        return held

    async def _embedded(self, scope: Scope, items: Sequence[IndexedMemory]) -> Sequence[IndexedMemory]:
        """Return the memories with vectors where those can be had at once; a job makes the others."""
        bare = [item.memory for item in items if item.vector is None]
        if not bare:
            return items
        await self._embedding.queue(scope)
        made = await self._embedding.of_memories(bare)
        return [
            item if item.vector is not None else IndexedMemory(item.memory, made.get(item.memory.id)) for item in items
        ]

    def learned(self, scope: Scope, saved: SavedMemories, vectors: Mapping[str, bytes | None]) -> None:
        """Take in what was just saved with these vectors, if nobody else saved anything since it was read.

        What has no entry among the vectors keeps the vector that it had.
        """
        user = (scope.tenant, scope.user)
        held = self._users.get(user)
        if held is None or saved.revision != held.revision + 1:
            return
        changed = (*saved.created, *saved.changed)
        held.put([IndexedMemory(one, vectors[one.id] if one.id in vectors else held.vector(one.id)) for one in changed])
        held.revision = saved.revision
        self._weigh(user, held.index.nbytes)

    def _keep(self, user: tuple[str, str], held: UserKnowledge) -> None:
        self._users[user] = held
        self._weigh(user, held.index.nbytes)
        self._users.move_to_end(user)
        while len(self._users) > 1 and self._bytes > self._most_bytes:
            gone, _ = self._users.popitem(last=False)
            self._weigh(gone, 0)

    def _weigh(self, user: tuple[str, str], size: int) -> None:
        before = self._sizes.get(user, 0)
        if size == before:
            return
        self._bytes += size - before
        if size:
            self._sizes[user] = size
        else:
            del self._sizes[user]
