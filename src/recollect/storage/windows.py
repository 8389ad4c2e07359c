"""Windows and backlogs in SQL: what a prompt needs of a conversation, and what is still to be summarised."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from recollect.domain.cover import Cover, cover_of, holds_on, path_start
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.window import MAX_WINDOW, Backlog, Unextracted, Window, trimmed
from recollect.storage import rows, summaries
from recollect.storage.conversations import find
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.pages import END
from recollect.storage.rows import StoredConversation, scoped


class Reading:
    """One conversation as one snapshot shows it."""

    def __init__(self, tx: Transaction, scope: Scope, stored: StoredConversation) -> None:
        self.tx = tx
        self.scope = scope
        self.stored = stored
        self.here = {**scoped(scope), "conversation": stored.number}
        #: The places of the head path, or None if it is simply all of them.
        self.path: list[Row] | None = None
        if stored.value.is_branched:
            self.path = tx.all("path_seqs", **self.here, id=stored.value.head_id, after=-1)

    def cover(self) -> tuple[Cover, tuple[str, ...]]:
        """Return the summaries that hold, and the ids of damaged ones."""
        if self.stored.value.summary is None:
            return Cover(holding=()), ()
        active, corrupt = summaries.active_of(self.tx, self.scope, self.stored)
        if self.path is None:
            return Cover(holding=active), corrupt
        seqs = {row[0] for row in self.path}
        oldest = (self.path[0][0], self.path[0][1]) if self.path else None
        start = path_start(oldest, self.stored.value.head_id, active)
        known = list(active)
        for summary in known:
            if summary.folds and not holds_on(seqs, summary, start):
                folded = self.tx.all("find_summaries", **self.here, ids=self.tx.ids(summary.folds))
                whole, damaged = sound(partial(rows.summary_from, self.scope, self.stored.value.id), folded)
                known += whole
                corrupt += damaged
        return cover_of(seqs, known, start=start), corrupt

    def newest(self, size: int, covered: int) -> list[Row]:
        """Return the newest messages, oldest first: at least so many, and all after the place that is covered."""
        if self.path is None:
            behind = self.stored.value.next_seq - 1 - covered
            limit = min(max(size, behind), MAX_WINDOW)
            found = self.tx.all("messages_before", **self.here, seq=END, limit=limit)
        elif self.stored.value.head_id is None:
            return []
        else:
            behind = sum(row[0] > covered for row in self.path)
            limit = min(max(size, behind), MAX_WINDOW)
            found = self.tx.all("path_before", **self.here, id=self.stored.value.head_id, limit=limit)
        found.reverse()
        return found

    def between(self, after: int, before: int, limit: int) -> list[Row]:
        """Return the oldest messages of the head path between two places."""
        if self.path is None:
            found = self.tx.all("messages_after", **self.here, seq=after, limit=limit)
            return [row for row in found if row[0] < before]
        wanted = [row[0] for row in self.path if after < row[0] < before][:limit]
        if not wanted:
            return []
        on_path = set(wanted)
        found = self.tx.all("messages_between", **self.here, first=wanted[0], last=wanted[-1])
        return [row for row in found if row[0] in on_path]

    def earlier(self, seq: int, limit: int) -> list[Row]:
        """Return the newest messages of the head path up to a place, oldest first."""
        if self.path is None:
            found = self.tx.all("messages_before", **self.here, seq=seq + 1, limit=limit)
            return found[::-1]
        wanted = [row[0] for row in self.path if row[0] <= seq][-limit:]
        if not wanted:
            return []
        found = self.tx.all("messages_between", **self.here, first=wanted[0], last=wanted[-1])
        return [row for row in found if row[0] in set(wanted)]

    def sound(self, found: list[Row]) -> Sound[Message]:
        """Return the messages of these rows, and the ids of damaged ones."""
        return sound(partial(rows.message_from, self.scope, self.stored.value.id), found)


def read(
    tx: Transaction, scope: Scope, conversation_id: str, size: int, known: int | None
) -> tuple[Window, tuple[str, ...]] | None:
    """Return the window and the ids of damaged summaries, or None if the conversation still has the known revision."""
    stored = find(tx, scope, conversation_id)
    if stored.value.revision == known:
        return None
    reading = Reading(tx, scope, stored)
    cover, damaged = reading.cover()
    covered = cover.holding[-1].last_seq if cover.holding else 0
    messages, corrupt = reading.sound(reading.newest(size, covered))
    window = Window(conversation=stored.value, summaries=cover.holding, messages=messages, corrupt=corrupt)
    return trimmed(window, size), damaged


def backlog(tx: Transaction, scope: Scope, conversation_id: str, limit: int) -> Backlog:
    """Return the oldest messages of the head path that no summary covers."""
    reading = Reading(tx, scope, find(tx, scope, conversation_id))
    cover, _ = reading.cover()
    found: list[Row] = []
    end = 0
    for summary in (*cover.holding, None):
        start = END if summary is None else summary.first_seq
        if start > end + 1 and len(found) < limit:
            found += reading.between(end, start, limit - len(found))
        end = end if summary is None else summary.last_seq
    return Backlog(
        conversation=reading.stored.value,
        summaries=cover.holding,
        messages=reading.sound(found)[0],
        elsewhere=cover.elsewhere,
        apart=frozenset(_apart(reading, cover.holding)),
    )


def unextracted(tx: Transaction, scope: Scope, conversation_id: str, limit: int, context: int) -> Unextracted:
    """Return the oldest messages of the head path that were not learned from."""
    reading = Reading(tx, scope, find(tx, scope, conversation_id))
    value = reading.stored.value
    found = reading.between(value.extracted_seq, END, limit + 1)
    more = len(found) > limit
    return Unextracted(
        conversation_id=conversation_id,
        from_seq=value.extracted_seq,
        to_seq=found[limit - 1][0] if more else value.next_seq - 1,
        messages=reading.sound(found[:limit])[0],
        context=reading.sound(reading.earlier(value.extracted_seq, context))[0],
        more=more,
    )


def _apart(reading: Reading, holding: tuple[Summary, ...]) -> list[str]:
    """List the summaries whose first message does not answer the last one of the summary before."""
    return [
        after.id
        for before, after in pairwise(holding)
        if not summaries.continues(reading.tx, reading.scope, reading.stored, before, after)
    ]
