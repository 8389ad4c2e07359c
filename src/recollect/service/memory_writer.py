"""Let new memories meet the stored ones and save what comes of it, planned again whenever somebody else saved.

The one way by which a memory is added, so that equal and contradicting statements are settled in one place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec import UnsetType

from recollect.domain.memory import Memory, MemoryChanges, MemoryEdit, MemoryPlan, NewMemory, SavedMemories, holds
from recollect.domain.memory_plan import Plan, Similarity, reconcile
from recollect.domain.reconciling import Merge, Neighbour, Skip, decide
from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.errors import ConflictError, ErasedError, StaleVersionError
from recollect.ports.store import Store
from recollect.service.embedding import Embedding
from recollect.service.embedding_together import EmbeddingTogether
from recollect.service.means import Means

if TYPE_CHECKING:
    from recollect.service.knowledge import Knowledge, UserKnowledge

T = TypeVar("T")
#: How often a plan is made again because another process saved memories of the same user.
MOST_CONFLICTS = 100
#: Memories that are set aside in one transaction.
MOST_EDITS = 500

#: Save a plan that was made for this revision of the user's memories, or raise `ConflictError`.
Save = Callable[[Plan, int], Awaitable[SavedMemories]]
#: Say what to change of what is stored.
Edits = Callable[["UserKnowledge"], Sequence[MemoryEdit]]


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What became of new memories."""

    saved: SavedMemories
    #: Candidates that brought nothing new.
    skipped: int = 0
    #: Candidates that joined a memory.
    merged: int = 0
    #: Memories that are no longer current.
    superseded: int = 0
    #: Memories that were set aside because their conversation has too many.
    archived: tuple[Memory, ...] = ()


class MemoryWriter:
    """Save memories; those of one user are saved one after the other."""

    def __init__(
        self,
        store: Store,
        knowledge: Knowledge,
        embedding: Embedding,
        means: Means,
        *,
        max_per_conversation: int,
    ) -> None:
        self._store = store
        self._knowledge = knowledge
        self._embedding = embedding
        self._means = means
        self._together = EmbeddingTogether(embedding)
        #: How many write memories now, of whatever user.
        self._writing = 0
        self._max = max_per_conversation
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def known(self, scope: Scope) -> UserKnowledge:
        """Return what is stored about the user now."""
        return await self._knowledge.of(scope)

    async def write(self, scope: Scope, new: Sequence[NewMemory], save: Save | None = None) -> Written:
        """Save memories, unless they say what is stored; what they contradict in their slot is no longer current.

        `save` may do more in the same transaction.
        """
        with self._company():
            embedded = await self._embedded(scope, new)
            async with self._lock(scope):
                return await self._write(scope, embedded, save)

    async def add(self, scope: Scope, new: NewMemory) -> tuple[Memory, Written]:
        """Save one memory as `write` does, and return it or the one that says the same with what became of it."""
        with self._company():
            embedded = await self._embedded(scope, (new,))
            for _ in range(MOST_CONFLICTS):
                async with self._lock(scope):
                    written = await self._write(scope, embedded, None)
                    memory = self._kept(written) or self._twin(await self._knowledge.of(scope), embedded[0])
                if memory is not None:
                    return memory, written
            raise _too_many()

    @contextmanager
    def _company(self) -> Iterator[None]:
        """Count who writes, so that one who is not alone waits for the others to embed with them."""
        self._writing += 1
        try:
            yield
        finally:
            self._writing -= 1

    async def apply(self, scope: Scope, plan: Edits, *, afresh: bool = False) -> tuple[Memory, ...]:
        """Make the edits that are planned from what is stored, planned again if somebody else saved meanwhile.

        `afresh` plans with how often memories were used, too.
        """
        async with self._lock(scope):
            return await self._apply(scope, plan, afresh=afresh)

    async def _write(self, scope: Scope, new: Sequence[NewMemory], save: Save | None) -> Written:
        async def attempt(known: UserKnowledge) -> tuple[Plan, SavedMemories, Sequence[Memory]]:
            near = known.near(new)
            plan = self._plan(known, new, near)
            if save is None and not plan.new and not plan.edits:
                return plan, await self._nothing(scope, known.revision), near
            return plan, await self._save(scope, plan, known.revision, save), near

        # What is saved names the revision it was planned for, so the store is asked for it only where nothing is saved.
        plan, saved, near = await self._settled(scope, attempt, held=self._knowledge.held(scope))
        self._knowledge.learned(scope, saved, _made(plan.new))
        if saved.refused:
            saved, plan = await self._without_refused(scope, new, near, saved)
        self._means.meter.add("memory.saved.count", len(saved.created))
        return Written(
            saved=saved,
            skipped=plan.skipped,
            merged=plan.merged,
            superseded=plan.superseded,
            archived=await self._archive_surplus(scope, saved.created),
        )

    def _plan(self, known: UserKnowledge, new: Sequence[NewMemory], near: Sequence[Memory]) -> Plan:
        similarity = known.similarity if len(new) == 1 else _similarity(known, new)
        thresholds = self._embedding.thresholds
        at = self._means.clock()
        return reconcile(new, near, at=at, similarity=similarity, thresholds=thresholds, said=known.said)

    async def _apply(self, scope: Scope, plan: Edits, *, afresh: bool = False) -> tuple[Memory, ...]:
        async def attempt(known: UserKnowledge) -> tuple[Memory, ...]:
            edits = tuple(plan(known))
            if not edits:
                return ()
            changes = MemoryPlan(at=self._means.clock(), edits=edits, memory_revision=known.revision)
            saved = await self._store.save_memories(scope, changes)
            self._knowledge.learned(scope, saved, _vectors(edits))
            return saved.changed

        return await self._settled(scope, attempt, afresh=afresh)

    async def _settled(
        self,
        scope: Scope,
        attempt: Callable[[UserKnowledge], Awaitable[T]],
        *,
        afresh: bool = False,
        held: UserKnowledge | None = None,
    ) -> T:
        """Try with what is stored, again whenever somebody else saved meanwhile, and once if a version is doubtful.

        The first try goes by what is held, if that is given.
        """
        has_doubted = False
        for _ in range(MOST_CONFLICTS):
            known = held or await self._knowledge.of(scope, afresh=afresh)
            held, revision = None, known.revision
            try:
                return await attempt(known)
            except ConflictError as exc:
                is_same = (await self._knowledge.of(scope)).revision == revision
                is_doubtful = isinstance(exc, StaleVersionError) and not has_doubted
                if is_same and not is_doubtful:
                    raise
                has_doubted |= is_doubtful
                afresh |= is_doubtful
        raise _too_many()

    def _kept(self, written: Written) -> Memory | None:
        """Return the memory that was stored under this id, now or before, as it is now."""
        if written.saved.created:
            (created,) = written.saved.created
            return next((memory for memory in written.archived if memory.id == created.id), created)
        for memory in written.saved.duplicates:
            if memory.deleted_at is not None:
                raise ErasedError("the memory with this id was deleted; undo that, or use another id")
            return memory
        return None

    def _twin(self, known: UserKnowledge, new: NewMemory) -> Memory | None:
        """Return the memory that says what this one would say, unless somebody took it away meanwhile."""
        if new.id in known.memories:
            return known.memories[new.id]
        near = [Neighbour(one, known.similarity(new, one)) for one in known.near((new,))]
        decision = decide(new, near, at=self._means.clock(), thresholds=self._embedding.thresholds)
        return decision.memory if isinstance(decision, (Skip, Merge)) else None

    def _lock(self, scope: Scope) -> asyncio.Lock:
        user = (scope.tenant, scope.user)
        lock = self._locks.get(user)
        if lock is None:
            lock = self._locks[user] = asyncio.Lock()
        return lock

    async def _embedded(self, scope: Scope, new: Sequence[NewMemory]) -> list[NewMemory]:
        bare = [memory.content for memory in new if memory.vector is None]
        embedding = self._together if self._writing > 1 else self._embedding
        vectors = iter(await embedding.vectors(scope, bare))
        return [memory if memory.vector is not None else _with_vector(memory, next(vectors)) for memory in new]

    async def _nothing(self, scope: Scope, revision: int) -> SavedMemories:
        """Save nothing, unless that was planned for what is no longer stored."""
        if (await self._knowledge.of(scope)).revision != revision:
            raise ConflictError("the memories of the user changed meanwhile; read them and plan again")
        return SavedMemories()

    async def _save(self, scope: Scope, plan: Plan, revision: int, save: Save | None) -> SavedMemories:
        if save is not None:
            return await save(plan, revision)
        wanted = MemoryPlan(at=self._means.clock(), new=plan.new, edits=plan.edits, memory_revision=revision)
        return await self._store.save_memories(scope, wanted)

    async def _without_refused(
        self, scope: Scope, new: Sequence[NewMemory], near: Sequence[Memory], saved: SavedMemories
    ) -> tuple[SavedMemories, Plan]:
        """Let the others of a batch be what they would be without those that stay forgotten.

        One that was forgotten may have ended another, or stood for a third that said the same.
        """
        left = [one for one in new if one.id not in saved.refused]
        created = {memory.id: memory for memory in saved.created}

        async def attempt(known: UserKnowledge) -> tuple[SavedMemories, Plan]:
            plan = self._plan(known, left, [known.memories.get(memory.id, memory) for memory in near])
            at = self._means.clock()
            edits = [edit for edit in plan.edits if edit.memory_id in saved.skipped]
            edits += [
                MemoryEdit(memory_id=one.id, changes=MemoryChanges(at=at, valid_to=one.valid_to))
                for one in plan.new
                if one.id in created and created[one.id].valid_to != one.valid_to
            ]
            lost = tuple(one for one in plan.new if one.id not in created)
            if not edits and not lost:
                return SavedMemories(revision=saved.revision), plan
            wanted = MemoryPlan(at=at, new=lost, edits=tuple(edits), memory_revision=known.revision)
            more = await self._store.save_memories(scope, wanted)
            self._knowledge.learned(scope, more, _made(lost))
            return more, plan

        more, plan = await self._settled(scope, attempt)
        return _together(saved, more), plan

    async def _archive_surplus(self, scope: Scope, created: Sequence[Memory]) -> tuple[Memory, ...]:
        """Set the least important memories of a conversation aside where it has more than it may."""
        conversations = sorted({one.conversation_id for one in created if one.conversation_id is not None})
        return await self._apply(scope, lambda known: self._surplus(known, conversations)) if conversations else ()

    def _surplus(self, known: UserKnowledge, conversations: Sequence[str]) -> list[MemoryEdit]:
        surplus: list[Memory] = []
        for conversation_id in conversations:
            mine = [memory for memory in known.of_conversation(conversation_id) if _counts(memory)]
            if len(mine) > self._max:
                free = sorted((m for m in mine if not m.is_pinned), key=lambda m: (m.importance, m.created_at, m.id))
                surplus += free[: len(mine) - self._max]
        changes = MemoryChanges(at=self._means.clock(), is_archived=True)
        return [MemoryEdit(memory_id=one.id, changes=changes) for one in surplus[:MOST_EDITS]]


def _together(first: SavedMemories, then: SavedMemories) -> SavedMemories:
    """Return what both did, each memory as it is after the second."""
    changed = {memory.id: memory for memory in (*first.changed, *then.changed)}
    created = tuple(changed.pop(one.id, one) for one in first.created)
    return SavedMemories(
        created=(*created, *then.created),
        changed=tuple(changed.values()),
        duplicates=(*first.duplicates, *then.duplicates),
        refused=(*first.refused, *then.refused),
        skipped=tuple(one for one in first.skipped if one not in changed),
        revision=then.revision,
    )


def _similarity(known: UserKnowledge, new: Sequence[NewMemory]) -> Similarity:
    """Return what compares new memories with stored ones and with each other."""
    from recollect.service.knowledge import closeness, floats

    together = {one.id: floats(one.vector) for one in new if one.vector is not None}

    def similarity(one: NewMemory, memory: Memory) -> float | None:
        mine, theirs = together.get(one.id), together.get(memory.id)
        return known.similarity(one, memory) if mine is None or theirs is None else closeness(mine, theirs)

    return similarity


def _too_many() -> ConflictError:
    return ConflictError("others keep changing the memories of this user; try again")


def _with_vector(new: NewMemory, vector: Vector | None) -> NewMemory:
    """Return the memory with its vector; both were checked when they were made, and are not checked again."""
    embedded = copy(new)
    msgspec.structs.force_setattr(embedded, "vector", vector)
    return embedded


def _counts(memory: Memory) -> bool:
    return memory.trust == "active" and not memory.is_archived and holds(memory, None)


def _made(new: Sequence[NewMemory]) -> dict[str, bytes | None]:
    return {one.id: None if one.vector is None else one.vector.values for one in new}


def _vectors(edits: Sequence[MemoryEdit]) -> dict[str, bytes | None]:
    given = ((edit.memory_id, edit.changes.vector) for edit in edits)
    return {
        memory_id: None if vector is None else vector.values
        for memory_id, vector in given
        if not isinstance(vector, UnsetType)
    }
