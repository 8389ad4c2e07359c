"""Erasing in SQL: follow every derivation, leave tombstones, count what is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple

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
from recollect.domain.repeating import Repeated
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.errors import ConversationNotFoundError, CorruptRecordError, MemoryNotFoundError, MessageNotFoundError
from recollect.storage import audit, jobs, memories, notes, repeats, rows, summaries, usage, vectors
from recollect.storage.conversations import MISSING, lock, save
from recollect.storage.damage import sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.knowledge_rows import job_from, memory_from, version_from
from recollect.storage.repeats import Place
from recollect.storage.rows import StoredConversation, micros, scoped
from recollect.storage.tombstones import bury


class _Taken(NamedTuple):
    """What is gone, and the replies that repeat it, which go next."""

    erased: Erased = Erased()
    replies: frozenset[Place] = frozenset()

    def plus(self, other: _Taken) -> _Taken:
        return _Taken(self.erased.plus(other.erased), self.replies | other.replies)


def message(tx: Transaction, scope: Scope, conversation_id: str, message_id: str, erasure: Erasure) -> Receipt:
    """Erase one message with its summaries, the memories that only it bears out and the replies that repeat it."""
    tx.one("lock_user", **scoped(scope))
    stored = lock(tx, scope, conversation_id)
    row = tx.one("message_to_erase", **scoped(scope), conversation=stored.number, id=message_id)
    if row is None:
        raise MessageNotFoundError("there is no message with this id in the conversation")
    taken = _take_out(tx, scope, stored, Place(conversation_id, message_id, row[1]), erasure)
    return _receipt(tx, scope, erasure, "message", message_id, _followed(tx, scope, taken, erasure))


def _followed(tx: Transaction, scope: Scope, taken: _Taken, erasure: Erasure) -> Erased:
    """Erase the replies that repeat what is gone, those that repeat these, and every kept answer; return the sum."""
    while taken.replies:
        place = min(taken.replies)
        stored = lock(tx, scope, place.conversation_id)
        taken = taken.plus(_take_out(tx, scope, stored, place, erasure))
        taken = taken._replace(replies=taken.replies - {place})
    return taken.erased.plus(Erased(requests=_erase_answers(tx, scope)))


def _take_out(tx: Transaction, scope: Scope, stored: StoredConversation, place: Place, erasure: Erasure) -> _Taken:
    """Erase one message, or what is left of one that a summary took the place of."""
    conversation_id, message_id, _ = place
    here = {**scoped(scope), "conversation": stored.number}
    row = tx.one("message_to_erase", **here, id=message_id)
    repeats.drop(tx, scope, conversation_id, message_id)
    taken = _Taken(replies=repeats.of(tx, scope, Repeated(conversation_id, message_id)))
    value = stored.value
    if row is not None:
        parent_id = row[3]
        taken = taken.plus(_delete(tx, scope, stored, row, erasure))
        head_id = parent_id if value.head_id == message_id else value.head_id
        value = msgspec.structs.replace(value, head_id=head_id, message_count=value.message_count - 1)
    bury(tx, scope, message_tombstone(tx.salt, conversation_id, message_id), erasure.at)
    taken = taken.plus(_derived(tx, scope, stored, message_id, erasure))
    summarised = _uncover(tx, scope, stored, place, is_stored=row is not None)
    value = msgspec.structs.replace(value, title=lasting_title(value), version=value.version + 1)
    summaries.refresh_text(tx, scope, StoredConversation(stored.number, value, True, value.revision + 1))
    _quiet_jobs(tx, scope, None if taken.erased.memories else conversation_id)
    return taken.plus(_Taken(Erased(summaries=summarised)))


def _delete(tx: Transaction, scope: Scope, stored: StoredConversation, row: Row, erasure: Erasure) -> _Taken:
    """Remove a message with its terms, its vector, its turn and what was noted in it."""
    number, seq, message_id, parent_id, turn_id, *_ = row
    here = {**scoped(scope), "conversation": stored.number}
    tx.unindex(scope, number, rows.intact_content(scope, stored.value.id, row[1:]))
    embedded = vectors.drop(tx, scope, "message", [number])
    period = _period(tx, scope, stored.number, seq)
    tx.run("delete_message", **here, id=message_id)
    tx.run("delete_quarantine", **scoped(scope), kind="message", id=message_id)
    _adopt_children(tx, scope, stored, message_id, parent_id)
    noted = notes.forget(tx, scope, stored.value.id, period, erasure.at) if erasure.memories else Erased()
    turns = 0 if turn_id is None else tx.run("delete_turn", **here, id=turn_id)
    return _Taken(noted.plus(Erased(messages=1, turns=turns, vectors=embedded)))


def _period(tx: Transaction, scope: Scope, conversation: int, seq: int) -> notes.Period:
    """Return the time of the turn of a message, in which an agent noted what it says."""
    row = tx.one("times_around", **scoped(scope), conversation=conversation, seq=seq)
    since, until = (None, None) if row is None else row
    first, last = notes.ALWAYS
    return (first if since is None else since, last if until is None else until)


def _adopt_children(
    tx: Transaction, scope: Scope, stored: StoredConversation, message_id: str, parent_id: str | None
) -> None:
    here = {**scoped(scope), "conversation": stored.number}
    found = tx.all("children", **here, id=message_id)
    # A child that was damaged stays as it is, for it to be found.
    for child in sound(partial(rows.message_from, scope, stored.value.id), found)[0]:
        moved = rows.message_values(scope, stored.number, msgspec.structs.replace(child, parent_id=parent_id))
        tx.run("move_message", **here, id=child.id, parent_id=parent_id, checksum=moved["checksum"])


def _derived(tx: Transaction, scope: Scope, stored: StoredConversation, message_id: str, erasure: Erasure) -> _Taken:
    if not erasure.memories:
        return _Taken()
    source = Source(stored.value.id, message_id)
    found = tx.all("memories_of_message", **scoped(scope), conversation_id=stored.value.id, message_id=message_id)
    ids = [row[0] for row in found]
    return _forget(tx, scope, ids, lambda other: other == source, None, erasure.at)


def _forget(
    tx: Transaction,
    scope: Scope,
    memory_ids: list[str],
    gone: Callable[[Source], bool],
    conversation_id: str | None,
    at: datetime,
) -> _Taken:
    """Take sources from memories; erase the memories that have no other."""
    taken = _Taken()
    if memory_ids:
        tx.one("lock_user", **scoped(scope))
    has_changed = False
    for memory_id in memory_ids:
        row = tx.one("lock_memory", **scoped(scope), id=memory_id)
        if row is None:
            continue
        memory = _intact_memory(scope, row)
        left = None if memory is None else without_sources(memory, gone, conversation_id)
        if memory is None or left is None:
            taken = taken.plus(_erase_memory(tx, scope, memory_id, row[4], at))
            has_changed = True
        elif left is not memory:
            has_changed = True
            for source in set(memory.sources) - set(left.sources):
                _drop_source(tx, scope, memory_id, source)
            memories.store(tx, scope, left)
            versions = tx.run("delete_memory_versions", **scoped(scope), id=memory_id)
            # A reply may repeat what the memory said before.
            replies = repeats.of(tx, scope, repeating.memory(memory_id))
            taken = taken.plus(_Taken(Erased(memory_versions=versions), replies))
    if has_changed:
        vectors.bump(tx, scope)
    return taken


def _intact_memory(scope: Scope, row: Row) -> Memory | None:
    """Return the memory, or None if it was damaged: what bears it out cannot be known then."""
    try:
        return memory_from(scope, row)
    except CorruptRecordError:
        return None


def _drop_source(tx: Transaction, scope: Scope, memory_id: str, source: Source) -> None:
    tx.run(
        "delete_source",
        **scoped(scope),
        conversation_id=source.conversation_id,
        message_id=source.message_id,
        memory_id=memory_id,
    )


def _erase_memory(tx: Transaction, scope: Scope, memory_id: str, content: object, at: datetime) -> _Taken:
    row = tx.one("find_memory", **scoped(scope), id=memory_id)
    memory = None if row is None else _intact_memory(scope, row)
    if memory is None:
        tx.run("delete_sources", **scoped(scope), memory_id=memory_id)
    else:
        for source in memory.sources:
            _drop_source(tx, scope, memory_id, source)
    superseded = tx.all("memories_superseded_by", **scoped(scope), id=memory_id)
    for old in sound(partial(memory_from, scope), superseded)[0]:
        memories.store(tx, scope, msgspec.structs.replace(old, superseded_by=None, valid_to=old.valid_to or at))
    past, _ = sound(partial(version_from, scope), tx.all("memory_versions", **scoped(scope), id=memory_id))
    versions = tx.run("delete_memory_versions", **scoped(scope), id=memory_id)
    numbers = [number for (number,) in tx.all("memory_number", **scoped(scope), id=memory_id)]
    embedded = vectors.drop(tx, scope, "memory", numbers)
    tx.run("delete_memory", **scoped(scope), id=memory_id)
    tx.run("delete_quarantine", **scoped(scope), kind="memory", id=memory_id)
    said = {version.memory.content for version in past}
    if isinstance(content, str):  # what was damaged may be no text any more
        said.add(content)
    for statement in sorted(said):
        bury(tx, scope, memory_tombstone(tx.salt, statement), at)
    bury(tx, scope, memory_id_tombstone(tx.salt, memory_id), at)
    erased = Erased(memories=1, memory_versions=versions, vectors=embedded)
    return _Taken(erased, repeats.of(tx, scope, repeating.memory(memory_id)))


def _uncover(tx: Transaction, scope: Scope, stored: StoredConversation, place: Place, *, is_stored: bool) -> int:
    """Erase every summary of this message and bring back the others that were folded into them.

    One that stands for messages that are stored no more stays in their place, without its words.
    """
    here = {**scoped(scope), "conversation": stored.number}
    around, damaged = sound(
        partial(rows.summary_from, scope, stored.value.id), tx.all("covering_summaries", **here, seq=place.seq)
    )
    # What a damaged summary stands for cannot be known, so it may quote the message.
    gone = set(damaged)
    for summary_id in damaged:
        tx.run("delete_summary", **here, id=summary_id)
    for summary in reversed(around):
        if place.message_id not in summary.message_ids and not gone.intersection(summary.folds):
            continue
        gone.add(summary.id)
        if summary.message_ids and not is_stored:
            summaries.empty(tx, scope, stored, summary)
        else:
            _remove_summary(tx, scope, stored, summary)
    return len(gone)


def _remove_summary(tx: Transaction, scope: Scope, stored: StoredConversation, summary: Summary) -> None:
    here = {**scoped(scope), "conversation": stored.number}
    tx.run("delete_summary", **here, id=summary.id)
    folded = tx.all("find_summaries", **here, ids=tx.ids(summary.folds))
    for child in sound(partial(rows.summary_from, scope, stored.value.id), folded)[0]:
        summaries.refold(tx, scope, stored, child, None)


def _quiet_jobs(tx: Transaction, scope: Scope, conversation_id: str | None) -> None:
    """Remove what jobs of a conversation, or of all, quote or may come to quote."""
    if conversation_id is None:
        found = tx.all("telling_jobs", **scoped(scope))
    else:
        found = tx.all("conversation_jobs", **scoped(scope), conversation_id=conversation_id)
    whole, damaged = sound(partial(job_from, scope), found)
    for job in whole:
        quiet = silenced(job)
        if quiet is not job:
            jobs.store(tx, scope, quiet)
    for job_id in damaged:
        tx.run("quiet_damaged_job", **scoped(scope), id=job_id)


def _erase_answers(tx: Transaction, scope: Scope) -> int:
    return tx.run("erase_answers", **scoped(scope))


def clear(tx: Transaction, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
    """Empty a conversation and start it again; its messages cannot be stored again."""
    tx.one("lock_user", **scoped(scope))
    stored = lock(tx, scope, conversation_id)
    taken = _empty(tx, scope, stored.number, conversation_id, erasure)
    if not taken.erased.any():
        raise ConversationNotFoundError("the conversation has nothing to clear")
    value = stored.value
    cleared = revised(
        value,
        title=lasting_title(value),
        head_id=None,
        message_count=0,
        summary=None,
        updated_at=max(value.updated_at, erasure.at),
        next_seq=1,
        is_branched=False,
        extracted_seq=0,
        version=value.version + 1,
    )
    save(tx, scope, StoredConversation(stored.number, cleared, True, cleared.revision))
    return _receipt(tx, scope, erasure, "clear", conversation_id, _followed(tx, scope, taken, erasure))


def _empty(tx: Transaction, scope: Scope, number: int, conversation_id: str, erasure: Erasure) -> _Taken:
    here = {**scoped(scope), "conversation": number}
    messages = tx.all("messages_to_erase", **here)
    for row in messages:
        tx.unindex(scope, row[0], rows.intact_content(scope, conversation_id, row[1:]))
        bury(tx, scope, message_tombstone(tx.salt, conversation_id, row[2]), erasure.at)
    tx.run("delete_quarantined", **scoped(scope), kind="message", ids=tx.ids([row[2] for row in messages]))
    repeats.drop_in(tx, scope, conversation_id)
    taken = _Taken(replies=repeats.of_conversation(tx, scope, conversation_id))
    if erasure.memories:
        found = tx.all("memories_of_conversation", **scoped(scope), conversation_id=conversation_id)
        forgotten = _forget(
            tx,
            scope,
            [row[0] for row in found],
            lambda source: source.conversation_id == conversation_id,
            conversation_id,
            erasure.at,
        )
        noted = notes.forget(tx, scope, conversation_id, notes.ALWAYS, erasure.at)
        taken = taken.plus(forgotten).plus(_Taken(noted))
    counted = Erased(
        vectors=vectors.drop(tx, scope, "message", [row[0] for row in messages]),
        messages=tx.run("delete_messages", **here),
        summaries=tx.run("delete_summaries", **here),
        turns=tx.run("delete_turns", **here),
        batches=tx.run("delete_batches", **here),
        jobs=tx.run("delete_conversation_jobs", **scoped(scope), conversation_id=conversation_id),
    )
    if taken.erased.memories:
        _quiet_jobs(tx, scope, None)
    return taken.plus(_Taken(counted))


def conversation(tx: Transaction, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
    """Erase a conversation with everything drawn from it, even if it was damaged."""
    tx.one("lock_user", **scoped(scope))
    row = tx.one("lock_conversation", **scoped(scope), id=conversation_id)
    if row is None:
        raise ConversationNotFoundError(MISSING)
    if erasure.idle_since is not None:
        erasure.refuse_if_used(rows.conversation_from(scope, row).value.last_activity_at)
    taken = _remove(tx, scope, row[0], conversation_id, erasure)
    return _receipt(tx, scope, erasure, "conversation", conversation_id, _followed(tx, scope, taken, erasure))


def _remove(tx: Transaction, scope: Scope, number: int, conversation_id: str, erasure: Erasure) -> _Taken:
    taken = _empty(tx, scope, number, conversation_id, erasure)
    usage.detach(tx, scope, conversation_id)
    tx.run("delete_conversation", **scoped(scope), number=number)
    tx.run("delete_quarantine", **scoped(scope), kind="conversation", id=conversation_id)
    bury(tx, scope, conversation_tombstone(tx.salt, conversation_id), erasure.at)
    return taken.plus(_Taken(Erased(conversations=1)))


def memory(tx: Transaction, scope: Scope, memory_id: str, erasure: Erasure) -> Receipt:
    """Erase a memory with its history and the replies that repeat it; what it says stays forgotten."""
    tx.one("lock_user", **scoped(scope))
    row = tx.one("lock_memory", **scoped(scope), id=memory_id)
    if row is None:
        raise MemoryNotFoundError(memories.MISSING)
    taken = _erase_memory(tx, scope, memory_id, row[4], erasure.at)
    vectors.bump(tx, scope)
    _quiet_jobs(tx, scope, None)
    return _receipt(tx, scope, erasure, "memory", memory_id, _followed(tx, scope, taken, erasure))


def user(tx: Transaction, scope: Scope, erasure: Erasure) -> Receipt:
    """Erase everything of the user; only tombstones and the receipt stay."""
    tx.one("lock_user", **scoped(scope))
    # First what conversations would only lessen, so that it is counted once.
    erased = Erased(
        requests=tx.run("delete_requests", **scoped(scope)),
        notes=tx.run("delete_notes", **scoped(scope)),
        note_versions=tx.run("delete_note_versions", **scoped(scope)),
    )
    # The replies that repeat something stand in these conversations.
    for number, conversation_id in tx.all("numbered_conversations", **scoped(scope)):
        erased = erased.plus(_remove(tx, scope, number, conversation_id, erasure).erased)
    memory_ids = [memory_id for (memory_id,) in tx.all("all_memory_ids", **scoped(scope))]
    for memory_id in memory_ids:
        row = tx.one("find_memory", **scoped(scope), id=memory_id)
        content = "" if row is None else row[4]
        erased = erased.plus(_erase_memory(tx, scope, memory_id, content, erasure.at).erased)
    if memory_ids:
        vectors.bump(tx, scope)
    counted = Erased(
        jobs=tx.run("delete_jobs", **scoped(scope)),
        usage=tx.run("delete_usage", **scoped(scope)),
        keys=tx.run("delete_keys", **scoped(scope)),
        preferences=tx.run("delete_preferences", **scoped(scope)),
    )
    for name in ("delete_audit", "delete_user_quarantine", "delete_agents"):
        tx.run(name, **scoped(scope))
    tx.run("empty_user", **scoped(scope), at=micros(erasure.at))
    return _receipt(tx, scope, erasure, "user", scope.user, erased.plus(counted))


def _receipt(tx: Transaction, scope: Scope, erasure: Erasure, kind: str, entity_id: str, erased: Erased) -> Receipt:
    detail: dict[str, object] = {name: n for name in erased.__struct_fields__ if (n := getattr(erased, name))}
    if not erasure.memories:
        detail["kept"] = KEPT
    audit.note(tx, scope, "erase", (kind, entity_id), erasure.at, receipt_id=erasure.receipt_id, **detail)
    return Receipt(receipt_id=erasure.receipt_id, at=as_utc(erasure.at), erased=erased)
