"""Conversations and messages in SQL: each function is the work of one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from recollect.domain import appending
from recollect.domain.appending import Known, ids_to_look_up, plan_append
from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationCursor,
    ConversationPage,
    ConversationQuery,
    NewConversation,
    apply_changes,
    revised,
)
from recollect.domain.erasure import conversation_tombstone, message_tombstone, original_tombstone
from recollect.domain.message import Message
from recollect.domain.passage import continues, is_recalled
from recollect.domain.scope import Scope
from recollect.domain.turn import (
    Append,
    Appended,
    ArchiveBatch,
    ArchivedBatch,
    TurnRecord,
    archived_from,
    batch_digest,
    turn_from,
)
from recollect.domain.usage import turn_entry
from recollect.domain.vector import Vector
from recollect.errors import (
    ConversationNotFoundError,
    CorruptRecordError,
    ErasedError,
    MessageNotFoundError,
    StaleVersionError,
)
from recollect.storage import jobs, repeats, requests, rows, usage, vectors
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.rows import StoredConversation, micros, scoped
from recollect.storage.tombstones import buried
from recollect.storage.turn_rows import turn_values

MISSING = "there is no conversation with this id"
#: Between these times lies everything that was not damaged.
EARLIEST = micros(datetime.min.replace(tzinfo=UTC))
LATEST = micros(datetime.max.replace(tzinfo=UTC))

#: The place of a conversation in the list: its last activity and its id.
Place = tuple[int, str]


def find(tx: Transaction, scope: Scope, conversation_id: str) -> StoredConversation:
    """Return the conversation or raise."""
    row = tx.one("find_conversation", tenant=scope.tenant, user=scope.user, id=conversation_id)
    if row is None:
        raise ConversationNotFoundError(MISSING)
    return rows.conversation_from(scope, row)


def lock(tx: Transaction, scope: Scope, conversation_id: str) -> StoredConversation:
    """Return the conversation, held until the transaction ends, or raise."""
    row = tx.one("lock_conversation", tenant=scope.tenant, user=scope.user, id=conversation_id)
    if row is None:
        raise ConversationNotFoundError(MISSING)
    return rows.conversation_from(scope, row)


def save(tx: Transaction, scope: Scope, stored: StoredConversation) -> None:
    """Write the conversation as it is now."""
    values = rows.conversation_values(scope, stored.value, has_erased=stored.has_erased, rewritten=stored.rewritten)
    tx.run("update_conversation", **values, number=stored.number)


def add_agent(tx: Transaction, scope: Scope, agent: str, at: int) -> None:
    """Make sure that the user and the agent are known."""
    tx.run("add_user", **scoped(scope), at=at)
    tx.run("add_agent", **scoped(scope), agent=agent, at=at)


def create(tx: Transaction, scope: Scope, new: NewConversation) -> StoredConversation:
    """Return the conversation with this id, created if there is none."""
    add_agent(tx, scope, new.agent, micros(new.at))
    values = rows.conversation_values(scope, appending.conversation_from(new))
    # The insert waits for an erasure of this id that is under way, so only after it is the tombstone there to see.
    if tx.run("insert_conversation", **values) and buried(tx, scope, [conversation_tombstone(tx.salt, new.id)]):
        raise ErasedError("a conversation with this id was erased; use a new id")
    return lock(tx, scope, new.id)


def current(tx: Transaction, scope: Scope, new: NewConversation) -> Conversation:
    """Return the newest conversation of the agent that is not archived, or create this one."""
    add_agent(tx, scope, new.agent, micros(new.at))
    tx.one("lock_agent", **scoped(scope), agent=new.agent)
    newest: list[Row] = []
    for one in _by_activity(lists(tx, scope, new.agent, archived=False)):
        newest += tx.all("newest_conversations", **one, limit=1)
    if newest:
        return rows.conversation_from(scope, max(newest, key=_place)).value
    return create(tx, scope, new).value


def change(tx: Transaction, scope: Scope, conversation_id: str, changes: ConversationChanges) -> Conversation:
    """Apply the changes if the conversation still has the expected version."""
    stored = lock(tx, scope, conversation_id)
    if changes.expected_version not in (None, stored.value.version):
        raise StaleVersionError(f"the conversation is at version {stored.value.version}")
    after = apply_changes(stored.value, changes)
    if after.head_id not in (None, stored.value.head_id):
        found = tx.one("has_message", **scoped(scope), conversation=stored.number, id=after.head_id)
        if found is None:
            raise MessageNotFoundError("head_id names no message of this conversation")
    if after is not stored.value:
        rewritten = stored.rewritten if after.head_id == stored.value.head_id else after.revision
        save(tx, scope, msgspec.structs.replace(stored, value=after, rewritten=rewritten))
    return after


def lists(
    tx: Transaction, scope: Scope, agent: str | None = None, archived: bool | None = None
) -> list[dict[str, Any]]:
    """Return the parameters of each list of the user's conversations: one for each agent and state."""
    agents = [agent] if agent else [row[0] for row in tx.all("list_agents", **scoped(scope))]
    states = (False, True) if archived is None else (archived,)
    return [{**scoped(scope), "agent": name, "archived": state} for name in agents for state in states]


def _by_activity(found: list[dict[str, Any]], active: bool | None = None) -> list[dict[str, Any]]:
    """Part each list into active and inactive conversations, each of which is in order of activity."""
    states = (True, False) if active is None else (active,)
    return [{**one, "active": state} for one in found for state in states]


def page(tx: Transaction, scope: Scope, query: ConversationQuery) -> ConversationPage:
    """List conversations, newest activity first: the newest of each agent and state, merged."""
    found: list[Row] = []
    for one in _by_activity(lists(tx, scope, query.agent, query.archived), query.active):
        found += _newest(tx, one, query)
    found.sort(key=_place, reverse=True)
    shown, more = found[: query.limit], len(found) > query.limit
    items, corrupt = [], []
    for row in shown:
        try:
            items.append(rows.conversation_from(scope, row).value)
        except CorruptRecordError:
            corrupt.append(row[1])
    after = ConversationCursor(rows.instant(_place(shown[-1])[0]), shown[-1][1]) if more else None
    return ConversationPage(items=tuple(items), next=after, corrupt=tuple(corrupt))


def place_of(activity: object, conversation_id: object) -> Place:
    """Return the place of a conversation in the list; one that was damaged may have lost it."""
    known = activity if isinstance(activity, int) else 0
    return min(max(known, EARLIEST), LATEST), str(conversation_id)


def _place(row: Row) -> Place:
    return place_of(row[11], row[1])


def _newest(tx: Transaction, one: dict[str, Any], query: ConversationQuery) -> list[Row]:
    limit = query.limit + 1
    if query.after is None and query.pinned is None:
        return tx.all("newest_conversations", **one, limit=limit)
    after = (LATEST + 1, "") if query.after is None else (micros(query.after.last_activity_at), query.after.id)
    return tx.all(_LISTS[query.pinned], **one, limit=limit, activity=after[0], after_id=after[1])


_LISTS = {None: "older_conversations", True: "pinned_conversations", False: "unpinned_conversations"}


def idle(tx: Transaction, scope: Scope, before: int, limit: int) -> Sound[Conversation]:
    """List the conversations that have been idle since this time, longest first: the oldest of each list, merged."""
    found: list[Row] = []
    for one in _by_activity(lists(tx, scope)):
        found += tx.all("oldest_conversations", **one, before=before, limit=limit)
    found.sort(key=_place)
    return sound(lambda row: rows.conversation_from(scope, row).value, found[:limit])


def append(tx: Transaction, scope: Scope, request: Append) -> Appended:
    """Store the messages and enqueue their jobs."""
    stored = _lock_or_create(tx, scope, request)
    return _append(tx, scope, stored, request)


def record_turn(tx: Transaction, scope: Scope, record: TurnRecord) -> Appended:
    """Store a turn with everything it brings: messages, jobs, access counts, the answer to a retry."""
    stored = _lock_or_create(tx, scope, record.append)
    known = tx.one("has_turn", **scoped(scope), conversation=stored.number, id=record.id)
    appended = _append(tx, scope, stored, record.append, record.id, enqueue=known is None)
    if known is None and (appended.messages or not appended.refused):
        tx.run("insert_turn", **turn_values(scope, stored.number, turn_from(record)))
        if (spent := turn_entry(record)) is not None:
            usage.insert(tx, scope, spent)
        if record.memory_ids:
            at = micros(record.append.at)
            tx.run("touch_memories", **scoped(scope), at=at, ids=tx.ids(record.memory_ids))
    if record.answer is not None:
        requests.finish(tx, scope, record.answer, record.append.at)
    return appended


def archive(tx: Transaction, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
    """Store the batch once; the same batch again gets the first answer."""
    stored = _lock_or_create(tx, scope, batch.append)
    digest = batch_digest(tx.salt, batch)
    row = tx.one("find_batch", **scoped(scope), conversation=stored.number, digest=digest)
    if row is not None:
        return rows.batch_from(scope, batch.append.conversation_id, row)
    answer = archived_from(batch, _append(tx, scope, stored, batch.append))
    tx.run("insert_batch", **rows.batch_values(scope, stored.number, digest, answer))
    return answer


def _lock_or_create(tx: Transaction, scope: Scope, request: Append) -> StoredConversation:
    repeats.hold(tx, scope, request.messages)
    try:
        return lock(tx, scope, request.conversation_id)
    except ConversationNotFoundError:
        if not request.create:
            raise
    new = NewConversation(id=request.conversation_id, at=request.at, agent=scope.agent)
    return create(tx, scope, new)


def _append(
    tx: Transaction,
    scope: Scope,
    stored: StoredConversation,
    request: Append,
    turn_id: str | None = None,
    *,
    enqueue: bool = True,
) -> Appended:
    erased = _erased_ids(tx, scope, stored, request) if stored.has_erased else frozenset()
    known = Known(
        stored=_stored_ids(tx, scope, stored.number, ids_to_look_up(request)),
        erased=erased | repeats.of_erased(tx, scope, request.messages),
    )
    appended = plan_append(stored.value, request, known, turn_id)
    given = {one.message_id: one.vector for one in request.vectors}
    for message in appended.messages:
        insert(tx, scope, stored.number, message, given.get(message.id))
    if appended.messages:
        after = appended.conversation
        rewritten = stored.rewritten if continues(stored.value, appended) else after.revision
        save(tx, scope, StoredConversation(stored.number, after, stored.has_erased, rewritten))
        if enqueue:
            for job in request.jobs:
                jobs.enqueue(tx, scope, job, request.at)
    return appended


def insert(tx: Transaction, scope: Scope, conversation: int, message: Message, vector: Vector | None = None) -> None:
    """Store one message, its terms, what it repeats and, if it can have one, its vector."""
    number = tx.insert("insert_message", **rows.message_values(scope, conversation, message))
    tx.index(scope, number, message.content)
    repeats.keep(tx, scope, message)
    if is_recalled(message):
        vectors.put(tx, scope, ("message", number), vector)


def _stored_ids(tx: Transaction, scope: Scope, number: int, ids: list[str]) -> frozenset[str]:
    values = {"tenant": scope.tenant, "user": scope.user, "conversation": number}
    if len(ids) == 1:
        return frozenset(ids) if tx.one("has_message", **values, id=ids[0]) else frozenset()
    return frozenset(row[0] for row in tx.all("which_messages", **values, ids=tx.ids(ids)))


def _erased_ids(tx: Transaction, scope: Scope, stored: StoredConversation, request: Append) -> frozenset[str]:
    gone: set[str] = set()
    for tombstone in (message_tombstone, original_tombstone):
        marks = {tombstone(tx.salt, stored.value.id, message.id): message.id for message in request.messages}
        gone.update(marks[mark] for mark in buried(tx, scope, marks))
    return frozenset(gone)


def mark_inactive(tx: Transaction, scope: Scope, before: int, limit: int) -> tuple[str, ...]:
    """Mark conversations inactive that have been idle since this time; return their ids."""
    marked: list[str] = []
    for one in lists(tx, scope):
        left = limit - len(marked)
        marked += _mark(tx, scope, tx.all("idle_conversations", **one, before=before, active=True, limit=left))
        if len(marked) >= limit:
            break
    return tuple(marked)


def _mark(tx: Transaction, scope: Scope, idle: Iterable[Row]) -> list[str]:
    marked: list[str] = []
    for row in idle:
        stored = rows.conversation_from(scope, row)
        save(tx, scope, msgspec.structs.replace(stored, value=revised(stored.value, is_active=False)))
        marked.append(stored.value.id)
    return marked
