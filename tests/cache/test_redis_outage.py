"""A Redis that is killed, stopped, emptied or replaced fails no request, and nobody is given what is out of date."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from redis import Redis

from recollect.cache.redis_link import RedisLimits, RedisLink, Script
from recollect.errors import CacheError
from recollect.testing import raises
from recollect.testing.samples import ALICE, BOB
from recollect.testing.windows import Database
from tests.cache.conftest import OpenServer, RedisCacheServer, holds
from tests.support.servers import RedisServer

#: Tried again soon, and given time to answer: a machine that is busy must not look like a Redis that is not there.
LIMITS = RedisLimits(
    timeout=timedelta(milliseconds=500), pause=timedelta(milliseconds=30), grace=timedelta(milliseconds=300)
)
#: Five times what a Redis that does not answer may add to a request.
LONG = 5 * 0.15
ECHO = Script("return ARGV[1]")

StartRedis = Callable[[], RedisServer]


async def timed(call: Awaitable[object]) -> float:
    start = time.perf_counter()
    await call
    return time.perf_counter() - start


@asynccontextmanager
async def traffic(*servers: RedisCacheServer) -> AsyncIterator[list[int]]:
    """Read and write on each server all the time; each read checks that it got what was acknowledged before it."""
    done: list[int] = [0]
    ends = asyncio.Event()

    async def use(server: RedisCacheServer, name: str) -> None:
        while not ends.is_set():
            await server.write(ALICE, name)
            await server.get(ALICE, name)
            done[0] += 1
            await asyncio.sleep(0.001)

    tasks = [asyncio.create_task(use(server, name)) for server in servers for name in ("c1", "c2")]
    try:
        yield done
    finally:
        ends.set()
        await asyncio.gather(*tasks)


async def kill_and_start(server: RedisServer) -> None:
    server.kill()
    await asyncio.sleep(0.2)
    await asyncio.to_thread(server.start)


async def stop_and_continue(server: RedisServer) -> None:
    server.signal(signal.SIGSTOP)
    await asyncio.sleep(1)
    server.signal(signal.SIGCONT)


async def flush(server: RedisServer) -> None:
    server.empty()
    await asyncio.sleep(0.05)


async def restart_at_once(server: RedisServer) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


async def break_connections(server: RedisServer) -> None:
    with Redis.from_url(server.url) as client:
        client.client_kill_filter(_type="normal", skipme=True)
    await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("harm", "count"),
    [(kill_and_start, 2), (stop_and_continue, 2), (flush, 2), (restart_at_once, 2), (break_connections, 1)],
)
async def test_no_request_fails_and_nothing_old_is_given_out(
    harm: Callable[[RedisServer], Awaitable[None]], count: int, open_server: OpenServer, start_redis: StartRedis
) -> None:
    redis = start_redis()
    # What fails for one server alone is the one case that is not strict, so only a Redis that is stopped may time out.
    timeout = LIMITS.timeout if harm is stop_and_continue else timedelta(seconds=30)
    limits = RedisLimits(timeout=timeout, pause=LIMITS.pause, grace=timedelta(milliseconds=600))
    servers = [await open_server(redis.url, limits) for _ in range(count)]
    async with traffic(*servers) as done:
        await harm(redis)
        for server in servers:
            await server.is_trusted()
        enough = done[0] + 20
        await holds(lambda: done[0] >= enough)
    assert all(server.link.is_trusted for server in servers)


async def test_a_connection_that_broke_is_replaced_without_an_outage(
    open_server: OpenServer, start_redis: StartRedis, database: Database
) -> None:
    redis = start_redis()
    server = await open_server(redis.url, LIMITS)
    await server.write(ALICE, "c1")
    for _ in range(3):
        await break_connections(redis)
        await server.write(ALICE, "c1")
        await server.get(ALICE, "c1")
    assert (server.link.epoch, database.loads) == (0, [])


async def test_a_redis_that_is_back_is_used(
    open_server: OpenServer, start_redis: StartRedis, database: Database
) -> None:
    redis = start_redis()
    one, other = await open_server(redis.url, LIMITS), await open_server(redis.url, LIMITS)
    await one.write(ALICE, "c1")
    redis.kill()
    for server in (one, other):
        await server.get(ALICE, "c1")
    assert database.loads == [None, None]
    await asyncio.to_thread(redis.start)
    for server in (one, other):
        await server.is_trusted()
    await one.write(ALICE, "c1")
    await other.get(ALICE, "c1")
    assert database.loads == [None, None]


async def test_a_stopped_redis_adds_little_to_one_request_and_nothing_to_the_next(
    open_server: OpenServer, start_redis: StartRedis
) -> None:
    redis = start_redis()
    server = await open_server(redis.url, RedisLimits(pause=timedelta(hours=1)))
    await server.write(ALICE, "c1")
    redis.signal(signal.SIGSTOP)
    assert await timed(server.get(ALICE, "c1")) < LONG
    assert not server.link.is_up
    while server.link.commands:
        await asyncio.wait(server.link.commands)
    for _ in range(20):
        await server.write(ALICE, "c1")
        await server.get(ALICE, "c1")
        assert not server.link.commands
    redis.signal(signal.SIGCONT)


async def test_a_redis_that_never_was_there_fails_nothing(
    open_server: OpenServer, start_redis: StartRedis, database: Database
) -> None:
    redis = start_redis()
    redis.kill()
    server = await open_server(redis.url, LIMITS)
    assert await timed(server.write(ALICE, "c1")) < LONG
    await asyncio.gather(*(server.get(ALICE, "c1") for _ in range(500)))
    assert database.loads == [None]
    await server.write_to_all(ALICE)
    await server.cache.drop(ALICE, "c1")


async def test_an_outage_is_one_warning_and_its_end_one_line(
    open_server: OpenServer, start_redis: StartRedis, caplog: pytest.LogCaptureFixture
) -> None:
    redis = start_redis()
    server = await open_server(redis.url, LIMITS)
    caplog.set_level(logging.INFO, "recollect")
    for _ in range(2):
        redis.kill()
        for _ in range(10):
            await server.write(ALICE, "c1")
            await server.get(ALICE, "c1")
        await asyncio.sleep(0.1)
        await asyncio.to_thread(redis.start)
        await server.is_trusted()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"] * 2
    assert not [record for record in caplog.records if "alice" in record.getMessage()]


async def test_what_was_written_while_it_did_not_answer_is_dropped_before_it_is_used(
    open_server: OpenServer, start_redis: StartRedis
) -> None:
    redis = start_redis()
    writer, idle = await open_server(redis.url, LIMITS), await open_server(redis.url, LIMITS)
    for scope in (ALICE, BOB):
        await writer.write(scope, "c1")
        await idle.get(scope, "c1")
    redis.signal(signal.SIGSTOP)
    await writer.write(ALICE, "c1")
    await writer.write_to_all(BOB)
    redis.signal(signal.SIGCONT)
    await holds(lambda: writer.link.is_up)
    for scope in (ALICE, BOB):
        await idle.get(scope, "c1")
    assert idle.link.epoch == 0


async def test_of_too_many_writes_the_newest_are_remembered(open_server: OpenServer, start_redis: StartRedis) -> None:
    redis = start_redis()
    limits = RedisLimits(pause=LIMITS.pause, grace=LIMITS.grace, max_suspects=5)
    server = await open_server(redis.url, limits)
    names = [f"c{number}" for number in range(20)]
    for name in names:
        await server.write(ALICE, name)
    redis.signal(signal.SIGSTOP)
    for name in names:
        await server.write(ALICE, name)
    assert len(server.cache._suspects) == 5  # type: ignore[attr-defined]
    redis.signal(signal.SIGCONT)
    await server.is_trusted()
    for name in names:
        await server.get(ALICE, name)


async def test_a_redis_that_comes_back_with_old_data_is_not_believed(
    open_server: OpenServer, start_redis: StartRedis
) -> None:
    redis = start_redis()
    servers = [await open_server(redis.url, LIMITS) for _ in range(2)]
    await servers[0].write(ALICE, "c1")
    await servers[1].get(ALICE, "c1")
    with Redis.from_url(redis.url) as client:
        client.save()
    await servers[0].write(ALICE, "c1")
    redis.kill()
    await asyncio.to_thread(redis.start)
    with Redis.from_url(redis.url) as client:
        assert len(client.keys()) == 3
    for server in servers:
        await server.get(ALICE, "c1")
    for server in servers:
        await server.is_trusted()
        await server.get(ALICE, "c1")


async def test_a_redis_that_refuses_to_store_fails_no_request(open_server: OpenServer, start_redis: StartRedis) -> None:
    redis = start_redis()
    server = await open_server(redis.url, LIMITS)
    await server.write(ALICE, "c1")
    with Redis.from_url(redis.url) as client:
        client.config_set("maxmemory", 1)
    for _ in range(3):
        await server.write(ALICE, "c1")
        await server.get(ALICE, "c1")
    with Redis.from_url(redis.url) as client:
        client.config_set("maxmemory", 0)
    await server.is_trusted()
    await server.get(ALICE, "c1")


async def nothing_to_mend() -> None:
    return None


async def test_after_a_storm_of_cancels_each_reply_belongs_to_its_request(
    redis_url: str, seed: int, count: Callable[[int, int], int]
) -> None:
    random = Random(seed)
    link = RedisLink(redis_url, RedisLimits(timeout=timedelta(seconds=30), connections=4), nothing_to_mend)

    async def ask(number: int) -> None:
        assert await link.run(ECHO, (), (number,)) == str(number).encode()

    for first in range(0, count(500, 10_000), 50):
        asked = [asyncio.create_task(ask(number)) for number in range(first, first + 50)]
        for task in random.sample(asked, 40):
            for _ in range(random.randrange(8)):
                await asyncio.sleep(0)
            task.cancel()
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert not [one for one in results if one is not None and not isinstance(one, asyncio.CancelledError)]
    await asyncio.gather(*(ask(number) for number in range(100)))
    assert (link.is_trusted, link.commands) == (True, frozenset())
    await link.close()


async def test_late_replies_reach_nobody_else(start_redis: StartRedis) -> None:
    redis = start_redis()
    link = RedisLink(redis.url, LIMITS, nothing_to_mend)
    for number in range(2):
        assert await link.run(ECHO, (), (number,)) == str(number).encode()
        redis.signal(signal.SIGSTOP)
        late: list[Any] = [link.run(ECHO, (), (f"late {late}",)) for late in range(20)]
        results = await asyncio.gather(*late, return_exceptions=True)
        assert {type(result) for result in results} == {CacheError}
        redis.signal(signal.SIGCONT)
        await holds(lambda: link.is_trusted)
        replies = await asyncio.gather(*(link.run(ECHO, (), (n,)) for n in range(50)))
        assert replies == [str(n).encode() for n in range(50)]
    await link.close()


async def test_a_link_that_is_closed_sends_nothing(redis_url: str) -> None:
    link = RedisLink(redis_url, LIMITS, nothing_to_mend)
    await link.run(ECHO, (), ("x",))
    await link.close()
    with raises(CacheError):
        await link.run(ECHO, (), ("x",))
