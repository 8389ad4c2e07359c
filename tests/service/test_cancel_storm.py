"""Requests that are cancelled at any moment: nobody gets the reply of another, and nothing is left behind."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recollect.bootstrap import new_id, system_clock
from recollect.domain.message import Message, NewMessage
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatRequest
from recollect.settings import Settings
from recollect.storage.postgres import PostgresDriver
from recollect.testing.models import ScriptedModelServer, ScriptedReply
from tests.support.services import Parts, opened, settings_of

AT_ONCE = 40
CONVERSATIONS = 8
#: The longest that a model waits with its reply, and the longest that a caller waits, in seconds.
DELAY = 0.03
PATIENCE = 1.8


@pytest.fixture(params=["sqlite", "sqlite-redis", "postgres", "postgres-redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str | None]:
    """Give the addresses of a database and of a Redis."""
    name: str = request.param
    redis = request.getfixturevalue("redis_url") if name.endswith("redis") else None
    if name.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'store.db'}", redis
    return request.getfixturevalue("postgres_url"), redis


class Storm:
    """Calls of a service, each with a token of its own that every answer to it must carry."""

    def __init__(self, parts: Parts, chance: Random) -> None:
        self._service = parts.service
        self._chance = chance
        self._numbers = itertools.count()
        self.cancelled = 0
        self.answered = 0

    async def rage(self, cancels: int) -> None:
        """Call and call until so many were cancelled."""
        while self.cancelled < cancels:
            await self.call(next(self._numbers))

    async def call(self, number: int) -> None:
        """Ask something, wait for a while, and check the answer if there is one."""
        user = Scope("tenant", f"user-{number % 3}")
        conversation_id = f"c-{number % CONVERSATIONS}"
        asked = asyncio.create_task(self._drawn()(user, conversation_id, f"token{number}"))
        # Short waits are the more frequent, long ones see whole answers.
        await asyncio.wait({asked}, timeout=self._chance.random() ** 3 * PATIENCE)
        asked.cancel()
        await asyncio.wait({asked})
        if asked.cancelled():
            self.cancelled += 1
        else:
            asked.result()
            self.answered += 1

    def _drawn(self) -> Callable[[Scope, str, str], Coroutine[Any, Any, None]]:
        return self._chance.choice((self.chat, self.chat, self.chat, self.add, self.context, self.search))

    async def chat(self, user: Scope, conversation_id: str, token: str) -> None:
        """Chat; the model answers with the question."""
        reply = await self._service.chat.turn(user, ChatRequest(text=token, conversation_id=conversation_id))
        assert (reply.conversation_id, reply.user_message.content) == (conversation_id, token)
        assert (reply.message.content, reply.message.status) == (token, "complete")

    async def add(self, user: Scope, conversation_id: str, token: str) -> None:
        """Add two messages."""
        new = [
            NewMessage(id=new_id(), role=role, content=token, created_at=system_clock())
            for role in ("user", "assistant")
        ]
        appended = await self._service.conversations.add_messages(user, conversation_id, new)
        assert [message.content for message in appended.messages] == [token, token]

    async def context(self, user: Scope, conversation_id: str, token: str) -> None:
        """Read a context after a message is known to be there."""
        await self.add(user, conversation_id, token)
        window = await self._service.store.get_window(user, conversation_id)
        assert window.conversation.id == conversation_id
        assert {message.conversation_id for message in window.messages} == {conversation_id}
        assert paired(window.messages) or window.messages[0].role == "assistant"

    async def search(self, user: Scope, conversation_id: str, token: str) -> None:
        """Search for a word of one's own."""
        await self.add(user, conversation_id, token)
        hits = await self._service.store.search_messages(user, SearchQuery(text=token))
        assert {hit.message.content for hit in hits} == {token}


def paired(messages: tuple[Message, ...]) -> bool:
    """Tell whether each question is followed by its own answer."""
    pairs = list(zip(messages[::2], messages[1::2], strict=False))
    return len(messages) % 2 == 0 and all(
        (said.role, answer.role, said.content) == ("user", "assistant", answer.content) for said, answer in pairs
    )


async def all_at_rest(before: set[asyncio.Task[object]], server: ScriptedModelServer) -> None:
    """Wait until no task is left of those that were cancelled, but for the model's own connections."""
    async with asyncio.timeout(30):
        while len(asyncio.all_tasks() - before) > server.connections:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0.01)


async def is_whole(parts: Parts, user: Scope, conversation_id: str) -> int:
    """Check that every stored answer follows its question, and return how many messages there are."""
    found: tuple[Message, ...] = ()
    more = True
    while more:
        query = MessageQuery(conversation_id=conversation_id, limit=500, before=found[0].id if found else None)
        page = await parts.service.store.list_messages(user, query)
        found = page.messages + found
        more = page.more
    assert [message.seq for message in found] == list(range(1, len(found) + 1))
    assert paired(found)
    assert {message.status for message in found} <= {"complete"}
    assert len({message.content for message in found}) == len(found) / 2
    window = await parts.service.store.get_window(user, conversation_id)
    assert window.messages == found[-len(window.messages) :]
    assert window.conversation.message_count == len(found)
    return len(found)


async def nothing_is_taken(parts: Parts, settings: Settings) -> None:
    """Wait until every pool has its connections back; a transaction that only read ends after its answer."""
    if isinstance(parts.driver, PostgresDriver):
        async with asyncio.timeout(30):
            while is_taken(parts.driver._pool.get_stats()):  # noqa: ASYNC110  # nothing tells when
                await asyncio.sleep(0.01)
    if settings.redis_url is not None:
        assert parts.redis.link.commands == frozenset()
        assert parts.redis.link.is_trusted


def is_taken(stats: Mapping[str, int]) -> bool:
    """Tell whether somebody has a connection of the pool, or waits for one."""
    return stats["pool_available"] < stats["pool_size"] or stats.get("requests_waiting", 0) > 0


@pytest.mark.spec("R16")
@pytest.mark.timeout(900)
async def test_a_storm_of_cancelled_calls_leaves_every_reply_with_its_question(
    place: tuple[str, str | None], seed: int, count: Callable[[int, int], int]
) -> None:
    chance = Random(seed)
    cancels = count(400, 10_000)
    async with ScriptedModelServer() as server:
        settings = settings_of(
            *place, model_url=server.url, model_name="echo", storage_pool_timeout_seconds=60.0, jobs_inside=False
        )
        async with opened(settings) as parts:
            before = asyncio.all_tasks()
            storm = Storm(parts, chance)
            server.script(*(ScriptedReply(echo=True, delay=chance.random() * DELAY) for _ in range(cancels * 5)))
            await asyncio.gather(*(storm.rage(cancels) for _ in range(AT_ONCE)))
            await all_at_rest(before, server)
            await nothing_is_taken(parts, settings)
            server.script()
            calm = [Scope("tenant", f"user-{number}") for number in range(3)]
            for one in range(AT_ONCE):
                await storm.chat(calm[one % 3], f"c-{one % CONVERSATIONS}", f"calm{one}")
            kept = [await is_whole(parts, user, f"c-{c}") for user in calm for c in range(CONVERSATIONS)]
            await all_at_rest(before, server)
            await nothing_is_taken(parts, settings)
            assert server.errors == []
            assert storm.answered > cancels // 10
            assert sum(kept) >= 2 * (storm.answered + AT_ONCE)
