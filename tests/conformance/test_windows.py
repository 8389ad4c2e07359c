"""Every window cache keeps the promises of its port, with one server and with several."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from random import Random

import pytest
from redis import Redis

from recollect.cache.local import LocalWindows
from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits, RedisLink
from recollect.errors import CacheError
from recollect.ports.windows import WindowCache
from recollect.testing.clock import FakeClock, ids
from recollect.testing.windows import Connection, WindowCacheConformance, WindowRig, interleave, turns

DAY = timedelta(days=1)
#: Nothing here is about time, and a machine that is busy must not look like a Redis that is.
PATIENT = RedisLimits(timeout=timedelta(seconds=30))


#: A fence is over before its write is, as after a crash, and loads come too late.
HASTY = RedisLimits(timeout=PATIENT.timeout, fence=timedelta(milliseconds=5), lease=timedelta(milliseconds=5))
#: An outage is soon over.
BRISK = RedisLimits(timeout=PATIENT.timeout, pause=timedelta(milliseconds=2), grace=timedelta(milliseconds=60))


@pytest.fixture
async def caches() -> AsyncIterator[list[WindowCache]]:
    opened: list[WindowCache] = []
    yield opened
    for cache in opened:
        await cache.close()


@pytest.fixture(params=["marked", "blind", "redis"])
def rig(request: pytest.FixtureRequest, caches: list[WindowCache]) -> WindowRig:
    if request.param == "redis":
        return redis_rig(caches, request.getfixturevalue("redis_url"), PATIENT)
    return local_rig(caches, marked=request.param == "marked")


def local_rig(caches: list[WindowCache], *, marked: bool) -> WindowRig:
    async def open_cache(connection: Connection) -> WindowCache:
        mark = connection.mark if marked else lambda: None
        caches.append(LocalWindows(mark=mark, clock=FakeClock(), max_conversations=100, idle=DAY))
        return caches[-1]

    return WindowRig(open_cache=open_cache)


def redis_rig(caches: list[WindowCache], url: str, limits: RedisLimits) -> WindowRig:
    numbers = itertools.count()

    async def open_cache(connection: Connection) -> WindowCache:
        cache = RedisWindows(url, idle=DAY, new_id=ids(f"server-{next(numbers)}").__next__, limits=limits)
        caches.append(cache)
        return cache

    async def settle() -> None:
        while True:
            await turns()
            commands = [command for link in links_of(caches) for command in link.commands]
            if not commands:
                return
            await asyncio.wait(commands)

    async def flush() -> None:
        with Redis.from_url(url) as client:
            client.flushall()
            client.script_flush()

    async def evict() -> None:
        with Redis.from_url(url) as client:
            key = client.randomkey()
            if key is not None:
                client.delete(key)

    return WindowRig(open_cache=open_cache, settle=settle, troubles=(flush, evict, evict))


class TestWindowCaches(WindowCacheConformance):
    async def test_drawn_orders_hold_too(self, rig: WindowRig, seed: int, count: Callable[[int, int], int]) -> None:
        await draw(rig, Random(seed), count(30, 1000))


async def test_no_order_gives_out_an_older_window_when_fences_and_leases_run_out(
    caches: list[WindowCache], redis_url: str, seed: int, count: Callable[[int, int], int]
) -> None:
    await draw(redis_rig(caches, redis_url, HASTY), Random(seed), count(60, 2000))


async def test_no_order_gives_out_an_older_window_around_an_outage(
    caches: list[WindowCache], redis_url: str, seed: int, count: Callable[[int, int], int]
) -> None:
    rig = redis_rig(caches, redis_url, BRISK)

    async def fail() -> None:
        for link in links_of(caches):
            link.fail(CacheError("the test says so"))

    async def recover() -> None:
        async with asyncio.timeout(30):
            while not all(link.is_trusted for link in links_of(caches)):  # noqa: ASYNC110  # nothing tells when
                await asyncio.sleep(0.005)

    rig.troubles = (fail, recover)
    await draw(rig, Random(seed), count(10, 300))


def links_of(caches: list[WindowCache]) -> list[RedisLink]:
    return [cache.link for cache in caches if isinstance(cache, RedisWindows)]


async def draw(rig: WindowRig, random: Random, orders: int) -> None:
    for _ in range(orders):
        await interleave(rig, random, servers=random.choice((1, 2, 3)), steps=60)
