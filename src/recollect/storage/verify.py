"""Walk every row of every user and tell which do not match their checksums, their counters or each other.

The walk is the same for every dialect; what only one of them has, such as pages or an index, is checked beside it.
Nothing here changes anything, and no damage stops the walk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, Protocol

import msgspec

from recollect.domain.repeating import repeated_by
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, InvalidInputError
from recollect.storage import keys, knowledge_rows, preferences, rows, usage
from recollect.storage.driver import Row
from recollect.storage.turn_rows import turn_from
from recollect.storage.vectors import NONE, is_sound

#: Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
Kind = Literal["file", "row", "counter", "reference", "index"]

Owner = tuple[str, str]

#: How many rows are read between two looks at the progress.
PAGE = 1_000


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it was written."""

    kind: Kind
    table: str
    #: Whose it is and which, as far as that can be read.
    record: str
    problem: str


class Snapshot(Protocol):
    """Named queries on one moment of a database, whose rows are more than fit into memory."""

    def walk(self, query: str) -> Iterator[Row]:
        """Give the rows one by one; text that is no text any more comes in whatever form."""

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""


def unseen(what: str, done: int, total: int) -> None:
    """Show no progress."""


class _Walk(msgspec.Struct, frozen=True, kw_only=True):
    """What reads a row of a table."""

    read: Callable[[Scope, Row], object]
    #: Which of the row's columns names it to a person.
    id_at: int = 0
    has_conversation: bool = False


def _request(scope: Scope, row: Row) -> None:
    """Check a request; one whose answer was erased keeps the checksum that it had with it."""
    if row[4] is None or row[5] is not None:
        rows.unsealed(scope, "request", row)


def _vector(scope: Scope, row: Row) -> None:
    """Check a vector; that something has none yet needs no checksum."""
    kind, number, model, packed, expected = row
    if (model, packed, expected) != (NONE, None, None) and not is_sound(scope, row):
        raise CorruptRecordError("vector", f"{kind} {number}")


def _in_conversation(read: Callable[[Scope, str, Row], object]) -> Callable[[Scope, Row], object]:
    return lambda scope, row: read(scope, row[0], row[1:])


_WALKS: dict[str, _Walk] = {
    "conversations": _Walk(read=rows.conversation_from, id_at=1),
    "messages": _Walk(read=_in_conversation(rows.message_from), id_at=2, has_conversation=True),
    "turns": _Walk(read=_in_conversation(turn_from), id_at=1, has_conversation=True),
    "archive_batches": _Walk(read=_in_conversation(rows.batch_from), id_at=1, has_conversation=True),
    "summaries": _Walk(read=_in_conversation(rows.summary_from), id_at=1, has_conversation=True),
    "memories": _Walk(read=knowledge_rows.memory_from),
    "memory_versions": _Walk(read=knowledge_rows.version_from),
    "notes": _Walk(read=knowledge_rows.note_from),
    "note_versions": _Walk(read=knowledge_rows.note_version_from),
    "preferences": _Walk(read=preferences.preferences_from),
    "jobs": _Walk(read=knowledge_rows.job_from),
    "requests": _Walk(read=_request),
    "vectors": _Walk(read=_vector, id_at=1),
    "usage": _Walk(read=usage.entry_from),
    "api_keys": _Walk(read=keys.key_from),
}
#: The tables whose rows carry a checksum.
SEALED = tuple(_WALKS)


class Verifier:
    """Walk the tables of one snapshot; `totals` says how many rows each has, for the progress only."""

    def __init__(self, snapshot: Snapshot, totals: Mapping[str, int], progress: Progress = unseen) -> None:
        self._snapshot = snapshot
        self._totals = totals
        self._progress = progress
        self._sources: dict[Owner, int] = defaultdict(int)
        self._repeats: dict[Owner, int] = defaultdict(int)

    def damage(self) -> Iterator[Damage]:
        """Give everything that is wrong with the rows."""
        for table in _WALKS:
            yield from self.checksums(table)
        yield from self.sources()
        yield from self.repeats()
        yield from self.counters()
        yield from self.strays()

    def checksums(self, table: str) -> Iterator[Damage]:
        """Give the rows of a table that do not match their checksums."""
        walk = _WALKS[table]
        for owner, row in self._rows(table):
            problem = self._problem(table, walk, owner, row)
            if problem is not None:
                yield problem

    def _problem(self, table: str, walk: _Walk, owner: Owner, row: Row) -> Damage | None:
        record = (*owner, row[walk.id_at])
        if walk.has_conversation and row[0] is None:
            return _damaged(table, record, "belongs to no conversation of its user", "reference")
        try:
            value = walk.read(_scope(*owner), row)
        except (CorruptRecordError, InvalidInputError):
            return _damaged(table, record, "does not match its checksum")
        except (msgspec.MsgspecError, ValueError, TypeError):
            return _damaged(table, record, "matches its checksum but cannot be read")
        if table == "memories":
            self._cite(owner, value)
        elif table == "messages":
            self._repeat(owner, value)
        return None

    def _cite(self, owner: Owner, memory: Any) -> None:
        for source in memory.sources:
            self._sources[owner] += hash((source.conversation_id, source.message_id, memory.id))

    def sources(self) -> Iterator[Damage]:
        """Give the users whose memories cite other messages than the table says that erasing follows.

        The sums of both sides are compared, so that the walk needs no memory of its own; run after `checksums`.
        """
        for owner, row in self._rows("memory_sources"):
            self._sources[owner] -= hash(row)
        for owner, difference in self._sources.items():
            if difference:
                yield _damaged("memory_sources", owner, "differs from what the memories cite", "reference")

    def _repeat(self, owner: Owner, message: Any) -> None:
        for source in repeated_by(message):
            place = (source.conversation_id, source.id, message.conversation_id, message.id, message.seq)
            self._repeats[owner] += hash(place)

    def repeats(self) -> Iterator[Damage]:
        """Give the users whose replies repeat other sources than the table says that erasing follows, as above."""
        for owner, row in self._rows("repeats"):
            self._repeats[owner] -= hash(row)
        for owner, difference in self._repeats.items():
            if difference:
                yield _damaged("repeats", owner, "differs from what the replies repeat", "reference")

    def counters(self) -> Iterator[Damage]:
        """Give the conversations that say something wrong about their messages."""
        for owner, row in self._rows("counters"):
            i, count, next_seq, extracted, head, counted, last, has_head = row
            if not all(isinstance(number, int) for number in (count, next_seq, extracted)):
                continue  # the checksum has told so
            wrong = []
            if count != counted:
                wrong.append(f"counts {count} messages and has {counted}")
            if (last or 0) >= next_seq:
                wrong.append(f"would give out seq {next_seq} and has {last}")
            if extracted >= next_seq:
                wrong.append(f"claims to be extracted to {extracted} and ends before {next_seq}")
            if head is not None and not has_head and not self._is_summarised(owner, i, head):
                wrong.append("has a head that is none of its messages")
            if wrong:
                yield _damaged("conversations", (*owner, i), "; ".join(wrong), "counter")

    def strays(self) -> Iterator[Damage]:
        """Give the vectors of texts that are not there."""
        for owner, (kind, number) in self._rows("stray_vectors"):
            yield _damaged("vectors", (*owner, kind, number), f"has no {kind}", "reference")

    def _is_summarised(self, owner: Owner, conversation_id: str, message_id: str) -> bool:
        scope = {"tenant": owner[0], "user": owner[1]}
        found = self._snapshot.all("find_conversation", **scope, id=conversation_id)
        texts = self._snapshot.all("summarised_ids", **scope, conversation=found[0][0]) if found else []
        try:
            return any(message_id in msgspec.json.decode(text) for (text,) in texts if text)
        except msgspec.MsgspecError:
            return False

    def _rows(self, table: str) -> Iterator[tuple[Owner, Row]]:
        """Give each row with its owner."""
        total, done = self._totals.get("conversations" if table == "counters" else table, 0), 0
        for row in self._snapshot.walk(f"walk_{table}"):
            if done % PAGE == 0:
                self._progress(table, done, max(done, total))
            done += 1
            yield (row[0], row[1]), row[2:]
        self._progress(table, done, done)


@lru_cache(maxsize=1_024)
def _scope(tenant: str, user: str) -> Scope:
    return Scope(tenant, user)


def _damaged(table: str, record: tuple[Any, ...], problem: str, kind: Kind = "row") -> Damage:
    return Damage(kind=kind, table=table, record="/".join(str(part) for part in record), problem=problem)
