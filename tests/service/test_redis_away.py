"""Chats go on while the Redis is killed, stopped, emptied or back, and use it again afterwards."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from recollect.cache.redis_link import RedisLimits
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatRequest
from tests.support.servers import RedisServer
from tests.support.services import Parts, opened, settings_of

ALICE = Scope("tenant", "alice")
#: The service waits as long as usual, but what comes after an outage is soon over.
LIMITS = RedisLimits(
    pause=timedelta(milliseconds=50), grace=timedelta(milliseconds=200), fence=timedelta(milliseconds=500)
)
#: Five times what a Redis that does not answer may add to a chat.
LONG = 5 * 0.15
CHATTERS = 4

StartRedis = Callable[[], RedisServer]


class Traffic:
    """Chats on several conversations, each of which checks that it is in the context right after it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.slowest = 0.0
        self.done = [0] * CHATTERS
        self._ends = asyncio.Event()
        self._chatted = asyncio.Event()

    async def chat(self, number: int) -> None:
        """Chat until told to end."""
        service = self._parts.service
        while not self._ends.is_set():
            request = ChatRequest(text=f"question {self.done[number]}", conversation_id=f"c-{number}")
            start = time.perf_counter()
            reply = await service.chat.turn(ALICE, request)
            self.slowest = max(self.slowest, time.perf_counter() - start)
            context = await service.conversations.get_context(ALICE, f"c-{number}")
            self.done[number] += 1
            assert context.recent[-2:] == (reply.user_message, reply.message)
            assert context.total == 2 * self.done[number]
            self._chatted.set()

    async def goes_on(self, chats: int = 5) -> None:
        """Wait until every conversation had some more chats."""
        enough = [done + chats for done in self.done]
        while any(done < wanted for done, wanted in zip(self.done, enough, strict=True)):
            self._chatted.clear()
            await self._chatted.wait()

    def end(self) -> None:
        """Let every chatter end."""
        self._ends.set()


@asynccontextmanager
async def traffic_on(parts: Parts) -> AsyncIterator[Traffic]:
    traffic = Traffic(parts)
    async with asyncio.timeout(60), asyncio.TaskGroup() as chatters:
        for number in range(CHATTERS):
            chatters.create_task(traffic.chat(number))
        await traffic.goes_on()
        yield traffic
        traffic.end()


async def is_used(parts: Parts) -> None:
    """Wait until the Redis is believed again."""
    async with asyncio.timeout(30):
        while not parts.redis.link.is_trusted:  # noqa: ASYNC110  # nothing tells when it is so
            await asyncio.sleep(0.01)


async def killed(redis: RedisServer, traffic: Traffic) -> None:
    redis.kill()
    await traffic.goes_on()
    await asyncio.to_thread(redis.start)


async def stopped(redis: RedisServer, traffic: Traffic) -> None:
    redis.signal(signal.SIGSTOP)
    await traffic.goes_on()
    redis.signal(signal.SIGCONT)


async def flushed(redis: RedisServer, traffic: Traffic) -> None:
    await asyncio.to_thread(redis.empty)
    await traffic.goes_on()


async def replaced(redis: RedisServer, traffic: Traffic) -> None:
    redis.kill()
    await asyncio.to_thread(redis.start)
    await traffic.goes_on()


@pytest.mark.spec("R14")
@pytest.mark.parametrize("harm", [killed, stopped, flushed, replaced])
async def test_no_chat_fails_and_the_redis_is_used_again(
    harm: Callable[[RedisServer, Traffic], Awaitable[None]], postgres_url: str, start_redis: StartRedis
) -> None:
    redis = start_redis()
    settings = settings_of(postgres_url, redis.url)
    async with opened(settings, limits=LIMITS) as parts, opened(settings, limits=LIMITS) as other:
        async with traffic_on(parts) as traffic:
            usual = traffic.slowest
            for _ in range(2):
                await harm(redis, traffic)
                await is_used(parts)
                await traffic.goes_on()
        assert traffic.slowest <= usual + LONG
        await windows_come_from_the_redis(parts, other)
        for number in range(CHATTERS):
            await everything_is_stored(parts, f"c-{number}", traffic.done[number])


async def is_held(parts: Parts) -> None:
    """Wait until a window is in the Redis: a write that was cut off keeps it out for a while."""
    loads = -1
    async with asyncio.timeout(30):
        while loads != parts.windows.loads:
            await is_used(parts)
            loads = parts.windows.loads
            await parts.service.store.get_window(ALICE, "c-0")


async def windows_come_from_the_redis(parts: Parts, other: Parts) -> None:
    """Check that no window is loaded that one of two servers left in the Redis."""
    for server in (parts, other):
        await is_held(server)
    for writer, reader in ((parts, other), (other, parts)):
        await writer.service.conversations.update(ALICE, "c-0", title=f"by {id(writer)}")
        expected = await writer.service.store.get_window(ALICE, "c-0")
        loads = reader.windows.loads, writer.windows.loads
        for _ in range(20):
            assert await reader.service.store.get_window(ALICE, "c-0") == expected
            assert await writer.service.store.get_window(ALICE, "c-0") == expected
        assert (reader.windows.loads, writer.windows.loads) == loads


async def everything_is_stored(parts: Parts, conversation_id: str, turns: int) -> None:
    """Check that each question is stored once and in order."""
    query = MessageQuery(conversation_id=conversation_id, limit=500)
    found: list[str] = []
    while True:
        page = await parts.service.store.list_messages(ALICE, query)
        found = [message.content for message in page.messages if message.role == "user"] + found
        if not page.more:
            break
        query = msgspec.structs.replace(query, before=page.messages[0].id)
    assert found == [f"question {number}" for number in range(turns)]


@pytest.mark.spec("R14")
async def test_a_service_that_starts_without_its_redis_answers_and_uses_it_once_it_is_there(
    postgres_url: str, start_redis: StartRedis
) -> None:
    redis = start_redis()
    redis.kill()
    settings = settings_of(postgres_url, redis.url)
    async with opened(settings, limits=LIMITS) as parts, opened(settings, limits=LIMITS) as other:
        async with traffic_on(parts) as traffic:
            await traffic.goes_on()
            await asyncio.to_thread(redis.start)
            await is_used(parts)
            await traffic.goes_on()
        await windows_come_from_the_redis(parts, other)
