"""Reading messages in SQL: pages in both directions, single messages, and search."""

from __future__ import annotations

from functools import partial
from typing import Any

from recollect.domain.branch_ends import Run, newest_ends
from recollect.domain.message import Message
from recollect.domain.page import Hit, MessagePage, MessageQuery, SearchQuery, siblings
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.terms import asked_terms
from recollect.errors import CorruptRecordError, MessageNotFoundError
from recollect.storage import rows
from recollect.storage.conversations import find
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.rows import StoredConversation, scoped

#: Beyond every seq.
END = 2**62


def messages(tx: Transaction, scope: Scope, query: MessageQuery) -> MessagePage:
    """Read a page of the branch that leads to the head, or of all branches."""
    stored = find(tx, scope, query.conversation_id)
    if query.all_branches or not stored.value.is_branched:
        found = _by_seq(tx, scope, stored, query)
    else:
        found = _by_path(tx, scope, stored, query)
    more = len(found) > query.limit
    found = found[: query.limit]
    if not query.is_forwards:
        found.reverse()
    read, corrupt = _read(scope, query.conversation_id, found)
    summaries: Sound[Summary] = ((), ())
    if found and stored.value.summary is not None:
        summaries = active_summaries(tx, scope, stored, found[0][0], found[-1][0])
    others, ends = _siblings(tx, scope, stored, read) if stored.value.is_branched else ({}, {})
    return MessagePage(
        messages=tuple(read),
        summaries=summaries[0],
        more=more,
        corrupt=tuple(corrupt),
        corrupt_summaries=summaries[1],
        siblings=others,
        ends=ends,
    )


def _by_seq(tx: Transaction, scope: Scope, stored: StoredConversation, query: MessageQuery) -> list[Row]:
    values = {"tenant": scope.tenant, "user": scope.user, "conversation": stored.number}
    if query.is_forwards:
        seq = 0 if query.after is None else _place(tx, scope, stored, query.after)[0]
        return tx.all("messages_after", **values, seq=seq, limit=query.limit + 1)
    seq = END if query.before is None else _place(tx, scope, stored, query.before)[0]
    return tx.all("messages_before", **values, seq=seq, limit=query.limit + 1)


def _by_path(tx: Transaction, scope: Scope, stored: StoredConversation, query: MessageQuery) -> list[Row]:
    values = {**scoped(scope), "conversation": stored.number}
    head = stored.value.head_id
    if query.is_forwards:
        seq = 0 if query.after is None else _place(tx, scope, stored, query.after)[0]
        path = [row[0] for row in tx.all("path_seqs", **values, id=head, after=seq)][: query.limit + 1]
        if not path:
            return []
        between = tx.all("messages_between", **values, first=path[0], last=path[-1])
        wanted = set(path)
        return [row for row in between if row[0] in wanted]
    start = head if query.before is None else _place(tx, scope, stored, query.before)[1]
    if start is None:
        return []
    return tx.all("path_before", **values, id=start, limit=query.limit + 1)


def _place(tx: Transaction, scope: Scope, stored: StoredConversation, message_id: str) -> Row:
    row = tx.one("message_seq", **scoped(scope), conversation=stored.number, id=message_id)
    if row is None:
        raise MessageNotFoundError("there is no message with this id in the conversation")
    return row


def _read(scope: Scope, conversation_id: str, found: list[Row]) -> tuple[list[Message], list[str]]:
    read: list[Message] = []
    corrupt: list[str] = []
    for row in found:
        try:
            read.append(rows.message_from(scope, conversation_id, row))
        except CorruptRecordError:
            corrupt.append(row[1])
    return read, corrupt


def _siblings(
    tx: Transaction, scope: Scope, stored: StoredConversation, read: list[Message]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return all answers to the parents of these messages, where there are several, and the newest end of each."""
    values = {**scoped(scope), "conversation": stored.number}
    answers: dict[str | None, list[str]] = {}
    parents = {message.parent_id for message in read}
    found = tx.all("answers", **values, ids=tx.ids(sorted(one for one in parents if one is not None)))
    if None in parents:
        found += tx.all("roots", **values)
    places: dict[str, int] = {}
    for parent_id, message_id, seq in found:
        answers.setdefault(parent_id, []).append(message_id)
        places[message_id] = seq
    others = siblings(read, answers)
    return others, _ends(tx, values, {one: places[one] for together in others.values() for one in together})


def _ends(tx: Transaction, values: dict[str, Any], places: dict[str, int]) -> dict[str, str]:
    """Return the newest end of the branches through each of these messages."""
    if not places:
        return {}
    starts = tx.all("run_starts", **values, first=min(places.values()))
    ((last_seq, last_id),) = tx.all("last_message", **values)
    befores = [(row[2], row[3]) for row in starts[1:]] + [(last_seq, last_id)]
    runs = [
        Run(first_seq=row[0], last_seq=before[0], last_id=before[1], parent_seq=row[1])
        for row, before in zip(starts, befores, strict=True)
    ]
    ends = newest_ends(runs, places.values())
    return {message_id: ends[seq] for message_id, seq in places.items()}


def active_summaries(
    tx: Transaction, scope: Scope, stored: StoredConversation, first: int, last: int
) -> Sound[Summary]:
    """Return the active summaries that hold on the head's branch and end in this range of seqs."""
    found = tx.all("active_summaries", **scoped(scope), conversation=stored.number, first=first, last=last)
    summaries, corrupt = sound(partial(rows.summary_from, scope, stored.value.id), found)
    if summaries and stored.value.is_branched:
        values = {**scoped(scope), "conversation": stored.number}
        path = tx.all("path_seqs", **values, id=stored.value.head_id, after=first - 1)
        on_path = {row[0] for row in path}
        summaries = tuple(summary for summary in summaries if summary.last_seq in on_path)
    return summaries, corrupt


def message(tx: Transaction, scope: Scope, conversation_id: str, message_id: str) -> Message:
    """Return one message or raise."""
    stored = find(tx, scope, conversation_id)
    row = tx.one("find_message", **scoped(scope), conversation=stored.number, id=message_id)
    if row is None:
        raise MessageNotFoundError("there is no message with this id in the conversation")
    return rows.message_from(scope, conversation_id, row)


def search(tx: Transaction, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
    """Find the messages that hold most of the words, the newest first among equals."""
    wanted = asked_terms(query.text)
    if not wanted:
        return ()
    counts = tx.matching(scope, wanted)
    ranked = sorted(counts, key=lambda number: (-counts[number], -number))
    hits: list[Hit] = []
    for start in range(0, len(ranked), 500):
        numbers = ranked[start : start + 500]
        by_number = {row[1]: row for row in tx.all("numbered_messages", **scoped(scope), ids=tx.ids(numbers))}
        for number in numbers:
            row = by_number.get(number)
            if row is None or query.conversation_id not in (None, row[0]):
                continue
            read, _ = _read(scope, row[0], [row[2:]])
            hits += [Hit(message=found, similarity=counts[number] / len(wanted)) for found in read]
            if len(hits) == query.limit:
                return tuple(hits)
    return tuple(hits)
