"""One key, one effect: chats that are repeated, raced, changed, cancelled and killed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
import pytest

from recollect.bootstrap import system_clock
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.errors import IdempotencyMismatchError, RequestInFlightError
from recollect.http.errors import status_of
from recollect.ports.store import Store
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatOptions, ChatReply, ChatRequest
from recollect.testing import raises
from tests.support.service_process import SCOPE, ChildOperator
from tests.support.services import opened, settings_of

REQUEST = ChatRequest(text="Remember my keys.", conversation_id="c", key="k")
LEASE = ChatOptions().lease


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    return str(request.getfixturevalue("postgres_url"))


async def said(store: Store) -> list[str]:
    """Return what the conversation holds, in order."""
    page = await store.list_messages(SCOPE, MessageQuery(conversation_id="c", limit=500, all_branches=True))
    assert not page.more
    return [message.content for message in page.messages if message.role == "user"]


def effects(replies: list[ChatReply | BaseException]) -> Counter[str]:
    """Count the replies by the message they are, and the rest by its kind."""
    return Counter(one.message.id if isinstance(one, ChatReply) else type(one).__name__ for one in replies)


def same_answer(one: ChatReply, other: ChatReply) -> bool:
    """Tell whether two replies are one; what was recalled for it is not told again."""
    return msgspec.structs.replace(one, recalled=()) == msgspec.structs.replace(other, recalled=())


@pytest.mark.spec("R7")
async def test_fifty_at_once_have_one_effect_and_one_answer(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        chats = [first.service.chat, second.service.chat]
        replies = await asyncio.gather(
            *(chats[number % 2].turn(SCOPE, REQUEST) for number in range(50)), return_exceptions=True
        )
        found = effects(replies)
        refused = found.pop("RequestInFlightError", 0)
        assert len(found) == 1
        assert refused + found.total() == 50
        assert status_of(RequestInFlightError) == 409
        again = await asyncio.gather(*(chats[number % 2].turn(SCOPE, REQUEST) for number in range(50)))
        assert effects([*again]).keys() == found.keys()
        assert all(same_answer(one, again[0]) for one in again)
        assert await said(first.service.store) == [REQUEST.text]
        assert len(await first.service.store.list_turns(SCOPE, "c")) == 1


@pytest.mark.spec("R7")
async def test_a_key_that_was_used_for_another_request_is_refused(database: str) -> None:
    others = [
        msgspec.structs.replace(REQUEST, text="Remember my hat."),
        msgspec.structs.replace(REQUEST, conversation_id="d"),
        msgspec.structs.replace(REQUEST, conversation_id=None),
        msgspec.structs.replace(REQUEST, write_policy="ahead"),
    ]
    async with opened(settings_of(database)) as parts:
        chat = parts.service.chat
        requests = [REQUEST, *others]
        replies = await asyncio.gather(*(chat.turn(SCOPE, one) for one in requests), return_exceptions=True)
        (first,) = [number for number, reply in enumerate(replies) if isinstance(reply, ChatReply)]
        assert effects(replies)["IdempotencyMismatchError"] == len(others)
        for number, request in enumerate(requests):
            if number != first:
                with raises(IdempotencyMismatchError):
                    await chat.turn(SCOPE, request)
        assert status_of(IdempotencyMismatchError) == 422
        assert len((await parts.service.conversations.list(SCOPE)).items) == 1
        turns = await parts.service.store.search_messages(SCOPE, SearchQuery(text="Remember"))
        assert len([hit for hit in turns if hit.message.role == "user"]) == 1


async def test_a_key_is_free_again_after_the_lease_of_a_process_that_was_killed(database: str) -> None:
    settings = settings_of(database)
    ahead = timedelta()

    def clock() -> datetime:
        return system_clock() + ahead

    async with opened(settings, clock=clock) as parts:
        chat = parts.service.chat
        victim = await ChildOperator.start(database, None)
        await victim.ask("die", when="before")
        assert await victim.ask("turn", text=REQUEST.text, key="k") == {"error": "died"}
        await victim.end()
        with raises(RequestInFlightError):
            await chat.turn(SCOPE, REQUEST)
        ahead = LEASE - timedelta(seconds=10)
        with raises(RequestInFlightError):
            await chat.turn(SCOPE, REQUEST)
        ahead = LEASE
        heirs = await asyncio.gather(*(chat.turn(SCOPE, REQUEST) for _ in range(10)), return_exceptions=True)
        found = effects(heirs)
        found.pop("RequestInFlightError", 0)
        assert len(found) == 1
        assert await said(parts.service.store) == [REQUEST.text]


async def test_a_process_that_was_killed_after_its_commit_left_the_answer(database: str) -> None:
    async with opened(settings_of(database)) as parts:
        victim = await ChildOperator.start(database, None)
        await victim.ask("die", when="after")
        assert await victim.ask("turn", text=REQUEST.text, key="k") == {"error": "died"}
        await victim.end()
        reply = await parts.service.chat.turn(SCOPE, REQUEST)
        assert reply.user_message.content == REQUEST.text
        assert await said(parts.service.store) == [REQUEST.text]


async def test_a_chat_that_stores_nothing_can_be_repeated_at_once(database: str) -> None:
    request = msgspec.structs.replace(REQUEST, write_policy="client")
    async with opened(settings_of(database)) as parts:
        for _ in range(2):
            assert (await parts.service.chat.turn(SCOPE, request)).durability == "client"


async def asked_until_answered(chat: Chat, request: ChatRequest) -> ChatReply:
    """Ask again as long as the first is under way, as a client does."""
    while True:
        try:
            return await chat.turn(SCOPE, request)
        except RequestInFlightError:
            await asyncio.sleep(0.001)


async def cancelled_and_repeated(chat: Chat, request: ChatRequest, wait: float) -> ChatReply:
    """Ask, stop waiting after a while, and ask again with the same key."""
    first = asyncio.create_task(chat.turn(SCOPE, request))
    await asyncio.wait({first}, timeout=wait)
    first.cancel()
    await asyncio.wait({first})
    return await asked_until_answered(chat, request)


async def test_a_chat_that_is_cancelled_and_repeated_has_one_effect(
    database: str, seed: int, count: Callable[[int, int], int]
) -> None:
    chance = Random(seed)
    texts = [f"question {number}" for number in range(count(200, 2_000))]
    async with opened(settings_of(database, storage_pool_timeout_seconds=60.0)) as parts:
        for start in range(0, len(texts), 20):
            calls: list[Awaitable[ChatReply]] = [
                cancelled_and_repeated(
                    parts.service.chat,
                    ChatRequest(text=text, conversation_id=f"c-{start}", key=text),
                    chance.random() * 0.05,
                )
                for text in texts[start : start + 20]
            ]
            replies = await asyncio.gather(*calls)
            assert [reply.user_message.content for reply in replies] == texts[start : start + 20]
            page = await parts.service.store.list_messages(
                SCOPE, MessageQuery(conversation_id=f"c-{start}", limit=500, all_branches=True)
            )
            found = Counter(message.content for message in page.messages if message.role == "user")
            assert found == Counter(texts[start : start + 20])
