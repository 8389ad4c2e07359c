"""Memories in memory."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from recollect.domain.erasure import memory_tombstone, message_tombstone
from recollect.domain.memory import (
    Extraction,
    Memory,
    MemoryChanges,
    MemoryPage,
    MemoryPlan,
    MemoryQuery,
    MemoryVersion,
    NewMemory,
    SavedMemories,
    Source,
    content_key,
    holds,
    memory_from,
)
from recollect.domain.memory import changed as changed_memory
from recollect.domain.memory_listing import MemorySort
from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.errors import ConflictError, ErasedError, InvalidCursorError, MemoryNotFoundError, StaleVersionError
from recollect.storage.inmemory import audit, conversations, jobs
from recollect.storage.inmemory.shelves import Shelves, UserData


def find(data: UserData, memory_id: str) -> Memory:
    """Return the memory, also one that waits for its erasure, or raise."""
    try:
        return data.memories[memory_id]
    except KeyError:
        raise MemoryNotFoundError("there is no memory with this id") from None


def _same_statement(data: UserData, content: str) -> Memory | None:
    """Return the current memory that says the same."""
    for memory in data.memories.values():
        if memory.deleted_at is None and holds(memory, None) and content_key(memory.content) == content_key(content):
            return memory
    return None


def _cites_erased(data: UserData, sources: tuple[Source, ...]) -> bool:
    return any(message_tombstone(data.salt, s.conversation_id, s.message_id) in data.tombstones for s in sources)


def _is_erased(data: UserData, new: NewMemory) -> bool:
    if new.origin == "manual":
        return False
    return memory_tombstone(data.salt, new.content) in data.tombstones or _cites_erased(data, new.sources)


def save_plan(data: UserData, scope: Scope, plan: MemoryPlan | Extraction) -> SavedMemories:
    """Edit and add memories, if nobody changed any since the plan was made."""
    if plan.memory_revision not in (None, data.memory_revision):
        raise ConflictError("the memories of the user changed meanwhile; read them and plan again")
    missing = {new.id for new in plan.new if not _will_be_there(data, new)}
    edits = [edit for edit in plan.edits if edit.changes.superseded_by not in missing]
    skipped = [edit.memory_id for edit in plan.edits if edit.changes.superseded_by in missing]
    changed = [_change(data, scope, edit.memory_id, edit.changes) for edit in edits]
    saved, twins = _add(data, scope, plan.new)
    edited: list[Memory] = []
    for memory, _ in changed:
        successor = memory.superseded_by and twins.get(memory.superseded_by, memory.superseded_by)
        data.memories[memory.id] = msgspec.structs.replace(memory, superseded_by=successor)
        edited.append(data.memories[memory.id])
    if saved.created or any(is_new for _, is_new in changed):
        data.memory_revision += 1
    return msgspec.structs.replace(saved, changed=tuple(edited), skipped=tuple(skipped), revision=data.memory_revision)


def _will_be_there(data: UserData, new: NewMemory) -> bool:
    known = data.memories.get(new.id)
    return not _is_erased(data, new) if known is None else known.deleted_at is None


def _add(data: UserData, scope: Scope, new: tuple[NewMemory, ...]) -> tuple[SavedMemories, dict[str, str]]:
    """Store what is new; return what became of it, and the ids of duplicates with those of their twins."""
    twins: dict[str, str] = {}
    created: list[Memory] = []
    duplicates: list[Memory] = []
    refused: list[str] = []
    for one in new:
        same = data.memories.get(one.id)
        if same is None and one.valid_to is None:
            same = _same_statement(data, one.content)
        if same is not None:
            duplicates.append(same)
            twins[one.id] = same.id
        elif _is_erased(data, one):
            refused.append(one.id)
        else:
            memory = memory_from(one)
            data.memories[memory.id] = memory
            _put_vector(data, memory, one.vector)
            audit.note(data, scope, "create", ("memory", memory.id), memory.created_at, origin=memory.origin)
            created.append(memory)
    saved = SavedMemories(created=tuple(created), duplicates=tuple(duplicates), refused=tuple(refused))
    return saved, twins


def _put_vector(data: UserData, memory: Memory, vector: Vector | None) -> None:
    if vector is None or memory.deleted_at is not None:
        data.memory_vectors.pop(memory.id, None)
    else:
        data.memory_vectors[memory.id] = vector


def _change(data: UserData, scope: Scope, memory_id: str, changes: MemoryChanges) -> tuple[Memory, bool]:
    """Apply the changes, keep what the memory was, and tell whether it or its vector is another now."""
    before = find(data, memory_id)
    if changes.expected_version not in (None, before.version):
        raise StaleVersionError(f"the memory is at version {before.version}")
    if _cites_erased(data, changes.more_sources):
        raise ErasedError("a source to add was erased")
    after = changed_memory(before, changes)
    if changes.vector is not UNSET:
        _put_vector(data, after, changes.vector)
    elif after.content != before.content or after.deleted_at is not None:
        _put_vector(data, after, None)
    if after is before:
        return before, changes.vector is not UNSET and before.deleted_at is None
    twin = _same_statement(data, after.content)
    if holds(after, None) and after.deleted_at is None and twin is not None and twin.id != memory_id:
        raise ConflictError("another memory says the same; change or delete that one")
    data.memories[memory_id] = after
    data.memory_versions[memory_id, before.version] = MemoryVersion(memory=before, until=after.updated_at)
    audit.note(data, scope, "change", ("memory", memory_id), after.updated_at, version=after.version)
    return after, True


def _matches(memory: Memory, query: MemoryQuery) -> bool:
    wanted: dict[str, Any] = {
        "memory_type": query.memory_type,
        "category": query.category,
        "origin": query.origin,
        "trust": query.trust,
        "is_pinned": query.pinned,
        "is_archived": query.archived,
        "conversation_id": query.conversation_id,
    }
    if any(value is not None and getattr(memory, name) != value for name, value in wanted.items()):
        return False
    is_in_time = (query.since is None or query.since <= memory.created_at) and (
        query.until is None or memory.created_at < query.until
    )
    return is_in_time and memory.deleted_at is None and holds(memory, query.as_of)


def _sorted(oldest_first: list[Memory], sort: MemorySort) -> list[Memory]:
    if sort == "oldest":
        return oldest_first
    newest_first = oldest_first[::-1]
    return sorted(newest_first, key=lambda memory: -memory.importance) if sort == "importance" else newest_first


class Memories(Shelves):
    """Keep memories."""

    async def add_memories(self, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
        with self._writing(scope) as data:
            return save_plan(data, scope, MemoryPlan(at=new[0].at, new=new))

    async def get_memory(self, scope: Scope, memory_id: str) -> Memory:
        memory = find(self._reading(scope), memory_id)
        if memory.deleted_at is not None:
            raise MemoryNotFoundError("there is no memory with this id")
        return memory

    async def find_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Memory, ...]:
        known = self._reading(scope).memories.values()
        return tuple(memory for memory in known if memory.id in memory_ids and memory.deleted_at is None)

    async def list_memories(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        in_order = _sorted(list(self._reading(scope).memories.values()), query.sort)
        if query.before_id is not None:
            ids = [memory.id for memory in in_order]
            if query.before_id not in ids:
                raise InvalidCursorError("this page position is not known; start from the first page")
            in_order = in_order[ids.index(query.before_id) + 1 :]
        found = [memory for memory in in_order if _matches(memory, query)]
        items = tuple(found[: query.limit])
        return MemoryPage(items=items, next=items[-1].id if len(found) > query.limit else None)

    async def change_memory(self, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
        with self._writing(scope) as data:
            after, is_new = _change(data, scope, memory_id, changes)
            data.memory_revision += is_new
            return after

    async def save_memories(self, scope: Scope, plan: MemoryPlan) -> SavedMemories:
        with self._writing(scope) as data:
            return save_plan(data, scope, plan)

    async def save_extraction(self, scope: Scope, result: Extraction) -> SavedMemories:
        with self._writing(scope) as data:
            conversation = conversations.find(data, result.conversation_id)
            if conversation.extracted_seq != result.from_seq or result.to_seq >= conversation.next_seq:
                raise ConflictError("this range was extracted already or is gone; plan the extraction again")
            if _cites_erased(data, tuple(Source(result.conversation_id, one) for one in result.read)):
                raise ErasedError("a message was erased after it was read; plan the extraction again")
            saved = save_plan(data, scope, result)
            marked = msgspec.structs.replace(
                conversation, extracted_seq=result.to_seq, revision=conversation.revision + 1
            )
            data.conversations[conversation.id] = marked
            if result.claim is not None:
                jobs.complete(data, result.claim, result.at)
            return saved

    async def memory_history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        data = self._reading(scope)
        find(data, memory_id)
        own = [version for (owner, _), version in data.memory_versions.items() if owner == memory_id]
        return tuple(sorted(own, key=lambda version: -version.memory.version))
