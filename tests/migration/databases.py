"""A database of each kind, as tests of backups see it: opened as a store, looked after, and read raw."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg

from recollect.domain.memory import MemoryChanges, Source
from recollect.domain.message import NewMessage
from recollect.ports.store import Store
from recollect.storage.maintenance import Maintenance
from recollect.storage.postgres import PostgresDriver
from recollect.storage.postgres_maintenance import PostgresMaintenance
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_maintenance import SqliteMaintenance
from recollect.storage.store import SqlStore
from recollect.storage.verify import unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, BOB, after

Rows = dict[str, list[tuple[Any, ...]]]
#: Not what anybody stored: how far the index is, and when a schema step was done.
VOLATILE = {"schema_migrations"}


class Database(Protocol):
    """What a test needs of one kind of database."""

    kind: str
    url: str

    @property
    def maintenance(self) -> Maintenance: ...

    def store(self) -> Any:
        """Open the store for a block of code."""

    def execute(self, sql: str) -> list[Any]:
        """Do to the database what nobody should."""

    def rows(self) -> Rows:
        """Read every row of every table of data, in order."""

    def schema(self) -> list[Any]:
        """Describe every table, index and rule."""


class SqliteDatabase:
    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    @property
    def maintenance(self) -> Maintenance:
        return SqliteMaintenance(self.path)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        opened = SqlStore(await SqliteDriver.open(self.path))
        try:
            yield opened
        finally:
            await opened.close()

    def content(self) -> bytes:
        return self.path.read_bytes()

    def execute(self, sql: str) -> list[Any]:
        """Do to the file what nobody should."""
        connection = apsw.Connection(str(self.path))
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def rows(self) -> Rows:
        return sqlite_rows(self.path)

    def schema(self) -> list[Any]:
        return self.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")


class PostgresDatabase:
    kind = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def maintenance(self) -> Maintenance:
        return PostgresMaintenance(self.url)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        opened = SqlStore(await PostgresDriver.open(self.url))
        try:
            yield opened
        finally:
            await opened.close()

    def execute(self, sql: str) -> list[Any]:
        """Do to the database what nobody should."""
        return self._results([sql])[0]

    def _results(self, queries: Sequence[str]) -> list[list[Any]]:
        with psycopg.connect(self.url, options="-c search_path=recollect") as connection:
            cursors = [connection.execute(query.encode()) for query in queries]
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def rows(self) -> Rows:
        names = [name for (name,) in self.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")]
        wanted = [name for name in names if not name.startswith("message_terms") and name not in VOLATILE]
        found = self._results([f"SELECT * FROM {name}" for name in wanted])
        rows = {name: sorted(rows, key=repr) for name, rows in zip(wanted, found, strict=True)}
        # A sequence never goes back, so a replayed receipt has another number each time.
        return rows | {"audit": sorted((row[1:] for row in rows.get("audit", [])), key=repr)}

    def schema(self) -> list[Any]:
        return self._results(POSTGRES_SCHEMA)


POSTGRES_SCHEMA = (
    """SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable, column_default,
        identity_generation FROM information_schema.columns WHERE table_schema = 'recollect' ORDER BY 1, 2""",
    "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'recollect' ORDER BY 1, 2",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = to_regnamespace('recollect') ORDER BY 1, 2""",
    "SELECT tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2",
    """SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text, pg_get_userbyid(relowner) FROM pg_class
        WHERE relnamespace = to_regnamespace('recollect') ORDER BY 1""",
    """SELECT proname, pg_get_functiondef(oid), proacl::text, pg_get_userbyid(proowner) FROM pg_proc
        WHERE pronamespace = to_regnamespace('recollect') ORDER BY 1""",
)


def sqlite_rows(path: Path) -> Rows:
    """Read every row of a file, without the tables that belong to the index."""
    connection = apsw.Connection(str(path))
    try:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        wanted = [name for name in names if not name.startswith("message_terms") and name not in VOLATILE]
        found = {name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in wanted}
    finally:
        connection.close()
    found["meta"] = [row for row in found.get("meta", []) if row[0] == "salt"]
    return found


async def fill(store: Store) -> None:
    """Store something of every kind, for two users."""
    for scope in (ALICE, BOB):
        appended = sample.append("c1", "m1", sample.message("m2", role="assistant"), jobs=(sample.job("j1"),))
        told = sample.context_record()
        await store.record_turn(scope, sample.turn("t1", appended, context=told, answer=sample.answer()))
        await store.append(scope, sample.append("c1", "m3", "m4", "m5"))
        await store.archive(scope, sample.batch("b1", "c2", "n1", "n2"))
        await store.put_summary(scope, sample.summary("s1", "m1", "m2"))
        learned = sample.memory("y1", origin="user", quote="words of m1", sources=(Source("c1", "m1"),))
        shared = sample.memory("y2", origin="user", sources=(Source("c1", "m1"), Source("c2", "n1")))
        await store.add_memories(scope, (learned, shared, sample.memory("y3")))
        await store.change_memory(scope, "y3", MemoryChanges(at=after(1), importance=0.9))
        await store.change_note(scope, sample.note("append", "# Work\nlikes tea"))
        await store.change_preferences(scope, sample.preferences(instructions="Be brief."))
        await store.record_usage(scope, sample.usage("u1", conversation_id="c2", job_id="j1"))
        await store.erase_message(scope, "c1", "m5", sample.erasure("r1"))


def big(count: int) -> tuple[NewMessage, ...]:
    """Return this many messages."""
    return tuple(sample.message(f"big-{number}", f"words of message {number} " * 20) for number in range(count))


def problems(database: Database) -> list[str]:
    """Return all that is wrong with a database."""
    found = database.maintenance.check(repair=False, progress=unseen)
    return [f"{one.table} {one.record} {one.problem}" for one in found]
