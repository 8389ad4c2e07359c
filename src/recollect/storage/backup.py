"""Copy a SQLite file, consistent while others write to it, into one file that can prove itself whole.

The copy carries a manifest in its `meta` table: a digest of every table, so that any bit that changes later is
noticed before the backup is trusted. Pages are copied from one snapshot, so a turn is in it whole or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from recollect.errors import StorageError
from recollect.storage import verify_sqlite
from recollect.storage.maintenance import BackupReport, Manifest, TableDigest
from recollect.storage.migrations.sqlite import status as schema_status
from recollect.storage.sqlite_connection import our_errors
from recollect.storage.sqlite_reading import COMPANIONS, SqliteSnapshot, beside, count_rows, open_file, snapshot
from recollect.storage.verify import SEALED, Damage, Progress, Verifier

#: Pages copied between two looks at the progress.
STEP = 1_000
#: Rows digested at a time.
ROWS = 1_000
MANIFEST = "backup"
#: What reading a backup can raise, which is never written, so that whatever it is, another backup is the answer.
_UNREADABLE = (apsw.Error, UnicodeDecodeError)


def back_up(database: Path, file: Path, *, force: bool, progress: Progress) -> BackupReport:
    """Write the backup; it has its name only once it is whole, durable and verified."""
    if file.exists() and database.exists() and file.samefile(database):
        raise StorageError(f"{file} is the database itself; give the backup another name")
    refuse_existing(file, force=force)
    blame = f"{database} is damaged, so no backup of it was made; run `recollect db check`"
    with written_alone(file) as partial, our_errors():
        copy(database, partial, progress)
        try:
            manifest = _seal(partial, progress)
        except verify_sqlite.UNREADABLE as exc:
            raise StorageError(f"{blame} ({type(exc).__name__})") from exc
        damage = verified(partial, manifest, progress, blame)
        publish(partial, file, force=force)
    return BackupReport(file=str(file), size=file.stat().st_size, manifest=manifest, damage=damage)


def refuse_existing(file: Path, *, force: bool) -> None:
    """Raise before an existing file would be lost."""
    if file.is_dir():
        raise StorageError(f"{file} is a folder; name a file in it")
    if file.exists() and not force:
        raise StorageError(f"{file} exists; choose another name or pass --force to replace it")


@contextmanager
def written_alone(file: Path) -> Iterator[Path]:
    """Give the unfinished file, empty, for this process alone and readable by nobody else; it does not stay."""
    partial = beside(file, ".partial")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.fstat(descriptor).st_ino == partial.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        if not is_ours:
            raise StorageError(f"another backup to {file} is being written; wait for it to end")
        os.ftruncate(descriptor, 0)
        try:
            yield partial
        finally:
            for leftover in (partial, *(beside(partial, suffix) for suffix in COMPANIONS)):
                leftover.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def publish(partial: Path, file: Path, *, force: bool) -> None:
    """Give a finished file its name, durably."""
    sync(partial)
    refuse_existing(file, force=force)
    partial.replace(file)
    sync(file.parent)


def copy(database: Path, to: Path, progress: Progress) -> None:
    """Copy every page of one snapshot of the file; writers go on meanwhile."""
    with snapshot(database) as source:
        if schema_status(source).current == 0:
            raise StorageError(f"{database} holds no tables of Recollect; nothing was backed up")
        target = apsw.Connection(str(to))
        try:
            # Nobody trusts the copy before it is synced whole, so it needs no journal of its own.
            target.pragma("journal_mode", "off")
            target.pragma("synchronous", "off")
            with target.backup("main", source, "main") as pages:
                while not pages.done:
                    pages.step(STEP)
                    progress("copy", pages.page_count - pages.remaining, pages.page_count)
        finally:
            target.close(True)


def _seal(file: Path, progress: Progress) -> Manifest:
    """Make the copy a file of its own, without a WAL, and write its manifest into it."""
    connection = open_file(file)
    try:
        connection.pragma("synchronous", "off")
        connection.pragma("journal_mode", "delete")
        manifest = Manifest(
            dialect="sqlite",
            schema=schema_status(connection).current,
            made_at=datetime.now(UTC),
            tables=digests(connection, progress),
        )
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MANIFEST, msgspec.json.encode(manifest)))
    finally:
        connection.close(True)
    return manifest


def digests(connection: apsw.Connection, progress: Progress) -> dict[str, TableDigest]:
    """Return what every table holds, the schema and the tables of the search index among them."""
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    ).fetchall()
    names = [str(name) for (name,) in found]
    totals = count_rows(connection, tuple(names))
    total, done = sum(totals.values()), 0
    result = {"sqlite_schema": _digest(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 2, 1")}
    for name in names:
        progress("digest", done, total)
        result[name] = _digest(connection, _every_row(connection, name))
        done += totals[name]
    progress("digest", total, total)
    return result


def _every_row(connection: apsw.Connection, table: str) -> str:
    """Return a query for the rows of a table.

    Text comes as bytes, since damaged text may not be text any more, and bytes as text, so that no type is mistaken.
    """
    columns = [f'"{row[1]}"' for row in connection.execute(f'PRAGMA table_info("{table}")')]
    exact = [
        f"CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) WHEN 'blob' THEN hex({c}) ELSE {c} END" for c in columns
    ]
    other = f"WHERE name <> '{MANIFEST}'" if table == "meta" else ""
    return f'SELECT {", ".join(exact)} FROM "{table}" {other}'


def _digest(connection: apsw.Connection, query: str) -> TableDigest:
    sha, rows = hashlib.sha256(), 0
    pack = msgspec.msgpack.Encoder().encode
    for row in connection.execute(query):
        sha.update(pack(row))
        rows += 1
    return TableDigest(rows=rows, sha256=sha.hexdigest())


def read_manifest(file: Path) -> Manifest:
    """Return what a backup says of itself, or raise for a file that is none."""
    if not file.is_file():
        raise StorageError(f"there is no file {file}")
    try:
        value = _manifest_value(file)
    except apsw.NotADBError as exc:
        raise StorageError(f"{file} is not a backup of a SQLite database") from exc
    except _UNREADABLE as exc:
        raise StorageError(f"{file} is damaged ({type(exc).__name__}); use another backup") from exc
    if value is None:
        raise StorageError(
            f"{file} is not a backup; if it is a database of Recollect, "
            f"make one of it with `recollect db backup --database {file} FILE`"
        )
    try:
        return msgspec.json.decode(value, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        raise StorageError(f"{file} is damaged: its manifest cannot be read; use another backup") from exc


def _manifest_value(file: Path) -> bytes | None:
    connection = open_file(file, writable=False)
    try:
        if not count_rows(connection, ("meta",))["meta"]:
            return None
        found = connection.execute("SELECT CAST(value AS BLOB) FROM meta WHERE name = ?", (MANIFEST,)).fetchall()
    finally:
        connection.close(True)
    return found[0][0] if found and isinstance(found[0][0], bytes) else None


def verified(file: Path, manifest: Manifest, progress: Progress, blame: str) -> tuple[Damage, ...]:
    """Raise unless the file holds exactly what its manifest says; return the records that were damaged before.

    `blame` says what is damaged, and what to do, in terms of the files that a person knows.
    """
    try:
        connection = open_file(file, writable=False)
        try:
            found = list(verify_sqlite.file_damage(connection, progress))
            whole = int(str(connection.pragma("page_size"))) * int(str(connection.pragma("page_count")))
            if file.stat().st_size != whole:
                found = [Damage(kind="file", table="file", record="page", problem="is cut short")]
            if not found and digests(connection, progress) != manifest.tables:
                found = [Damage(kind="file", table="file", record="table", problem="differs from the manifest")]
            if found:
                raise StorageError(f"{blame} ({found[0].problem})")
            if schema_status(connection).is_ready:
                totals = count_rows(connection, (*SEALED, "memory_sources"))
                return tuple(Verifier(SqliteSnapshot(connection), totals, progress).damage())
        finally:
            connection.close(True)
    except _UNREADABLE as exc:
        raise StorageError(f"{blame} ({type(exc).__name__})") from exc
    return ()


def sync(path: Path) -> None:
    """Make a file or the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
