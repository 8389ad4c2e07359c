"""Check what only SQLite has: pages, references and the index of terms; rebuild that index."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import apsw

from recollect.domain.terms import terms
from recollect.storage.sqlite_connection import user_mark
from recollect.storage.sqlite_reading import SqliteSnapshot, count_rows, salted
from recollect.storage.verify import PAGE, SEALED, Damage, Kind, Progress, Verifier

#: More would bury what matters; the first ones name the place.
MOST_FINDINGS = 100
_MASK = 2**64 - 1
#: What reading a damaged file can raise; a name in it may not even be text any more.
UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError)


def damage(connection: apsw.Connection, progress: Progress) -> Iterator[Damage]:
    """Give everything that is wrong with one snapshot of a file of the current schema."""
    found = list(file_damage(connection, progress))
    yield from found
    if found:
        return
    yield from reference_damage(connection, progress)
    totals = count_rows(connection, (*SEALED, "memory_sources"))
    snapshot = SqliteSnapshot(connection)
    yield from Verifier(snapshot, totals, progress).damage()
    yield from index_damage(snapshot, totals["messages"], progress)


def file_damage(connection: apsw.Connection, progress: Progress) -> Iterator[Damage]:
    """Give what SQLite finds wrong with the pages, the indexes and the structure of the search index."""
    progress("file", 0, 1)
    try:
        for (text,) in connection.execute(f"PRAGMA integrity_check({MOST_FINDINGS})"):
            if text != "ok":
                kind: Kind = "index" if str(text).startswith("fts5") else "file"
                yield Damage(kind=kind, table="file", record="page", problem=str(text))
    except UNREADABLE as exc:
        yield Damage(kind="file", table="file", record="page", problem=f"cannot be read on ({type(exc).__name__})")
    progress("file", 1, 1)


def reference_damage(connection: apsw.Connection, progress: Progress) -> Iterator[Damage]:
    """Give the rows that point to rows which are not there."""
    progress("references", 0, 1)
    for index, (table, number, parent, _) in enumerate(connection.execute("PRAGMA foreign_key_check")):
        if index == MOST_FINDINGS:
            break
        yield Damage(kind="reference", table=str(table), record=f"number {number}", problem=f"has no {parent}")
    progress("references", 1, 1)


def index_damage(snapshot: SqliteSnapshot, messages: int, progress: Progress) -> Iterator[Damage]:
    """Give the messages that are not found by exactly their terms, and entries of messages that are gone.

    Sums of hashes stand for the sets of terms, so that a large file needs a few bytes for each message.
    """
    marks = snapshot.all("indexed_to")
    if not marks:
        yield _misindexed("index", "does not say how far it goes")
        return
    indexed_to = int(marks[0][0])
    sums, present = array("Q", bytes(8 * (indexed_to + 1))), bytearray(indexed_to + 1)
    for number, wanted in _indexed_texts(snapshot, 2 * messages, progress):
        if number > indexed_to:
            break
        sums[number] = sum(map(hash, wanted)) & _MASK
        present[number] = 1
    try:
        strays = _subtract_indexed(snapshot.connection, sums)
    except apsw.CorruptError:
        yield _misindexed("index", "cannot be read on")
        return
    if strays:
        yield _misindexed("index", f"holds {strays} entries of no message")
    wrong = [number for number, rest in enumerate(sums) if rest]
    for number in wrong[:MOST_FINDINGS]:
        problem = "is not found by exactly its words" if present[number] else "is gone but its words are indexed"
        yield _misindexed(f"number {number}", problem)
    progress("index", 2 * messages, 2 * messages)


def _subtract_indexed(connection: apsw.Connection, sums: array[int]) -> int:
    """Take what is indexed from the sums; return how many entries belong to no message that is indexed."""
    connection.pragma("query_only", "off")
    connection.execute("CREATE VIRTUAL TABLE temp.indexed_terms USING fts5vocab(main, message_terms, instance)")
    connection.pragma("query_only", "on")
    strays, bare = 0, len(user_mark("", ""))
    for raw, number in connection.execute("SELECT CAST(term AS BLOB), doc FROM temp.indexed_terms"):
        term = str(raw, errors="replace")
        if not isinstance(number, int) or not 0 <= number < len(sums):
            strays += 1
        elif len(term) != bare:  # a message without words is indexed by the bare mark of its user
            sums[number] = (sums[number] - hash(term)) & _MASK
    return strays


def _misindexed(record: str, problem: str) -> Damage:
    return Damage(kind="index", table="message_terms", record=record, problem=problem)


def _indexed_texts(
    snapshot: SqliteSnapshot, total: int, progress: Progress, what: str = "index"
) -> Iterator[tuple[int, list[str]]]:
    """Give the number and the indexed terms of each message."""
    for done, (tenant, user, number, content) in enumerate(snapshot.walk("walk_texts")):
        if done % PAGE == 0:
            progress(what, done, total)
        mark = user_mark(tenant, user)
        yield number, [mark + term for term in terms(content)] if isinstance(content, str) else []


def rebuild_index(connection: apsw.Connection, progress: Progress) -> None:
    """Index every message again, in one transaction; the words of erased messages are overwritten."""
    tx = salted(connection)
    total = count_rows(connection, ("messages",))["messages"]
    with connection:
        connection.execute("INSERT INTO message_terms (message_terms) VALUES ('delete-all')")
        for number, wanted in _indexed_texts(SqliteSnapshot(connection), total, progress, "rebuild the index"):
            tx.run("index_message", number=number, terms=" ".join(wanted))
        tx.run("move_indexed_to")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
