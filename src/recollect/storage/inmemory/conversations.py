"""Conversations in memory: create, list, change, and every way to add messages."""

from __future__ import annotations

from datetime import datetime

import msgspec

from recollect.domain.appending import Known, conversation_from, ids_to_look_up, plan_append
from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationCursor,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    NewConversation,
    apply_changes,
    revised,
)
from recollect.domain.erasure import (
    conversation_tombstone,
    message_tombstone,
    original_tombstone,
    repeated_tombstones,
)
from recollect.domain.message import NewMessage
from recollect.domain.passage import continues, is_recalled
from recollect.domain.repeating import repeated_by
from recollect.domain.scope import Scope
from recollect.domain.turn import (
    Append,
    Appended,
    ArchiveBatch,
    ArchivedBatch,
    Turn,
    TurnRecord,
    archived_from,
    batch_digest,
    turn_from,
)
from recollect.domain.usage import turn_entry
from recollect.errors import ConversationNotFoundError, ErasedError, MessageNotFoundError, StaleVersionError
from recollect.storage.inmemory import jobs, requests, usage
from recollect.storage.inmemory.shelves import Shelves, UserData


def find(data: UserData, conversation_id: str) -> Conversation:
    """Return the conversation or raise."""
    try:
        return data.conversations[conversation_id]
    except KeyError:
        raise ConversationNotFoundError("there is no conversation with this id") from None


def create(data: UserData, new: NewConversation) -> Conversation:
    """Return the conversation with this id, created if there is none."""
    if conversation_tombstone(data.salt, new.id) in data.tombstones:
        raise ErasedError("a conversation with this id was erased; use a new id")
    return data.conversations.setdefault(new.id, conversation_from(new))


def by_activity(conversation: Conversation) -> tuple[datetime, str]:
    """Return what lists of conversations are sorted by."""
    return conversation.last_activity_at, conversation.id


def listed(data: UserData, query: ConversationQuery | ConversationSearch) -> list[Conversation]:
    """Return the conversations of this agent and state after this position, newest activity first."""
    found = sorted(data.conversations.values(), key=by_activity, reverse=True)
    if query.agent is not None:
        found = [c for c in found if c.agent == query.agent]
    if query.archived is not None:
        found = [c for c in found if c.is_archived == query.archived]
    if query.pinned is not None:
        found = [c for c in found if c.is_pinned == query.pinned]
    if query.after is not None:
        position = (query.after.last_activity_at, query.after.id)
        found = [c for c in found if by_activity(c) < position]
    return found


def open_for(data: UserData, scope: Scope, request: Append) -> Conversation:
    """Return the conversation to append to."""
    if request.create and request.conversation_id not in data.conversations:
        return create(data, NewConversation(id=request.conversation_id, at=request.at, agent=scope.agent))
    return find(data, request.conversation_id)


def append(
    data: UserData, scope: Scope, request: Append, turn_id: str | None = None, *, enqueue: bool = True
) -> Appended:
    """Store what is new of the messages and, if anything is, enqueue their jobs."""
    conversation = open_for(data, scope, request)
    known = Known(
        stored=frozenset(i for i in ids_to_look_up(request) if (conversation.id, i) in data.messages),
        erased=frozenset(
            m.id for m in request.messages if is_gone(data, conversation.id, m.id) or _repeats_erased(data, m)
        ),
    )
    appended = plan_append(conversation, request, known, turn_id)
    vectors = {one.message_id: one.vector for one in request.vectors}
    for message in appended.messages:
        data.messages[conversation.id, message.id] = message
        if named := repeated_by(message):
            data.repeats[conversation.id, message.id] = named
        if message.id in vectors and is_recalled(message):
            data.message_vectors[conversation.id, message.id] = vectors[message.id]
    data.conversations[conversation.id] = appended.conversation
    if not continues(conversation, appended):
        data.rewritten[conversation.id] = appended.conversation.revision
    if appended.messages and enqueue:
        for job in request.jobs:
            jobs.enqueue(data, scope, job, request.at)
    return appended


def is_gone(data: UserData, conversation_id: str, message_id: str) -> bool:
    """Tell whether the message was erased or cleared, or a summary took its place."""
    marks = (tombstone(data.salt, conversation_id, message_id) for tombstone in (message_tombstone, original_tombstone))
    return not data.tombstones.isdisjoint(marks)


def _repeats_erased(data: UserData, message: NewMessage) -> bool:
    marks = (mark for source in repeated_by(message) for mark in repeated_tombstones(data.salt, source))
    return not data.tombstones.isdisjoint(marks)


class Conversations(Shelves):
    """Keep conversations."""

    async def create_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        with self._writing(scope) as data:
            return create(data, new)

    async def current_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        with self._writing(scope) as data:
            mine = [c for c in data.conversations.values() if c.agent == new.agent and not c.is_archived]
            return max(mine, key=by_activity) if mine else create(data, new)

    async def get_conversation(self, scope: Scope, conversation_id: str) -> Conversation:
        return find(self._reading(scope), conversation_id)

    async def list_conversations(self, scope: Scope, query: ConversationQuery) -> ConversationPage:
        found = [c for c in listed(self._reading(scope), query) if query.active in (None, c.is_active)]
        items = tuple(found[: query.limit])
        more = len(found) > query.limit
        return ConversationPage(items=items, next=ConversationCursor(*by_activity(items[-1])) if more else None)

    async def change_conversation(
        self, scope: Scope, conversation_id: str, changes: ConversationChanges
    ) -> Conversation:
        with self._writing(scope) as data:
            before = find(data, conversation_id)
            if changes.expected_version not in (None, before.version):
                raise StaleVersionError(f"the conversation is at version {before.version}")
            after = apply_changes(before, changes)
            known = after.head_id in (None, before.head_id) or (conversation_id, after.head_id) in data.messages
            if not known:
                raise MessageNotFoundError("head_id names no message of this conversation")
            data.conversations[conversation_id] = after
            if after.head_id != before.head_id:
                data.rewritten[conversation_id] = after.revision
            return after

    async def mark_inactive(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[str, ...]:
        with self._writing(scope) as data:
            idle = [c for c in data.conversations.values() if c.is_active and c.last_activity_at <= idle_since]
            idle.sort(key=lambda c: (c.agent, c.is_archived, *by_activity(c)))
            for conversation in idle[:limit]:
                data.conversations[conversation.id] = revised(conversation, is_active=False)
            return tuple(conversation.id for conversation in idle[:limit])

    async def list_idle(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[Conversation, ...]:
        idle = [c for c in self._reading(scope).conversations.values() if c.last_activity_at <= idle_since]
        return tuple(sorted(idle, key=by_activity)[:limit])

    async def append(self, scope: Scope, request: Append) -> Appended:
        with self._writing(scope) as data:
            return append(data, scope, request)

    async def record_turn(self, scope: Scope, record: TurnRecord) -> Appended:
        with self._writing(scope) as data:
            place = (record.append.conversation_id, record.id)
            is_new = place not in data.turns
            appended = append(data, scope, record.append, record.id, enqueue=is_new)
            if is_new and (appended.messages or not appended.refused):
                turn = turn_from(record)
                data.turns[place] = turn
                if (spent := turn_entry(record)) is not None:
                    usage.insert(data, spent)
                for memory_id in data.memories.keys() & record.memory_ids:
                    memory = data.memories[memory_id]
                    data.memories[memory_id] = msgspec.structs.replace(
                        memory, access_count=memory.access_count + 1, last_accessed_at=turn.created_at
                    )
            if record.answer is not None:
                requests.finish(data, record.answer, record.append.at)
            return appended

    async def archive(self, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
        with self._writing(scope) as data:
            conversation = open_for(data, scope, batch.append)
            place = (conversation.id, batch_digest(data.salt, batch))
            if place not in data.batches:
                data.batches[place] = archived_from(batch, append(data, scope, batch.append))
            return data.batches[place]

    async def list_turns(self, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
        data = self._reading(scope)
        find(data, conversation_id)
        return tuple(turn for turn in data.turns.values() if turn.conversation_id == conversation_id)

    async def find_turns(self, scope: Scope, conversation_id: str, turn_ids: tuple[str, ...]) -> tuple[Turn, ...]:
        data = self._reading(scope)
        find(data, conversation_id)
        wanted = {(conversation_id, turn_id) for turn_id in turn_ids}
        return tuple(turn for place, turn in data.turns.items() if place in wanted)
