"""One Postgres transaction: named queries, the scope that row security enforces, the search index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from recollect.domain.scope import Scope
from recollect.domain.terms import terms
from recollect.domain.vector import Vector
from recollect.storage.driver import Row, Weigh
from recollect.storage.postgres_connection import PostgresConnection
from recollect.storage.postgres_packages import psycopg
from recollect.storage.postgres_vectors import pack, unpack

#: Everything sees what was committed before each statement, and locks what it is about to change.
WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED"
#: Everything sees one snapshot, which costs nothing to end.
READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

#: How many statements open a transaction.
_OPENING = 2

#: A command and its values.
Statement = tuple[bytes, dict[str, Any]]


class PostgresTransaction:
    """Named queries on one connection.

    What nobody waits for (the start, the scope, the search index) is sent with the next statement or the commit,
    so that it costs no round trip.
    """

    def __init__(
        self,
        connection: PostgresConnection,
        queries: Mapping[str, bytes],
        salt: bytes,
        scope: Scope | None,
        *,
        writes: bool,
    ) -> None:
        self.salt = salt
        #: Whether the commit was sent, so that a lost connection leaves its outcome open.
        self.is_committing = False
        self._connection = connection
        self._cursor = connection.cursor()
        self._queries = queries
        self._opening: psycopg.Cursor[Row] | None = None
        values = {"tenant": "", "user": ""} if scope is None else {"tenant": scope.tenant, "user": scope.user}
        # Looking for jobs mostly finds none; with an id even that would have to be written to the disk.
        self._has_id = writes and scope is not None
        enter = queries["set_scope_to_write" if self._has_id else "set_scope"]
        self._ahead: list[Statement] = [(WRITE if writes else READ, {}), (enter, values)]
        self._indexed: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self._unindexed: dict[tuple[str, str], list[int]] = {}

    @property
    def transaction_id(self) -> str | None:
        """The id of a transaction that writes in a scope, known since its first statement."""
        row = self._opening.fetchone() if self._has_id and self._opening is not None else None
        return None if row is None else str(row[-1])

    def _execute(self, sql: bytes, values: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        if not self._ahead:
            return self._cursor.execute(sql, values)
        with self._connection.pipeline():
            sent = self._send_ahead()
            self._cursor.execute(sql, values)
        # The first to be sent are the start and the scope.
        self._opening = self._opening or sent[:_OPENING][-1]
        return self._cursor

    def _send_ahead(self) -> list[psycopg.Cursor[Row]]:
        """Send what waits, inside a pipeline."""
        ahead, self._ahead = self._ahead, []
        return [self._connection.execute(first, given) for first, given in ahead]

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""
        return self._execute(self._queries[query], values).fetchall()

    def one(self, query: str, /, **values: Any) -> Row | None:
        """Return the first row of the query, or None."""
        return self._execute(self._queries[query], values).fetchone()

    def run(self, query: str, /, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        return self._execute(self._queries[query], values).rowcount

    def send(self, query: str, /, **values: Any) -> None:
        """Run a statement with the next one or with the commit."""
        self._ahead.append((self._queries[query], values))

    def insert(self, query: str, /, **values: Any) -> int:
        """Insert one row and return the number the table gave it."""
        row = self._execute(_returning(self._queries[query]), values).fetchone()
        assert row is not None  # these inserts have no ON CONFLICT
        return int(row[0])

    def enter(self, scope: Scope) -> None:
        """Bind the rest of the transaction to this scope."""
        self._ahead.append((self._queries["set_scope"], {"tenant": scope.tenant, "user": scope.user}))

    def ids(self, values: Iterable[str] | Iterable[int]) -> list[str] | list[int]:
        """Return the values as a list, which becomes an array."""
        return list(values)  # type: ignore[return-value]  # one list for either kind

    def index(self, scope: Scope, number: int, content: str) -> None:
        """Index the message's terms with the commit."""
        digests = term_digests(self.salt, scope, terms(content))
        if digests:
            listed = "{" + ",".join(map(str, digests)) + "}"
            self._indexed.setdefault((scope.tenant, scope.user), []).append((number, listed))

    def unindex(self, scope: Scope, number: int, content: str | None) -> None:
        """Take the message's terms out of the index with the commit."""
        self._unindexed.setdefault((scope.tenant, scope.user), []).append(number)

    def matching(self, scope: Scope, wanted: Sequence[str]) -> dict[int, int]:
        """Count, for each message of the user that holds one, the wanted terms it holds."""
        digests = term_digests(self.salt, scope, list(dict.fromkeys(wanted)))
        return dict(self.all("matching_messages", ids=digests))

    def best(
        self, scope: Scope, wanted: Sequence[str], weigh: Weigh, step: int
    ) -> tuple[list[int], Iterator[list[int]]]:
        """Let the server look up and add up."""
        digests = term_digests(self.salt, scope, wanted)
        frequencies = [count for (count,) in self.all("term_frequencies", ids=digests)]
        return frequencies, self._pages("best_matching", step, ids=digests, weights=weigh(frequencies))

    def nearest(self, scope: Scope, vector: Vector, step: int) -> Iterator[list[int]]:
        """Let the server compare."""
        values = {"tenant": scope.tenant, "user": scope.user, "model": vector.model}
        return self._pages("nearest_vectors", step, vector=self.packed(vector.values), **values)

    def _pages(self, query: str, step: int, **values: Any) -> Iterator[list[int]]:
        skip = 0
        while found := self.all(query, **values, limit=step, skip=skip):
            yield [number for (number,) in found]
            skip += len(found)

    def packed(self, values: bytes) -> bytes:
        """Return the values in the order of bytes that the server has, after their number."""
        return pack(values)

    def unpacked(self, packed: bytes) -> bytes:
        """Return the values in our order of bytes."""
        return unpack(packed)

    def commit(self) -> None:
        """Write the search index and commit, in one round trip."""
        if self._opening is None and len(self._ahead) <= _OPENING:
            return
        self.is_committing = True
        changes = self._index_changes()
        if changes or self._ahead:
            with self._connection.pipeline():
                self._send_ahead()
                for sql, values in changes:
                    self._connection.execute(sql, values)
                self._cursor.execute("COMMIT", prepare=False)
        else:
            self._cursor.execute("COMMIT", prepare=False)
        if self._cursor.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction("a statement failed, so nothing was committed")

    def _index_changes(self) -> list[Statement]:
        changes: list[Statement] = []
        for (tenant, user), added in self._indexed.items():
            numbers, listed = zip(*added, strict=True)
            values = {"tenant": tenant, "user": user, "numbers": list(numbers), "terms": list(listed)}
            changes.append((self._queries["index_messages"], values))
        for (tenant, user), removed in self._unindexed.items():
            values = {"tenant": tenant, "user": user, "ids": removed}
            changes.append((self._queries["unindex_messages"], values))
        return changes


@lru_cache(maxsize=512)
def _returning(sql: bytes) -> bytes:
    return sql + b" RETURNING number"


@lru_cache(maxsize=4096)
def _term_key(salt: bytes, tenant: str, user: str) -> bytes:
    return hashlib.blake2b(f"{len(tenant)} {tenant} {user}".encode(), key=salt, digest_size=32).digest()


def term_digests(salt: bytes, scope: Scope, found: Sequence[str]) -> list[int]:
    """Return what stands for each term of this user in the index, and for nobody else's."""
    key = _term_key(salt, scope.tenant, scope.user)
    blake2b = hashlib.blake2b
    return [
        int.from_bytes(blake2b(term.encode(), key=key, digest_size=8).digest(), "little", signed=True) for term in found
    ]
