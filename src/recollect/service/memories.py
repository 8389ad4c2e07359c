"""Memories by hand: add, read, change, review, delete and undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import check_one_of
from recollect.domain.erasure import Erasure, Receipt
from recollect.domain.job import Job, NewJob
from recollect.domain.lineage import lineage
from recollect.domain.memory import (
    Memory,
    MemoryChanges,
    MemoryEdit,
    MemoryPage,
    MemoryQuery,
    MemoryType,
    MemoryVersion,
    NewMemory,
)
from recollect.domain.memory_plan import approval
from recollect.domain.reconciling import Neighbour
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.domain.vector import Vector
from recollect.errors import ConflictError, InvalidInputError, MemoryNotFoundError, StaleVersionError
from recollect.ports.store import Store
from recollect.service.embedding import Embedding
from recollect.service.means import Means
from recollect.service.memory_writer import MOST_CONFLICTS, Edits, MemoryWriter
from recollect.service.remembering import remembering
from recollect.service.undoing import Undoing

if TYPE_CHECKING:
    from recollect.service.knowledge import UserKnowledge

#: How long a deletion can be undone.
UNDO_TIME = timedelta(seconds=30)
#: How much later it is erased, so that an undo of the last moment is through.
GRACE = timedelta(seconds=2)
#: The kind of the job that erases a memory once its deletion can no longer be undone.
ERASE_MEMORY = "erase_memory"

MEMORY_CREATED, MEMORY_UPDATED, MEMORY_DELETED = "memory.created", "memory.updated", "memory.deleted"

Review = Literal["approve", "reject"]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that a person states."""

    content: str
    memory_type: MemoryType = "fact"
    category: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    is_pinned: bool = False
    #: The conversation that it is added to.
    conversation_id: str | None = None
    subject: str | None = None
    attribute: str | None = None
    valid_from: datetime | None = None
    #: The same id again adds nothing.
    id: str | None = None


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What a person changes of a memory; what is unset stays."""

    content: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    category: str | None | UnsetType = UNSET
    importance: float | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    is_pinned: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET
    #: Change nothing if the memory is at another version.
    expected_version: int | None = None


class Memories:
    """Everything a person does with what is remembered of them."""

    def __init__(
        self,
        store: Store,
        writer: MemoryWriter,
        embedding: Embedding,
        means: Means,
    ) -> None:
        self._store = store
        self._writer = writer
        self._embedding = embedding
        self._means = means

    @remembering("create_memory")
    async def add(self, scope: Scope, statement: Statement) -> Memory:
        """Store what a person states, and return it or the memory that says it already.

        Secrets in it are redacted; another value of the same slot is no longer current.
        Raise `ConversationNotFoundError` if it names a conversation that is not there.
        """
        if statement.conversation_id is not None:
            await self._store.get_conversation(scope, statement.conversation_id)
        named = {name: getattr(statement, name) for name in statement.__struct_fields__}
        named |= {"id": statement.id or self._means.new_id(), "content": redacted(statement.content).text}
        new = NewMemory(**named, at=self._means.clock(), agent=scope.agent, origin="manual")
        memory, written = await self._writer.add(scope, new)
        self._tell(scope, MEMORY_CREATED, written.saved.created)
        self._tell(scope, MEMORY_UPDATED, (*written.saved.changed, *written.archived))
        return memory

    async def get(self, scope: Scope, memory_id: str) -> Memory:
        """Return the memory or raise `MemoryNotFoundError`."""
        return await self._store.get_memory(scope, memory_id)

    async def list(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        """List memories by filter, the last added first."""
        return await self._store.list_memories(scope, query)

    async def history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return what the memory was before each change, newest first."""
        return await self._store.memory_history(scope, memory_id)

    async def lineage(self, scope: Scope, memory_id: str) -> tuple[Memory, ...]:
        """Return what held in the place of a memory before and after it, itself too, the oldest first."""
        memory = await self._store.get_memory(scope, memory_id)
        known = await self._writer.known(scope)
        return lineage(memory, known.memories.values(), known.of_slot(memory.subject, memory.attribute))

    @remembering("update_memory")
    async def change(self, scope: Scope, memory_id: str, correction: Correction) -> Memory:
        """Change a memory and keep what it was; a memory that waits for review cannot be pinned."""
        await self._store.get_memory(scope, memory_id)
        named = {name: getattr(correction, name) for name in correction.__struct_fields__}
        vector: Vector | None | UnsetType = UNSET
        if isinstance(correction.content, str):
            named["content"] = redacted(correction.content).text
            vector = (await self._embedding.vectors(scope, [named["content"]]))[0]
        changes = MemoryChanges(at=self._means.clock(), **named, vector=vector)

        def edits(known: UserKnowledge) -> Sequence[MemoryEdit]:
            if correction.is_pinned is True and _found(known, memory_id).trust != "active":
                raise ConflictError("a memory that waits for review cannot be pinned; approve it first")
            return (MemoryEdit(memory_id=_found(known, memory_id).id, changes=changes),)

        (changed,) = await self._writer.apply(scope, edits)
        self._tell(scope, MEMORY_UPDATED, (changed,))
        return changed

    async def review(self, scope: Scope, memory_id: str, decision: Review, content: str | None = None) -> Memory:
        """Approve a memory that waits for review, perhaps in other words, or reject it."""
        return (await self.review_many(scope, (memory_id,), decision, content))[0]

    @remembering("update_memory")
    async def review_many(
        self, scope: Scope, memory_ids: Sequence[str], decision: Review, content: str | None = None
    ) -> tuple[Memory, ...]:
        """Decide about several, all of which must wait; each approved one then meets the stored ones like a new one."""
        check_one_of(decision, ("approve", "reject"), "decision")
        if content is not None and len(memory_ids) != 1:
            raise InvalidInputError("give other words for one memory at a time")
        words = None if content is None else redacted(content).text
        vector = None if words is None else (await self._embedding.vectors(scope, [words]))[0]
        memory_ids = tuple(dict.fromkeys(memory_ids))
        for memory_id in memory_ids:
            _require_waiting(await self._store.get_memory(scope, memory_id))
        for memory_id in memory_ids:
            if decision == "reject":
                plan = _rejection(memory_id, self._means.clock())
            else:
                plan = self._approval(memory_id, words, vector)
            self._tell(scope, MEMORY_UPDATED, await self._writer.apply(scope, plan))
        return tuple([await self._store.get_memory(scope, memory_id) for memory_id in memory_ids])

    def _approval(self, memory_id: str, content: str | None, vector: Vector | None) -> Edits:
        at = self._means.clock()

        def edits(known: UserKnowledge) -> Sequence[MemoryEdit]:
            waiting = _require_waiting(_found(known, memory_id))
            said = NewMemory(
                id=waiting.id,
                content=waiting.content if content is None else content,
                at=at,
                subject=waiting.subject,
                attribute=waiting.attribute,
                vector=known.kept_vector(memory_id) if content is None else vector,
            )
            near = [Neighbour(one, known.similarity(said, one)) for one in known.near((said,))]
            planned = approval(waiting, near, at=at, content=content, thresholds=self._embedding.thresholds)
            if content is None:
                return planned
            return tuple(_with_vector(edit, vector) if edit.memory_id == memory_id else edit for edit in planned)

        return edits

    @remembering("delete_memory")
    async def delete(self, scope: Scope, memory_id: str, expected_version: int | None = None) -> Memory:
        """Hide a memory at once and erase it after a while in which that can be undone.

        Raise `StaleVersionError` and change nothing if it is not at the version that is expected.
        """
        stored = await self._store.get_memory(scope, memory_id)
        if expected_version not in (None, stored.version):
            raise StaleVersionError(f"the memory is at version {stored.version}")
        now = self._means.clock()
        # First the job: one for a memory that was not deleted after all does nothing.
        await self._erase_later(scope, memory_id, now)
        changes = MemoryChanges(at=now, deleted_at=now, expected_version=expected_version)
        (deleted,) = await self._writer.apply(
            scope, lambda known: (MemoryEdit(memory_id=_found(known, memory_id).id, changes=changes),)
        )
        self._tell(scope, MEMORY_DELETED, (deleted,))
        return deleted

    async def _erase_later(self, scope: Scope, memory_id: str, deleted_at: datetime) -> None:
        key = f"{ERASE_MEMORY}:{memory_id}"
        job = NewJob(
            id=self._means.new_id(),
            kind=ERASE_MEMORY,
            key=key if len(key) <= 255 else None,
            run_at=deleted_at + UNDO_TIME + GRACE,
            payload={"memory_id": memory_id},
        )
        await self._store.enqueue_job(scope, job, self._means.clock())
        self._means.wake(job.run_at)

    @remembering("delete_memory")
    async def erase(self, scope: Scope, memory_id: str) -> Receipt:
        """Erase a memory now, with all that derives from it; it is not learned again."""
        receipt = await self._store.erase_memory(scope, memory_id, self._erasure())
        self._means.tell(scope, MEMORY_DELETED, (memory_id,))
        return receipt

    def _erasure(self) -> Erasure:
        return Erasure(receipt_id=self._means.new_id(), at=self._means.clock())

    async def erase_memory_job(self, scope: Scope, job: Job) -> None:
        """Erase a memory whose deletion was not undone."""
        memory_id = job.payload.get("memory_id")
        if not isinstance(memory_id, str):
            raise InvalidInputError("a job to erase a memory names none")
        try:
            history = await self._store.memory_history(scope, memory_id)
            if not await self._is_deleted(scope, memory_id):
                return
            if self._means.clock() <= history[0].until + UNDO_TIME:
                # It was brought back and deleted again since the job was made.
                await self._erase_later(scope, memory_id, history[0].until)
                return
            await self._store.erase_memory(scope, memory_id, self._erasure())
        except MemoryNotFoundError:
            return

    @remembering("update_memory")
    async def undo(self, scope: Scope, memory_id: str) -> Memory:
        """Take back the last change of a memory: an edit, what took its place, or for a while its deletion.

        What changed with it is taken back too; what took its place later is no longer current.
        Raise `ConflictError` if nothing was ever changed.
        """
        for _ in range(MOST_CONFLICTS):
            try:
                return await self._undo(scope, memory_id)
            except StaleVersionError:
                continue
        raise ConflictError("others keep changing this memory; try again")

    async def _undo(self, scope: Scope, memory_id: str) -> Memory:
        history = await self._store.memory_history(scope, memory_id)
        if not history:
            raise ConflictError("this memory was never changed; delete it instead")
        is_deleted = await self._is_deleted(scope, memory_id)
        if is_deleted and self._means.clock() - history[0].until > UNDO_TIME:
            raise MemoryNotFoundError("this memory was deleted, and that can no longer be undone")
        undoing = Undoing(history[0], at=self._means.clock())
        known = await self._writer.known(scope)
        for other in undoing.partners(known):
            past = await self._store.memory_history(scope, other.id)
            undoing.take_back(other, past[0] if past else None)
        words = undoing.words(known)
        undoing.mean(words, await self._embedding.vectors(scope, words))
        changed = await self._writer.apply(scope, undoing.edits)
        back = [memory for memory in changed if is_deleted and memory.id == memory_id]
        self._tell(scope, MEMORY_CREATED, back)
        self._tell(scope, MEMORY_UPDATED, [memory for memory in changed if memory not in back])
        return await self._store.get_memory(scope, memory_id)

    async def _is_deleted(self, scope: Scope, memory_id: str) -> bool:
        try:
            await self._store.get_memory(scope, memory_id)
        except MemoryNotFoundError:
            return True
        return False

    def _tell(self, scope: Scope, kind: str, memories: Sequence[Memory]) -> None:
        self._means.tell(scope, kind, (memory.id for memory in memories))


def _found(known: UserKnowledge, memory_id: str) -> Memory:
    memory = known.memories.get(memory_id)
    if memory is None:
        raise MemoryNotFoundError("there is no memory with this id")
    return memory


def _require_waiting(memory: Memory) -> Memory:
    if memory.trust == "active":
        raise ConflictError("this memory does not wait for review")
    return memory


def _rejection(memory_id: str, at: datetime) -> Edits:
    changes = MemoryChanges(at=at, trust="rejected", is_pinned=False)
    return lambda known: (MemoryEdit(memory_id=_require_waiting(_found(known, memory_id)).id, changes=changes),)


def _with_vector(edit: MemoryEdit, vector: Vector | None) -> MemoryEdit:
    return MemoryEdit(memory_id=edit.memory_id, changes=msgspec.structs.replace(edit.changes, vector=vector))
