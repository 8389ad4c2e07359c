"""Look at a SQLite file without changing it, whoever else has it open, or have it alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from recollect.errors import StorageError
from recollect.storage.driver import Row
from recollect.storage.maintenance import COUNTED, DatabaseStatus
from recollect.storage.migrations.sqlite import read_salt
from recollect.storage.migrations.sqlite import status as schema_status
from recollect.storage.queries import load_queries
from recollect.storage.sqlite_connection import SqliteTransaction, our_errors
from recollect.storage.sqlite_lock import FileLock

#: What SQLite keeps beside the file while it is in use.
COMPANIONS = ("-wal", "-shm", "-journal")
#: What our commands may leave beside it.
LEFTOVERS = (".restoring", ".before-restore")

_PRAGMAS = (("query_only", "on"), ("trusted_schema", "off"), ("cell_size_check", "on"), ("temp_store", "memory"))


def beside(path: Path, suffix: str) -> Path:
    """Name the file beside a database that has this suffix."""
    return path.with_name(path.name + suffix)


def require_file(path: Path) -> None:
    """Raise unless there is a database file."""
    if not path.is_file():
        raise StorageError(f"there is no database at {path}; `recollect serve` or `recollect db migrate` creates one")


def open_file(path: Path, *, writable: bool = True) -> apsw.Connection:
    """Open an existing file as it is."""
    flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOMUTEX)
    connection.set_busy_timeout(5_000)
    return connection


@contextmanager
def snapshot(path: Path) -> Iterator[apsw.Connection]:
    """Give a connection that sees the file as it is now until the end; writers go on beside it.

    Takes a place among the users of the file, so that nobody restores or migrates it meanwhile.
    """
    require_file(path)
    lock = FileLock.shared(path)
    try:
        with our_errors():
            connection = open_file(path)
            try:
                for name, value in _PRAGMAS:
                    connection.pragma(name, value)
                connection.execute("BEGIN")
                connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
                yield connection
            finally:
                connection.close(True)
    finally:
        lock.release()


@contextmanager
def alone(path: Path) -> Iterator[Path]:
    """Give the real path of the file, which no other process can open until the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        # Whoever opens the file through a link takes the lock beside the link.
        for name in dict.fromkeys((path, path.resolve())):
            held.callback(FileLock.exclusive(name).release)
        yield path.resolve()


def count_rows(connection: apsw.Connection, tables: tuple[str, ...]) -> dict[str, int]:
    """Count the rows of these tables; one that does not exist has none."""
    found = {}
    for table in tables:
        known = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchall()
        rows = connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchall() if known else [(0,)]
        found[table] = int(str(rows[0][0]))
    return found


class SqliteSnapshot:
    """Named queries on a connection that sees one moment of the file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._queries = load_queries("sqlite")

    def walk(self, query: str) -> Iterator[Row]:
        """Give the rows one by one; once text is found that is not UTF-8 any more, go on with its bytes replaced."""
        sql, done = self._queries[query], 0
        try:
            for row in self.connection.execute(sql):
                yield row
                done += 1
        except UnicodeDecodeError:
            yield from islice(self._repaired(sql, {}), done, None)

    def _repaired(self, sql: str, values: dict[str, Any]) -> Iterator[Row]:
        columns = [f"c{number}" for number in range(len(self.connection.execute(sql, values).get_description()))]
        raw = ", ".join(f"iif(typeof({c}) = 'text', CAST({c} AS BLOB), {c}), typeof({c}) = 'text'" for c in columns)
        repaired = f"WITH found ({', '.join(columns)}) AS ({sql}) SELECT {raw} FROM found"
        for row in self.connection.execute(repaired, values):
            parts = zip(row[::2], row[1::2], strict=True)
            yield tuple(str(value, errors="replace") if is_text else value for value, is_text in parts)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""
        sql = self._queries[query]
        try:
            return self.connection.execute(sql, values).fetchall()
        except UnicodeDecodeError:
            return list(self._repaired(sql, values))


def salted(connection: apsw.Connection) -> SqliteTransaction:
    """Return named queries on a connection, with the file's salt."""
    return SqliteTransaction(connection, read_salt(connection))


def read_status(path: Path) -> DatabaseStatus:
    """Describe the file and what lies beside it."""
    left = tuple(str(beside(path, suffix)) for suffix in LEFTOVERS if beside(path, suffix).exists())
    if not path.is_file():
        return DatabaseStatus(database=str(path), leftovers=left)
    with snapshot(path) as connection:
        return DatabaseStatus(
            database=str(path),
            schema=schema_status(connection),
            size=sum(file.stat().st_size for file in (path, beside(path, "-wal")) if file.exists()),
            journal_mode=str(connection.pragma("journal_mode")),
            counts=count_rows(connection, COUNTED),
            leftovers=left,
        )
