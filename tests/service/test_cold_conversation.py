"""Five hundred requests on one conversation that nobody used for a while."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.bootstrap import new_id, system_clock
from recollect.domain.message import Message, NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from recollect.service.chat_request import ChatRequest
from recollect.settings import Settings
from tests.support.services import Parts, opened, settings_of

ALICE = Scope("tenant", "alice")
REQUESTS = 500


@pytest.fixture(params=["sqlite", "postgres", "postgres-redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Give a database, with a Redis or without."""
    if request.param == "sqlite":
        return settings_of(f"sqlite:///{tmp_path / 'store.db'}")
    redis = request.getfixturevalue("redis_url") if request.param == "postgres-redis" else None
    patience = timedelta(minutes=1).total_seconds()
    return settings_of(request.getfixturevalue("postgres_url"), redis, storage_pool_timeout_seconds=patience)


async def fill(parts: Parts, count: int) -> None:
    new = [NewMessage(id=new_id(), role="user", content=f"{n}", created_at=system_clock()) for n in range(count)]
    await parts.service.conversations.add_messages(ALICE, "c", new)


async def stored(store: Store) -> list[Message]:
    found: list[Message] = []
    more = True
    while more:
        before = found[0].id if found else None
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c", limit=500, before=before))
        found = [*page.messages, *found]
        more = page.more
    return found


@pytest.mark.spec("R30")
async def test_a_cold_conversation_is_loaded_once_for_all(settings: Settings) -> None:
    async with opened(settings) as before:
        await fill(before, 30)
        await before.windows.drop(ALICE, "c")
    async with opened(settings) as parts:
        contexts = await asyncio.gather(*(parts.service.conversations.get_context(ALICE, "c") for _ in range(REQUESTS)))
        assert parts.windows.loads == 1
    assert {context.total for context in contexts} == {30}
    assert [message.content for message in contexts[0].recent] == [str(n) for n in range(30)][
        -len(contexts[0].recent) :
    ]
    assert all(context == contexts[0] for context in contexts)


@pytest.mark.spec("R30")
async def test_turns_at_once_on_a_cold_conversation_are_kept_whole_and_in_order(settings: Settings) -> None:
    async with opened(settings) as before:
        await fill(before, 1)
        await before.windows.drop(ALICE, "c")
    async with opened(settings) as parts:
        texts = [f"question {number}" for number in range(REQUESTS)]
        asked = [ChatRequest(text=text, conversation_id="c") for text in texts]
        chat = parts.service.chat
        replies = await asyncio.gather(*(chat.turn(ALICE, request) for request in asked))
        messages = await stored(parts.service.store)
        window = await parts.service.store.get_window(ALICE, "c")
        assert len(await parts.service.store.list_turns(ALICE, "c")) == REQUESTS
    assert [reply.user_message.content for reply in replies] == texts
    assert [message.seq for message in messages] == list(range(1, 2 * REQUESTS + 2))
    assert [message.parent_id for message in messages[1:]] == [message.id for message in messages[:-1]]
    turns = list(zip(messages[1::2], messages[2::2], strict=True))
    assert {(said.id, answer.id) for said, answer in turns} == {
        (reply.user_message.id, reply.message.id) for reply in replies
    }
    assert {(said.role, answer.role, said.turn_id == answer.turn_id) for said, answer in turns} == {
        ("user", "assistant", True)
    }
    assert window.messages == tuple(messages[-len(window.messages) :])
    assert window.conversation.message_count == 2 * REQUESTS + 1
