"""One SQLite connection: how it is opened, how its errors become ours, how named queries run on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import apsw
import msgspec

from recollect.domain.scope import Scope
from recollect.domain.terms import terms
from recollect.domain.vector import Vector
from recollect.errors import ConflictError, StorageError, StorageUnavailableError
from recollect.storage.driver import Row, Weigh
from recollect.storage.queries import load_positional

#: One plain file, shared by readers and a writer.
OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX

PASSING = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
    apsw.ProtocolError,
    apsw.InterruptError,
    apsw.NoMemError,
    apsw.ConnectionClosedError,
)
DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


def translated(error: apsw.Error) -> StorageError | ConflictError:
    """Return our error for one of SQLite's; callers raise it from the original."""
    name = type(error).__name__
    if isinstance(error, PASSING):
        return StorageUnavailableError(f"the database file cannot be used right now ({name}); nothing was changed")
    if isinstance(error, apsw.NotADBError):
        return StorageError(
            "the file is no SQLite database, or its first bytes are damaged; name another file or restore a backup"
        )
    if isinstance(error, DAMAGED):
        return StorageError(f"the database file is damaged ({name}); run `recollect db check`")
    if isinstance(error, apsw.ConstraintError):
        return ConflictError(f"the database refused a row that contradicts another ({name})")
    return StorageError(f"SQLite failed: {name}")


def casts_doubt(error: BaseException | None) -> bool:
    """Tell whether a connection that met this error may know half of the file, or only read it."""
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ)
    return isinstance(error, apsw.ReadOnlyError)


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except apsw.Error as exc:
        raise translated(exc) from exc


def connect(path: str, *, vfs: str | None = None, busy_ms: int = 5_000, exclusive: bool = False) -> apsw.Connection:
    """Open the file with every safety on: WAL, a full sync at each commit, erased bytes overwritten.

    A new file can be read by nobody but its owner, and so can those that SQLite puts beside it.
    """
    if vfs is None and not path.startswith((":memory:", "file:")):
        _create_private(path)
    connection = apsw.Connection(path, flags=OPEN, vfs=vfs, statementcachesize=256)
    with closed_on_failure(connection):
        connection.set_busy_timeout(busy_ms)
        if exclusive:
            connection.pragma("locking_mode", "exclusive")
        for name, value in _PRAGMAS:
            connection.pragma(name, value)
        if path != ":memory:" and connection.pragma("journal_mode", "wal") != "wal":
            raise StorageUnavailableError("the file system does not support SQLite's WAL mode; use a local disk")
    return connection


def _create_private(path: str) -> None:
    # What keeps it from being created is found by SQLite, too, which tells it better.
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def can_write(path: str, vfs: str | None) -> bool:
    """Tell whether the file could be opened for writing now."""
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX, vfs=vfs)
    except apsw.Error:
        return False
    try:
        return not connection.readonly("main")
    finally:
        connection.close(True)


@contextmanager
def closed_on_failure(connection: apsw.Connection) -> Iterator[None]:
    """Close the connection if it cannot be set up: the error that tells so would keep it and its locks alive."""
    try:
        yield
    except BaseException:  # whatever stops the opening, the file must not stay locked
        connection.close(True)
        raise


_PRAGMAS = (
    ("synchronous", "full"),
    ("foreign_keys", "on"),
    ("secure_delete", "on"),
    ("trusted_schema", "off"),
    ("cell_size_check", "on"),
    ("temp_store", "memory"),
    ("cache_size", -32_768),
    # The writer checkpoints by itself after acknowledging, so that no commit waits for it or fails by it.
    ("wal_autocheckpoint", 0),
)


@lru_cache(maxsize=4096)
def user_mark(tenant: str, user: str) -> str:
    """Return what each indexed term of this user starts with."""
    raw = f"{len(tenant)} {tenant} {user}".encode()
    return hashlib.blake2b(raw, digest_size=5).hexdigest()


#: How many messages wait to be indexed together; search reads them one by one meanwhile.
INDEX_TOGETHER = 64


class SqliteTransaction:
    """Named queries on one connection; messages are indexed many at a time, just before a commit.

    FTS5 writes a segment at every savepoint and commit, so indexing each message by itself would cost more than
    storing it. Writers take turns, so numbers grow in the order of commits, and one mark tells what is indexed.
    """

    def __init__(self, connection: apsw.Connection, salt: bytes) -> None:
        self.connection = connection
        self.salt = salt
        self._execute = connection.execute
        self._queries = load_positional()
        #: Messages added since this connection last saw all indexed; at first it does not know of any.
        self._unindexed = INDEX_TOGETHER
        #: (query, number, terms) of messages that leave the index before the commit, or take the number of such a one.
        self._changes: list[tuple[str, int, str]] = []
        #: Numbers up to this one may be given again by a transaction that removes messages.
        self._freed = 0

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""
        sql, names = self._queries[query]
        bound = [values[name] for name in names]
        try:
            return self._execute(sql, bound).fetchall()
        except UnicodeDecodeError:
            return self._damaged_text(sql, bound)

    def one(self, query: str, /, **values: Any) -> Row | None:
        """Return the first row of the query, or None."""
        sql, names = self._queries[query]
        bound = [values[name] for name in names]
        try:
            found = self._execute(sql, bound).fetchall()
        except UnicodeDecodeError:
            found = self._damaged_text(sql, bound)
        return found[0] if found else None

    def _damaged_text(self, sql: str, bound: list[Any]) -> list[Row]:
        """Run a query again that found text which is no longer UTF-8; the checksums tell which rows are damaged."""
        columns = [f"c{number}" for number in range(len(self._execute(sql, bound).get_description()))]
        raw = ", ".join(f"iif(typeof({c}) = 'text', CAST({c} AS BLOB), {c}), typeof({c}) = 'text'" for c in columns)
        found = self._execute(f"WITH found ({', '.join(columns)}) AS ({sql}) SELECT {raw} FROM found", bound).fetchall()
        return [
            tuple(
                value.decode(errors="replace") if isinstance(value, bytes) and is_text else value
                for value, is_text in zip(row[::2], row[1::2], strict=True)
            )
            for row in found
        ]

    def run(self, query: str, /, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        sql, names = self._queries[query]
        self._execute(sql, [values[name] for name in names])
        return self.connection.changes()

    def send(self, query: str, /, **values: Any) -> None:
        """Run a statement at once."""
        sql, names = self._queries[query]
        self._execute(sql, [values[name] for name in names])

    def insert(self, query: str, /, **values: Any) -> int:
        """Insert one row and return the number the table gave it."""
        sql, names = self._queries[query]
        self._execute(sql, [values[name] for name in names])
        return self.connection.last_insert_rowid()

    def enter(self, scope: Scope) -> None:
        """Do nothing: every query names its scope, and the file has no other guard."""

    def ids(self, values: Iterable[str] | Iterable[int]) -> str:
        """Return the values as a JSON list, which queries read with json_each."""
        return msgspec.json.encode(list(values)).decode()

    def index(self, scope: Scope, number: int, content: str) -> None:
        """Count the message; it is indexed with others once there are enough."""
        self._unindexed += 1
        if number <= self._freed:
            self._changes.append(("index_message", number, _marked(scope.tenant, scope.user, content)))

    def unindex(self, scope: Scope, number: int, content: str | None) -> None:
        """Take the message's terms out of the index before the commit."""
        self._freed = max(self._freed, number)
        text = self._indexed_terms(scope, number) if content is None else _marked(scope.tenant, scope.user, content)
        self._changes.append(("unindex_message", number, text))

    def _indexed_terms(self, scope: Scope, number: int) -> str:
        """Look up what a message that was damaged since is indexed by."""
        mark = user_mark(scope.tenant, scope.user)
        self.run("open_vocabulary")
        found = self.all("indexed_terms", number=number, first=mark, last=f"{mark}\U0010ffff")
        self.run("close_vocabulary")
        return " ".join(term for (term,) in found)

    def mark(self) -> int:
        """Return a place to go back to if the work that follows is rolled back."""
        return len(self._changes)

    def back_to(self, mark: int) -> None:
        """Forget the index changes of work that was rolled back."""
        del self._changes[mark:]

    def write_index(self) -> None:
        """Bring the index up to date if enough messages wait, or if some must leave it."""
        if self._unindexed < INDEX_TOGETHER and not self._changes:
            return
        found = self.one("indexed_to")
        if found is None:
            self._go_on_unindexed()
            return
        # What leaves may be unindexed still, or gone from the table: only what was indexed is taken out.
        (indexed_to,) = found
        for query, number, text in self._changes:
            if number <= indexed_to:
                self.run(query, number=number, terms=text)
        waiting = self.all("unindexed_messages")
        sql, _ = self._queries["index_message"]
        self.connection.executemany(sql, [(n, _marked(t, u, content)) for n, t, u, content in waiting])
        self.run("move_indexed_to")
        self._changes.clear()
        self._freed = 0
        self._unindexed = 0

    def _go_on_unindexed(self) -> None:
        """Store on without the index, whose mark was damaged; but what must leave it cannot be left in it."""
        if self._changes:
            raise StorageError("the search index is damaged; stop the server, then run `recollect db check --repair`")
        self._unindexed = 0

    def matching(self, scope: Scope, wanted: Sequence[str]) -> dict[int, int]:
        """Count, for each message of the user that holds one, the wanted terms it holds."""
        counts: dict[int, int] = {}
        for holders in self._holders(scope, wanted):
            for number in holders:
                counts[number] = counts.get(number, 0) + 1
        return counts

    def _holders(self, scope: Scope, wanted: Sequence[str]) -> list[set[int]]:
        """Return, for each term, the messages of the user that hold it."""
        mark = user_mark(scope.tenant, scope.user)
        holders = {
            term: {number for (number,) in self.all("messages_with_term", term=f'"{mark}{term}"')} for term in wanted
        }
        for number, tenant, user, content in self.all("unindexed_messages"):
            if (tenant, user) == (scope.tenant, scope.user):
                for term in holders.keys() & _terms(content):
                    holders[term].add(number)
        return [holders[term] for term in wanted]

    def best(
        self, scope: Scope, wanted: Sequence[str], weigh: Weigh, step: int
    ) -> tuple[list[int], Iterator[list[int]]]:
        """Look up every term once, add up in this process."""
        holders = self._holders(scope, wanted)
        frequencies = [len(numbers) for numbers in holders]
        sums: dict[int, int] = {}
        for weight, numbers in zip(weigh(frequencies), holders, strict=True):
            for number in numbers:
                sums[number] = sums.get(number, 0) + weight
        ranked = sorted(sums, key=lambda number: (-sums[number], -number))
        return frequencies, (ranked[start : start + step] for start in range(0, len(ranked), step))

    def nearest(self, scope: Scope, vector: Vector, step: int) -> Iterator[list[int]]:
        """Compare all vectors of the user in this process."""
        from recollect.storage.sqlite_vectors import nearest  # brings numpy, which takes long to load

        return nearest(self, scope, vector, step)

    def packed(self, values: bytes) -> bytes:
        """Return the values as they are."""
        return values

    def unpacked(self, packed: bytes) -> bytes:
        """Return the values as they are."""
        return packed


def _marked(tenant: str, user: str, content: str) -> str:
    mark = user_mark(tenant, user)
    return mark + f" {mark}".join(_terms(content))


def _terms(content: object) -> list[str]:
    """Return the terms of stored text; text that was damaged may be no text any more."""
    return terms(content) if isinstance(content, str) else []
