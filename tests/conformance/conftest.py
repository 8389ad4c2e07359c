"""The store that the conformance suite runs on: one fixture, every backend."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from psycopg import Connection, sql

from recollect.bootstrap import new_id, system_clock
from recollect.cache.local import LocalWindows
from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits
from recollect.ports.store import Store
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.sync import BlockingOwner
from recollect.testing.store.closing import Reopen
from tests.support.servers import PostgresAddress

#: The backends whose data outlive the process.
DURABLE = ("sqlite", "postgres", "sync", "sqlite-windows", "postgres-redis")
#: A conversation that stays in the cache, and a Redis that may be slow on a busy machine.
IDLE = timedelta(hours=24)
PATIENT = RedisLimits(timeout=timedelta(seconds=30))
#: Open the store of one test, or open it again.
Opener = Callable[[], Awaitable[Store]]


class ThroughSync:
    """A store whose every call goes through the blocking facade, in a thread of the caller's."""

    def __init__(self, facade: BlockingOwner) -> None:
        self._facade = facade

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        blocking = getattr(self._facade, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(blocking, *args, **kwargs)

        return call


async def open_sqlite(path: str | Path) -> Store:
    return SqlStore(await SqliteDriver.open(path))


async def open_postgres(url: str) -> Store:
    from recollect.storage.postgres import PostgresDriver

    return SqlStore(await PostgresDriver.open(url))


async def open_sqlite_with_windows(path: str | Path) -> Store:
    driver = await SqliteDriver.open(path)
    windows = LocalWindows(mark=driver.mark, clock=system_clock, max_conversations=1_000, idle=IDLE)
    return SqlStore(driver, windows)


async def open_postgres_with_redis(url: str, redis: str) -> Store:
    from recollect.storage.postgres import PostgresDriver

    windows = RedisWindows(redis, idle=IDLE, new_id=new_id, limits=PATIENT)
    return SqlStore(await PostgresDriver.open(url), windows)


async def open_through_sync(path: Path) -> Store:
    return cast("Store", ThroughSync(await asyncio.to_thread(BlockingOwner.open, open_sqlite, path)))


async def open_in_memory() -> Store:
    return InMemoryStore()


@pytest.fixture(scope="session")
def migrated_postgres(shared_postgres: PostgresAddress) -> Iterator[Connection]:
    """Connect to a database of this worker's with all tables; to empty it is quicker than to make another."""

    async def migrate(url: str) -> None:
        await (await open_postgres(url)).close()

    name = f"conformance_{uuid.uuid4().hex}"
    url = shared_postgres.create_database(name)
    asyncio.run(migrate(url))
    with Connection.connect(url, autocommit=True) as connection:
        # The tables are emptied in any order.
        connection.execute("SET session_replication_role = replica")
        yield connection
    shared_postgres.drop_database(name)


@pytest.fixture(scope="session")
def emptying(migrated_postgres: Connection) -> str:
    """Return the statements that empty every table that a migration leaves empty."""
    ours = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)'"
    tables = [sql.Identifier(*names) for names in migrated_postgres.execute(ours).fetchall()]
    empty = [
        table
        for table in tables
        if migrated_postgres.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(table)).fetchone() is None
    ]
    deletes = [sql.SQL("DELETE FROM {}").format(table) for table in empty]
    return sql.SQL("; ").join(deletes).as_string(migrated_postgres)


@pytest.fixture
def empty_postgres_url(migrated_postgres: Connection, emptying: str, shared_postgres: PostgresAddress) -> str:
    """Give the address of a database with all tables and no rows."""
    migrated_postgres.execute(emptying.encode())
    return shared_postgres.url(migrated_postgres.info.dbname)


@pytest.fixture(params=["inmemory", "sqlite", "sqlite-memory", "postgres", "sync", "sqlite-windows", "postgres-redis"])
def backend(request: pytest.FixtureRequest) -> str:
    """Name the backend."""
    name: str = request.param
    return name


@pytest.fixture
def opener(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Choose how the store of this test is opened."""
    if backend == "postgres":
        url: str = request.getfixturevalue("empty_postgres_url")
        return lambda: open_postgres(url)
    if backend == "postgres-redis":
        address: str = request.getfixturevalue("empty_postgres_url")
        redis: str = request.getfixturevalue("redis_url")
        return lambda: open_postgres_with_redis(address, redis)
    openers: dict[str, Opener] = {
        "inmemory": open_in_memory,
        "sqlite": lambda: open_sqlite(tmp_path / "store.db"),
        "sqlite-memory": lambda: open_sqlite(":memory:"),
        "sqlite-windows": lambda: open_sqlite_with_windows(tmp_path / "store.db"),
        "sync": lambda: open_through_sync(tmp_path / "store.db"),
    }
    return openers[backend]


@pytest.fixture
async def store(opener: Opener) -> AsyncIterator[Store]:
    """Give an empty store."""
    opened = await opener()
    yield opened
    await opened.close()


@pytest.fixture
async def reopen(opener: Opener) -> AsyncIterator[Reopen]:
    """Close a store and open what it kept."""
    opened: list[Store] = []

    async def again(store: Store) -> Store:
        await store.close()
        opened.append(await opener())
        return opened[-1]

    yield again
    for one in opened:
        await one.close()
