"""Memories in SQL: each function is the work of one transaction, or a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from recollect.domain import memory as rule
from recollect.domain.conversation import Conversation
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
)
from recollect.domain.memory_listing import MemorySort
from recollect.domain.scope import Scope
from recollect.errors import (
    ConflictError,
    CorruptRecordError,
    ErasedError,
    InvalidCursorError,
    MemoryNotFoundError,
    StaleVersionError,
)
from recollect.storage import audit, jobs, vectors
from recollect.storage.conversations import add_agent, lock, save
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Transaction
from recollect.storage.knowledge_rows import memory_from, memory_values, version_from, version_values
from recollect.storage.rows import micros, optional_micros, scoped
from recollect.storage.tombstones import buried

#: Before and after every number, and above every importance.
FIRST, LAST, TOP = -(2**62), 2**62, 2.0
MISSING = "there is no memory with this id"


def find(tx: Transaction, scope: Scope, memory_id: str, *, deleted: bool = False) -> Memory:
    """Return the memory or raise; one that waits for its erasure shows only when asked for."""
    row = tx.one("find_memory", **scoped(scope), id=memory_id)
    if row is None:
        raise MemoryNotFoundError(MISSING)
    memory = memory_from(scope, row)
    if memory.deleted_at is not None and not deleted:
        raise MemoryNotFoundError(MISSING)
    return memory


def some(tx: Transaction, scope: Scope, ids: tuple[str, ...]) -> Sound[Memory]:
    """Return those of these memories that are stored and not deleted, the first added first."""
    return sound(partial(memory_from, scope), tx.all("find_memories", **scoped(scope), ids=tx.ids(ids)))


def add(tx: Transaction, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
    """Store memories, except those that say what is stored or what was erased."""
    return save_plan(tx, scope, MemoryPlan(at=new[0].at, new=new))


def save_plan(tx: Transaction, scope: Scope, plan: MemoryPlan | Extraction) -> SavedMemories:
    """Edit and add memories, if nobody changed any since the plan was made."""
    revision = _lock(tx, scope, plan)
    if plan.memory_revision not in (None, revision):
        raise ConflictError("the memories of the user changed meanwhile; read them and plan again")
    missing = _missing_successors(tx, scope, plan)
    edits = [edit for edit in plan.edits if edit.changes.superseded_by not in missing]
    skipped = [edit.memory_id for edit in plan.edits if edit.changes.superseded_by in missing]
    changed = [_change(tx, scope, edit.memory_id, edit.changes) for edit in edits]
    saved, twins = _add(tx, scope, plan.new)
    after = [_moved(tx, scope, memory, twins) for memory, _ in changed]
    if saved.created or any(is_new for _, is_new in changed):
        vectors.bump(tx, scope)
        revision += 1
    return msgspec.structs.replace(saved, changed=tuple(after), skipped=tuple(skipped), revision=revision)


def _lock(tx: Transaction, scope: Scope, plan: MemoryPlan | Extraction) -> int:
    """Hold the user, known from now on with the agents of new memories, and return the revision of the memories."""
    row = tx.one("lock_user", **scoped(scope))
    for agent in {memory.agent for memory in plan.new}:
        if row is None:
            add_agent(tx, scope, agent, micros(plan.new[0].at))
        else:
            tx.send("add_agent", **scoped(scope), agent=agent, at=micros(plan.new[0].at))
    if row is None and plan.new:
        row = tx.one("lock_user", **scoped(scope))
    return 0 if row is None else int(row[0])


def _missing_successors(tx: Transaction, scope: Scope, plan: MemoryPlan | Extraction) -> set[str]:
    """Return the new memories that will not be there although edits name them as what takes the place of others."""
    named = {edit.changes.superseded_by for edit in plan.edits}
    return {new.id for new in plan.new if new.id in named and not _will_be_there(tx, scope, new)}


def _will_be_there(tx: Transaction, scope: Scope, new: NewMemory) -> bool:
    row = tx.one("find_memory", **scoped(scope), id=new.id)
    return not _is_erased(tx, scope, new) if row is None else memory_from(scope, row).deleted_at is None


def _moved(tx: Transaction, scope: Scope, memory: Memory, twins: Mapping[str, str]) -> Memory:
    """Return an edited memory, superseded by the twin of a new memory that was stored already."""
    twin = twins.get(memory.superseded_by or "")
    if twin is None:
        return memory
    moved = msgspec.structs.replace(memory, superseded_by=twin)
    store(tx, scope, moved)
    return moved


def _add(tx: Transaction, scope: Scope, new: tuple[NewMemory, ...]) -> tuple[SavedMemories, dict[str, str]]:
    """Store what is new; return what became of it, and the ids of duplicates with those of their twins."""
    twins: dict[str, str] = {}
    created: list[Memory] = []
    duplicates: list[Memory] = []
    refused: list[str] = []
    for one in new:
        is_erased = _is_erased(tx, scope, one)
        memory = None if is_erased else _inserted(tx, scope, one)
        same = _same(tx, scope, one) if memory is None else None
        if memory is not None:
            created.append(memory)
        elif same is not None:
            duplicates.append(same)
            if same.id != one.id:
                twins[one.id] = same.id
        elif is_erased:
            refused.append(one.id)
        else:
            raise AssertionError("what keeps a memory from being stored says the same")
    saved = SavedMemories(created=tuple(created), duplicates=tuple(duplicates), refused=tuple(refused))
    return saved, twins


def _same(tx: Transaction, scope: Scope, new: NewMemory) -> Memory | None:
    row = tx.one("find_memory", **scoped(scope), id=new.id)
    if row is None and new.valid_to is None:
        row = tx.one("same_statement", **scoped(scope), content_key=content_key(new.content))
    return None if row is None else memory_from(scope, row)


def _is_erased(tx: Transaction, scope: Scope, new: NewMemory) -> bool:
    """Tell whether the statement or a source of it was erased; a person may state it again by hand."""
    if new.origin == "manual":
        return False
    return bool(buried(tx, scope, [memory_tombstone(tx.salt, new.content)])) or _cites_erased(tx, scope, new.sources)


def _cites_erased(tx: Transaction, scope: Scope, sources: tuple[Source, ...]) -> bool:
    return bool(buried(tx, scope, [message_tombstone(tx.salt, s.conversation_id, s.message_id) for s in sources]))


def _inserted(tx: Transaction, scope: Scope, new: NewMemory) -> Memory | None:
    """Store a memory and return it, unless one is stored that `_same` finds."""
    memory = rule.memory_from(new)
    row = tx.one("insert_memory", **memory_values(scope, memory))
    if row is None:
        return None
    vectors.put(tx, scope, ("memory", row[0]), new.vector)
    _insert_sources(tx, scope, memory)
    audit.note(tx, scope, "create", ("memory", memory.id), memory.created_at, origin=memory.origin)
    return memory


def _insert_sources(tx: Transaction, scope: Scope, memory: Memory) -> None:
    for source in memory.sources:
        tx.run(
            "insert_source",
            **scoped(scope),
            conversation_id=source.conversation_id,
            message_id=source.message_id,
            memory_id=memory.id,
        )


def change(tx: Transaction, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
    """Apply the changes if the memory still has the expected version, and keep what it was."""
    tx.one("lock_user", **scoped(scope))
    memory, is_new = _change(tx, scope, memory_id, changes)
    if is_new:
        vectors.bump(tx, scope)
    return memory


def _change(tx: Transaction, scope: Scope, memory_id: str, changes: MemoryChanges) -> tuple[Memory, bool]:
    """Apply the changes and return the memory, and whether it or its vector is another now."""
    row = tx.one("lock_memory", **scoped(scope), id=memory_id)
    if row is None:
        raise MemoryNotFoundError(MISSING)
    before = memory_from(scope, row)
    if changes.expected_version not in (None, before.version):
        raise StaleVersionError(f"the memory is at version {before.version}")
    if _cites_erased(tx, scope, changes.more_sources):
        raise ErasedError("a source to add was erased")
    after = rule.changed(before, changes)
    has_vector = _change_vector(tx, scope, before, after, changes)
    if after is before:
        return before, has_vector
    _refuse_twin(tx, scope, after)
    store(tx, scope, after)
    _insert_sources(tx, scope, after)
    tx.run("insert_memory_version", **version_values(scope, before, after.updated_at))
    audit.note(tx, scope, "change", ("memory", memory_id), after.updated_at, version=after.version)
    return after, True


def _change_vector(tx: Transaction, scope: Scope, before: Memory, after: Memory, changes: MemoryChanges) -> bool:
    """Let the vector go with the content, and with a memory that is deleted; tell whether it may be another now."""
    if after.deleted_at is not None:
        if before.deleted_at is None:
            vectors.drop(tx, scope, "memory", [_number(tx, scope, after.id)])
        return False
    kept = changes.vector is UNSET and before.deleted_at is None and after.content == before.content
    if not kept:
        vector = None if changes.vector is UNSET else changes.vector
        vectors.put(tx, scope, ("memory", _number(tx, scope, after.id)), vector)
    return not kept


def _number(tx: Transaction, scope: Scope, memory_id: str) -> int:
    ((number,),) = tx.all("memory_number", **scoped(scope), id=memory_id)
    return int(number)


def store(tx: Transaction, scope: Scope, memory: Memory) -> None:
    """Write the memory as it is now."""
    values = memory_values(scope, memory)
    for fixed in _FIXED:
        del values[fixed]
    tx.run("update_memory", **values)


_FIXED = (
    "agent",
    "origin",
    "subject",
    "attribute",
    "valid_from",
    "created_at",
    "last_accessed_at",
    "access_count",
)


def _refuse_twin(tx: Transaction, scope: Scope, memory: Memory) -> None:
    """Raise before two current memories would say the same."""
    if memory.superseded_by is None and memory.valid_to is None and memory.deleted_at is None:
        row = tx.one("same_statement", **scoped(scope), content_key=content_key(memory.content))
        if row is not None and row[0] != memory.id:
            raise ConflictError("another memory says the same; change or delete that one")


def save_extraction(tx: Transaction, scope: Scope, result: Extraction) -> SavedMemories:
    """Save what was extracted from a range of a conversation, once, and end the job that did it.

    The user is held before the conversation, as an erasure does it, so that the two never wait for each other.
    """
    tx.one("lock_user", **scoped(scope))
    stored = lock(tx, scope, result.conversation_id)
    if stored.value.extracted_seq != result.from_seq or result.to_seq >= stored.value.next_seq:
        raise ConflictError("this range was extracted already or is gone; plan the extraction again")
    if _cites_erased(tx, scope, tuple(Source(result.conversation_id, one) for one in result.read)):
        raise ErasedError("a message was erased after it was read; plan the extraction again")
    saved = save_plan(tx, scope, result)
    marked: Conversation = msgspec.structs.replace(
        stored.value, extracted_seq=result.to_seq, revision=stored.value.revision + 1
    )
    save(tx, scope, msgspec.structs.replace(stored, value=marked))
    if result.claim is not None:
        jobs.complete(tx, scope, result.claim, result.at)
    return saved


def page(tx: Transaction, scope: Scope, query: MemoryQuery) -> MemoryPage:
    """List memories by filter, in the order that is asked for."""
    found = tx.all(
        _LISTS[query.sort],
        **_place(tx, scope, query),
        **scoped(scope),
        since=optional_micros(query.since),
        until=optional_micros(query.until),
        memory_type=query.memory_type,
        category=query.category,
        origin=query.origin,
        trust=query.trust,
        conversation_id=query.conversation_id,
        pinned_low=query.pinned is True,
        pinned_high=query.pinned is not False,
        archived_low=query.archived is True,
        archived_high=query.archived is not False,
        as_of=optional_micros(query.as_of),
        limit=query.limit + 1,
    )
    items: list[Memory] = []
    corrupt: list[str] = []
    for row in found[: query.limit]:
        try:
            items.append(memory_from(scope, row[1:]))
        except CorruptRecordError:
            corrupt.append(row[1])
    after = found[query.limit - 1][1] if len(found) > query.limit else None
    return MemoryPage(items=tuple(items), next=after, corrupt=tuple(corrupt))


_LISTS: dict[MemorySort, str] = {
    "newest": "newest_memories",
    "oldest": "first_memories",
    "importance": "weightiest_memories",
}


def _place(tx: Transaction, scope: Scope, query: MemoryQuery) -> dict[str, Any]:
    """Return where the page goes on, in the order that is asked for."""
    number, importance = (FIRST if query.sort == "oldest" else LAST), TOP
    if query.before_id is not None:
        row = tx.one("memory_place", **scoped(scope), id=query.before_id)
        if row is None:
            raise InvalidCursorError("this page position is not known; start from the first page")
        number, importance = row
    return {"before": number} | ({"importance": importance} if query.sort == "importance" else {})


def history(tx: Transaction, scope: Scope, memory_id: str) -> Sound[MemoryVersion]:
    """Return what the memory was before, newest first."""
    find(tx, scope, memory_id, deleted=True)
    found = tx.all("memory_versions", **scoped(scope), id=memory_id)
    return sound(partial(version_from, scope), found)
