"""Summaries in SQL: replace a range by a summary, in one transaction."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.conversation import Conversation, revised
from recollect.domain.erasure import original_tombstone
from recollect.domain.forgetting import emptied
from recollect.domain.scope import Scope
from recollect.domain.summary import (
    NewSummary,
    Summary,
    newest_text,
    refuse_if_branched,
    summary_of_messages,
    summary_of_summaries,
)
from recollect.errors import ConflictError, NotFoundError
from recollect.storage import rows, vectors
from recollect.storage.conversations import find, lock, save
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Transaction
from recollect.storage.pages import END
from recollect.storage.rows import StoredConversation, intact_content, scoped
from recollect.storage.tombstones import bury


def put(tx: Transaction, scope: Scope, new: NewSummary) -> tuple[Summary, Conversation]:
    """Store the summary if what it covers is still uncovered; the same summary again changes nothing."""
    stored = lock(tx, scope, new.conversation_id)
    values = {**scoped(scope), "conversation": stored.number}
    known = tx.one("find_summary", **values, id=new.id)
    if known is not None:
        return rows.summary_from(scope, new.conversation_id, known), stored.value
    summary = _of_summaries(tx, scope, stored, new) if new.folds else _of_messages(tx, scope, stored, new)
    tx.run("insert_summary", **rows.summary_values(scope, stored.number, summary))
    if new.delete_originals:
        refuse_if_branched(stored.value)
        stored = delete_originals(tx, scope, stored, new)
    return summary, refresh_text(tx, scope, stored)


def _of_messages(tx: Transaction, scope: Scope, stored: StoredConversation, new: NewSummary) -> Summary:
    values = {**scoped(scope), "conversation": stored.number}
    found = tx.all("find_messages", **values, ids=tx.ids(new.message_ids))
    if not found:
        raise ConflictError("the messages to summarise are gone; plan the summary again")
    messages = [rows.message_from(scope, new.conversation_id, row) for row in found]
    near = tx.all("overlapping_summaries", **values, first=messages[0].seq, last=messages[-1].seq)
    others = [rows.summary_from(scope, new.conversation_id, row) for row in near]
    return summary_of_messages(new, messages, others)


def _of_summaries(tx: Transaction, scope: Scope, stored: StoredConversation, new: NewSummary) -> Summary:
    values = {**scoped(scope), "conversation": stored.number}
    found = tx.all("find_summaries", **values, ids=tx.ids(new.folds))
    folded = [rows.summary_from(scope, new.conversation_id, row) for row in found]
    summary = summary_of_summaries(new, folded, [_parent(tx, scope, stored, one) for one in folded])
    for old in folded:
        refold(tx, scope, stored, old, new.id)
    return summary


def _parent(tx: Transaction, scope: Scope, stored: StoredConversation, summary: Summary) -> str | None | UnsetType:
    """Return the parent of the first message that the summary covers, unset if that message is stored no more."""
    values = {**scoped(scope), "conversation": stored.number}
    while summary.folds:
        (first,) = tx.all("find_summary", **values, id=summary.folds[0])
        summary = rows.summary_from(scope, stored.value.id, first)
    row = tx.one("message_seq", **values, id=summary.message_ids[0])
    return UNSET if row is None else row[1]


def refold(tx: Transaction, scope: Scope, stored: StoredConversation, old: Summary, into: str | None) -> None:
    """Put a summary under another one, or make it active again."""
    moved = rows.summary_values(scope, stored.number, msgspec.structs.replace(old, folded_into=into))
    names = ("tenant", "user", "conversation", "id", "folded_into", "checksum")
    tx.run("fold_summary", **{name: moved[name] for name in names})


def empty(tx: Transaction, scope: Scope, stored: StoredConversation, old: Summary) -> None:
    """Take the words from a summary and make it active again."""
    after = rows.summary_values(scope, stored.number, emptied(old))
    names = ("tenant", "user", "conversation", "id", "content", "metadata", "folded_into", "checksum")
    tx.run("empty_summary", **{name: after[name] for name in names})


def delete_originals(tx: Transaction, scope: Scope, stored: StoredConversation, new: NewSummary) -> StoredConversation:
    """Remove summarised messages; their summary stands for them, and a late replay does not store them again."""
    gone = 0
    for message_id in new.message_ids:
        values = {**scoped(scope), "conversation": stored.number, "id": message_id}
        row = tx.one("message_to_erase", **values)
        if row is not None:
            tx.unindex(scope, row[0], intact_content(scope, stored.value.id, row[1:]))
            vectors.drop(tx, scope, "message", [row[0]])
            gone += tx.run("delete_message", **values)
            bury(tx, scope, original_tombstone(tx.salt, stored.value.id, message_id), new.at)
    value = msgspec.structs.replace(stored.value, message_count=stored.value.message_count - gone)
    return StoredConversation(stored.number, value, stored.has_erased or gone > 0, value.revision + 1)


def refresh_text(tx: Transaction, scope: Scope, stored: StoredConversation) -> Conversation:
    """Write the conversation with the text of its newest active summary, and return it."""
    text = newest_text(active_of(tx, scope, stored)[0])
    after = revised(stored.value, summary=text)
    save(tx, scope, msgspec.structs.replace(stored, value=after))
    return after


def continues(tx: Transaction, scope: Scope, stored: StoredConversation, before: Summary, after: Summary) -> bool:
    """Tell whether the first message of one summary answers the last one of another, as far as is known."""
    return _parent(tx, scope, stored, after) in (UNSET, before.last_message_id)


def active_of(tx: Transaction, scope: Scope, stored: StoredConversation) -> Sound[Summary]:
    """Return the active summaries of every branch, in order."""
    found = tx.all("active_summaries", **scoped(scope), conversation=stored.number, first=0, last=END)
    return sound(partial(rows.summary_from, scope, stored.value.id), found)


def active(tx: Transaction, scope: Scope, conversation_id: str) -> Sound[Summary]:
    """Return the active summaries of every branch, in order."""
    return active_of(tx, scope, find(tx, scope, conversation_id))


def expand(tx: Transaction, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
    """Return the summary and, for a fold, every summary under it, widest first."""
    stored = find(tx, scope, conversation_id)
    values = {**scoped(scope), "conversation": stored.number}
    row = tx.one("find_summary", **values, id=summary_id)
    if row is None:
        raise NotFoundError("there is no summary with this id in the conversation")
    layers = [rows.summary_from(scope, conversation_id, row)]
    for summary in layers:
        if summary.folds:
            found = tx.all("find_summaries", **values, ids=tx.ids(summary.folds))
            layers += [rows.summary_from(scope, conversation_id, row) for row in found]
    return tuple(layers)
