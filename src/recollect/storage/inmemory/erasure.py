"""Erasing in memory: follow every derivation, leave tombstones, count what is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from recollect.domain import repeating
from recollect.domain.checks import as_utc
from recollect.domain.conversation import revised
from recollect.domain.erasure import (
    KEPT,
    Erased,
    Erasure,
    Receipt,
    conversation_tombstone,
    memory_id_tombstone,
    memory_tombstone,
    message_tombstone,
)
from recollect.domain.forgetting import lasting_title, without_sources
from recollect.domain.job import silenced
from recollect.domain.memory import Memory, Source
from recollect.domain.message import Message
from recollect.domain.note import NoteVersion
from recollect.domain.repeating import Repeated
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError
from recollect.ports.erasure import Damaged
from recollect.storage.inmemory import audit, conversations, jobs, memories, notes, reading, summaries, usage
from recollect.storage.inmemory.shelves import Shelves, UserData


class _Taken(NamedTuple):
    """What is gone, and the places of the replies that repeat it, which go next."""

    erased: Erased = Erased()
    replies: frozenset[tuple[str, str]] = frozenset()

    def plus(self, other: _Taken) -> _Taken:
        return _Taken(self.erased.plus(other.erased), self.replies | other.replies)


def _repeating(data: UserData, gone: Callable[[Repeated], bool]) -> frozenset[tuple[str, str]]:
    """Return the places of the replies that repeat something that is gone."""
    return frozenset(place for place, named in data.repeats.items() if any(map(gone, named)))


def _remove(shelf: dict[Any, Any], unwanted: Callable[[Any], bool]) -> int:
    """Remove the values that are unwanted and return how many."""
    gone = [key for key, value in shelf.items() if unwanted(value)]
    for key in gone:
        del shelf[key]
    return len(gone)


def _erase_answers(data: UserData) -> int:
    """Forget what was answered to finished requests, but not that they are done; any answer may quote anything."""
    answered = [record for record in data.requests.values() if record.body is not None]
    for record in answered:
        data.requests[record.request.key] = msgspec.structs.replace(record, body=None)
    return len(answered)


def _erase_memory(data: UserData, memory: Memory, at: datetime) -> _Taken:
    """Remove a memory with its history; what it took the place of does not become current again."""
    del data.memories[memory.id]
    for old in list(data.memories.values()):
        if old.superseded_by == memory.id:
            ended = msgspec.structs.replace(old, superseded_by=None, valid_to=old.valid_to or as_utc(at))
            data.memories[old.id] = ended
    past = (version.memory for version in data.memory_versions.values() if version.memory.id == memory.id)
    for content in {memory.content, *(one.content for one in past)}:
        data.tombstones.add(memory_tombstone(data.salt, content))
    data.tombstones.add(memory_id_tombstone(data.salt, memory.id))
    vector = data.memory_vectors.pop(memory.id, None)
    versions = _forget_versions(data, memory.id)
    erased = Erased(memories=1, memory_versions=versions, vectors=0 if vector is None else 1)
    return _Taken(erased, _repeating(data, repeating.memory(memory.id).__eq__))


def _forget_versions(data: UserData, memory_id: str) -> int:
    return _remove(data.memory_versions, lambda version: version.memory.id == memory_id)


def _forget(data: UserData, gone: Callable[[Source], bool], conversation_id: str | None, at: datetime) -> _Taken:
    """Take the sources from all memories; erase the memories that nothing else bears out."""
    taken, before = _Taken(), data.memories.copy()
    for memory_id in list(data.memories):
        memory = data.memories[memory_id]
        left = without_sources(memory, gone, conversation_id)
        if left is None:
            taken = taken.plus(_erase_memory(data, memory, at))
        elif left is not memory:
            data.memories[memory_id] = left
            # A reply may repeat what the memory said before.
            replies = _repeating(data, repeating.memory(memory_id).__eq__)
            taken = taken.plus(_Taken(Erased(memory_versions=_forget_versions(data, memory_id)), replies))
    data.memory_revision += data.memories != before
    return taken


def _empty(data: UserData, conversation_id: str, erasure: Erasure) -> _Taken:
    """Remove everything in a conversation and everything drawn from it."""

    def is_here(value: Any) -> bool:
        return bool(value.conversation_id == conversation_id)

    for message in reading.in_order(data, conversation_id):
        data.tombstones.add(message_tombstone(data.salt, conversation_id, message.id))
    for place in [place for place in data.repeats if place[0] == conversation_id]:
        del data.repeats[place]
    taken = _Taken(replies=_repeating(data, is_here))
    if erasure.memories:
        taken = taken.plus(_forget(data, is_here, conversation_id, erasure.at))
        taken = taken.plus(_Taken(notes.forget(data, is_here, erasure.at)))
    embedded = [place for place in data.message_vectors if place[0] == conversation_id]
    for place in embedded:
        del data.message_vectors[place]
    counted = Erased(
        vectors=len(embedded),
        messages=_remove(data.messages, is_here),
        summaries=_remove(data.summaries, is_here),
        turns=_remove(data.turns, is_here),
        batches=_remove(data.batches, is_here),
        jobs=_remove(data.jobs, lambda queued: is_here(queued.job)),
    )
    if taken.erased.memories:
        _quiet_jobs(data, None)
    return taken.plus(_Taken(counted))


def _take_out(data: UserData, place: tuple[str, str], erasure: Erasure) -> _Taken:
    """Erase one message, or what is left of one that a summary took the place of."""
    conversation_id, message_id = place
    message = data.messages.get(place)
    data.repeats.pop(place, None)
    taken = _Taken(replies=_repeating(data, Repeated(conversation_id, message_id).__eq__))
    if message is not None:
        taken = taken.plus(_Taken(_delete(data, message, erasure)))
    if erasure.memories:
        source = Source(conversation_id, message_id)
        taken = taken.plus(_forget(data, source.__eq__, None, erasure.at))
    data.tombstones.add(message_tombstone(data.salt, conversation_id, message_id))
    covering = summaries.of_message(data, conversation_id, message_id)
    for summary in covering:
        summaries.remove(data, summary, keep_place=message is None)
    conversation = data.conversations[conversation_id]
    changed = msgspec.structs.replace(conversation, title=lasting_title(conversation), version=conversation.version + 1)
    data.conversations[conversation_id] = changed
    data.rewritten[conversation_id] = conversation.revision + 1
    summaries.refresh_text(data, conversation_id)
    _quiet_jobs(data, None if taken.erased.memories else conversation_id)
    return taken.plus(_Taken(Erased(summaries=len(covering))))


def _delete(data: UserData, message: Message, erasure: Erasure) -> Erased:
    """Remove a message with its turn and what was noted in it; its answers and the head move up to its parent."""
    noted = notes.forget(data, _noted_with(data, message), erasure.at) if erasure.memories else Erased()
    del data.messages[message.conversation_id, message.id]
    for child in reading.in_order(data, message.conversation_id):
        if child.parent_id == message.id:
            moved = msgspec.structs.replace(child, parent_id=message.parent_id)
            data.messages[child.conversation_id, child.id] = moved
    conversation = data.conversations[message.conversation_id]
    data.conversations[message.conversation_id] = msgspec.structs.replace(
        conversation,
        head_id=message.parent_id if conversation.head_id == message.id else conversation.head_id,
        message_count=conversation.message_count - 1,
    )
    turn = data.turns.pop((message.conversation_id, message.turn_id or ""), None)
    vector = data.message_vectors.pop((message.conversation_id, message.id), None)
    counted = Erased(messages=1, turns=0 if turn is None else 1, vectors=0 if vector is None else 1)
    return noted.plus(counted)


def _followed(data: UserData, taken: _Taken, erasure: Erasure) -> Erased:
    """Erase the replies that repeat what is gone, those that repeat these, and every kept answer; return the sum."""
    while taken.replies:
        place = min(taken.replies)
        taken = taken.plus(_take_out(data, place, erasure))
        taken = taken._replace(replies=taken.replies - {place})
    return taken.erased.plus(Erased(requests=_erase_answers(data)))


def _quiet_jobs(data: UserData, conversation_id: str | None) -> None:
    """Remove what jobs of a conversation, or of all, quote or may come to quote."""
    for queued in list(data.jobs.values()):
        job = queued.job
        if job.conversation_id is not None and conversation_id in (None, job.conversation_id):
            jobs.store(data, silenced(job))


def _noted_with(data: UserData, message: Message) -> Callable[[NoteVersion], bool]:
    """Tell which versions of notes were written in the turn of a message, from its user message to the next one."""
    asked = [other for other in reading.in_order(data, message.conversation_id) if other.role == "user"]
    since = [other.created_at for other in asked if other.seq <= message.seq]
    until = [other.created_at for other in asked if other.seq > message.seq]

    def is_noted(version: NoteVersion) -> bool:
        is_before = bool(since) and version.created_at < since[-1]
        is_after = bool(until) and version.created_at > until[0]
        return version.conversation_id == message.conversation_id and not is_before and not is_after

    return is_noted


def _erase_conversation(data: UserData, conversation_id: str, erasure: Erasure) -> _Taken:
    taken = _empty(data, conversation_id, erasure)
    usage.detach(data, conversation_id)
    del data.conversations[conversation_id]
    data.rewritten.pop(conversation_id, None)
    data.tombstones.add(conversation_tombstone(data.salt, conversation_id))
    return taken.plus(_Taken(Erased(conversations=1)))


def _receipt(data: UserData, scope: Scope, erasure: Erasure, entity: tuple[str, str], erased: Erased) -> Receipt:
    counts: dict[str, Any] = {name: count for name, count in msgspec.structs.asdict(erased).items() if count}
    if not erasure.memories:
        counts["kept"] = KEPT
    audit.note(data, scope, "erase", entity, erasure.at, receipt_id=erasure.receipt_id, **counts)
    return Receipt(receipt_id=erasure.receipt_id, at=as_utc(erasure.at), erased=erased)


class Erasing(Shelves):
    """Erase, and prove it."""

    async def clear_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        with self._writing(scope) as data:
            before = conversations.find(data, conversation_id)
            taken = _empty(data, conversation_id, erasure)
            if not taken.erased.any():
                raise ConversationNotFoundError("the conversation has nothing to clear")
            data.conversations[conversation_id] = revised(
                before,
                title=lasting_title(before),
                head_id=None,
                message_count=0,
                summary=None,
                updated_at=max(before.updated_at, as_utc(erasure.at)),
                next_seq=1,
                is_branched=False,
                extracted_seq=0,
                version=before.version + 1,
            )
            data.rewritten[conversation_id] = before.revision + 1
            erased = _followed(data, taken, erasure)
            return _receipt(data, scope, erasure, ("clear", conversation_id), erased)

    async def erase_message(self, scope: Scope, conversation_id: str, message_id: str, erasure: Erasure) -> Receipt:
        with self._writing(scope) as data:
            reading.find(data, conversation_id, message_id)
            erased = _followed(data, _take_out(data, (conversation_id, message_id), erasure), erasure)
            return _receipt(data, scope, erasure, ("message", message_id), erased)

    async def erase_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        with self._writing(scope) as data:
            erasure.refuse_if_used(conversations.find(data, conversation_id).last_activity_at)
            erased = _followed(data, _erase_conversation(data, conversation_id, erasure), erasure)
            return _receipt(data, scope, erasure, ("conversation", conversation_id), erased)

    async def erase_memory(self, scope: Scope, memory_id: str, erasure: Erasure) -> Receipt:
        with self._writing(scope) as data:
            taken = _erase_memory(data, memories.find(data, memory_id), erasure.at)
            data.memory_revision += 1
            _quiet_jobs(data, None)
            erased = _followed(data, taken, erasure)
            return _receipt(data, scope, erasure, ("memory", memory_id), erased)

    async def erase_user(self, scope: Scope, erasure: Erasure) -> Receipt:
        with self._writing(scope) as data:
            # First what conversations would only lessen, so that it is counted once.
            erased = Erased(notes=len(data.notes), note_versions=len(data.note_versions))
            data.notes.clear()
            data.note_versions.clear()
            for conversation_id in list(data.conversations):
                erased = erased.plus(_erase_conversation(data, conversation_id, erasure).erased)
            data.memory_revision += bool(data.memories)
            for memory_id in list(data.memories):
                erased = erased.plus(_erase_memory(data, data.memories[memory_id], erasure.at).erased)
            counted = Erased(
                jobs=len(data.jobs),
                requests=len(data.requests),
                usage=len(data.usage),
                keys=len(data.keys),
                preferences=len(data.preferences),
            )
            for shelf in (data.jobs, data.requests, data.usage, data.keys, data.preferences, data.audit):
                shelf.clear()
            return _receipt(data, scope, erasure, ("user", scope.user), erased.plus(counted))

    async def list_damaged(self, scope: Scope) -> tuple[Damaged, ...]:
        self._reading(scope)
        return ()
