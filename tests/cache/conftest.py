"""Servers that share one Redis."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits
from recollect.testing.clock import ids
from recollect.testing.windows import CacheServer, Connection, Database

#: Opens one more server on a Redis and a database.
OpenServer = Callable[..., Awaitable["RedisCacheServer"]]


async def holds(condition: Callable[[], object]) -> None:
    """Wait for what only another process can bring about."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # nothing tells when it is so
            await asyncio.sleep(0.01)


class RedisCacheServer(CacheServer):
    """A server whose cache is a Redis."""

    def __init__(self, cache: RedisWindows, connection: Connection) -> None:
        super().__init__(cache, connection)
        self.link = cache.link

    async def is_trusted(self) -> None:
        """Wait until an outage is over."""
        await holds(lambda: self.link.is_trusted)


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
async def open_server(database: Database) -> AsyncIterator[OpenServer]:
    opened: list[RedisWindows] = []
    numbers = itertools.count()

    async def open_one(url: str, limits: RedisLimits, idle: timedelta = timedelta(hours=24)) -> RedisCacheServer:
        cache = RedisWindows(url, idle=idle, new_id=ids(f"server-{next(numbers)}").__next__, limits=limits)
        opened.append(cache)
        return RedisCacheServer(cache, Connection(database))

    yield open_one
    for cache in opened:
        await cache.close()
