"""Where a turn goes on, what its prompt shows, and what is kept of it when something goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.domain.message import Message
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import (
    ConflictError,
    IdempotencyMismatchError,
    MessageNotFoundError,
    StorageUnavailableError,
)
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.ports.responder import Hear, Question, Reply, ToolReturned
from recollect.ports.store import Store
from recollect.service.chat_request import ChatEvent, ChatOptions, ChatRequest, Hearing, Started
from recollect.storage.sqlite import SqliteDriver
from recollect.testing.models import ScriptedReply
from recollect.testing.samples import ALICE, message
from tests.support.model_service import Played, play
from tests.support.service_rig import Options, Rig


class Answering:
    """A responder that does what it is told, and keeps the questions."""

    name = "answering"

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.events: list[Any] = [TextDelta("yes")]

    async def reply(self, question: Question, hear: Hear) -> Reply:
        self.asked.append(question)
        for event in self.events:
            hear(event)
        return Reply()

    def shown(self) -> list[str]:
        return [one.text for one in self.asked[-1].context.messages]


class Away:
    """A store that some calls do not reach."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: set[str] = set()
        self.tried: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in self.calls or "*" in self.calls:
            self.tried.append(name)
            return self._refuse
        return getattr(self._store, name)

    async def _refuse(self, *given: Any, **more: Any) -> None:
        raise StorageUnavailableError("the store is away")


@pytest.fixture
def responder() -> Answering:
    return Answering()


@pytest.fixture
async def driver() -> AsyncIterator[SqliteDriver]:
    opened = await SqliteDriver.open(":memory:")
    yield opened
    await opened.close()


@pytest.fixture
def rig(driver: SqliteDriver, responder: Answering) -> Rig:
    return Rig(driver, ALICE, Options(recall=True), responder=responder)


def asked(text: str, **more: Any) -> ChatRequest:
    return ChatRequest(text=text, conversation_id="c", **more)


async def contents(rig: Rig) -> list[str]:
    return [one.content for one in await rig.all_messages("c")]


# Places


async def test_what_an_edit_leaves_aside_is_not_recalled_either(rig: Rig, responder: Answering) -> None:
    first = await rig.chat.turn(ALICE, asked("my cat is called Miso"))
    await rig.chat.turn(ALICE, asked("my cat Miso is twelve years old"))
    await rig.chat.turn(ALICE, asked("my cat Miso is two years old", parent_id=first.message.id))
    assert not any("twelve" in text for text in responder.shown())
    await rig.chat.turn(ALICE, asked("how old is my cat Miso?"))
    assert not any("twelve" in text for text in responder.shown())


async def test_a_question_that_is_answered_again_is_not_told_twice(rig: Rig, responder: Answering) -> None:
    turn = await rig.chat.turn(ALICE, asked("what is the colour of the sea?"))
    await rig.chat.turn(ALICE, ChatRequest(conversation_id="c", regenerate=turn.message.id))
    assert responder.shown() == ["what is the colour of the sea?"]


async def test_the_same_message_again_is_answered_from_what_was_before_it(rig: Rig, responder: Answering) -> None:
    said = message("m1", "hello there")
    request = ChatRequest(conversation_id="c", new_messages=(said,))
    first = await rig.chat.turn(ALICE, request)
    again = await rig.chat.turn(ALICE, request)
    assert responder.shown() == ["hello there"]
    assert (first.message.parent_id, again.message.parent_id) == ("m1", "m1")
    assert await contents(rig) == ["hello there", "yes"]
    assert len(await rig.all_messages("c", all_branches=True)) == 3


async def test_what_a_summary_covers_is_not_told_again_by_the_client(rig: Rig, responder: Answering) -> None:
    old = tuple(message(f"m{number}", f"old {number} end") for number in range(15))
    await rig.add(old, "c")
    assert (await rig.store.get_window(ALICE, "c")).summaries
    await rig.chat.turn(ALICE, asked("and now?", new_messages=old))
    before = [one.text for one in responder.asked[-1].context.messages if one.role == "user"]
    assert [text for text in before if text == "old 0 end"] == []
    assert len(await rig.all_messages("c")) == 17


async def test_a_message_that_answers_nobody_cannot_be_answered_again(rig: Rig) -> None:
    await rig.add((message("m1", "welcome", role="assistant"),), "c")
    with pytest.raises(ConflictError):
        await rig.chat.turn(ALICE, ChatRequest(conversation_id="c", regenerate="m1"))
    with pytest.raises(MessageNotFoundError):
        await rig.chat.turn(ALICE, ChatRequest(conversation_id="c", regenerate="m2"))


# What is kept


async def test_a_result_that_cannot_be_kept_fails_the_reply_and_keeps_the_question(
    rig: Rig, responder: Answering
) -> None:
    responder.events = [ToolCallRequest(id="c1", tool_name="t"), ToolReturned("c1", "x" * 1_000_001)]
    reply = await rig.chat.turn(ALICE, asked("go"))
    assert (reply.message.status, reply.durability) == ("failed", "durable")
    assert await contents(rig) == ["go", ""]


async def test_the_same_key_for_another_agent_is_another_request(rig: Rig) -> None:
    await rig.chat.turn(ALICE, asked("hello", key="k"))
    with pytest.raises(IdempotencyMismatchError):
        await rig.chat.turn(Scope(ALICE.tenant, ALICE.user, "other"), asked("hello", key="k"))


async def test_who_tells_requests_apart_by_a_digest_may_send_other_times(rig: Rig) -> None:
    request = ChatRequest(conversation_id="c", new_messages=(message("m1", "hi"),), key="k", digest="d")
    first = await rig.chat.turn(ALICE, request)
    rig.clock.advance(seconds=5)
    later = msgspec.structs.replace(message("m1", "hi"), created_at=rig.clock())
    again = await rig.chat.turn(ALICE, msgspec.structs.replace(request, new_messages=(later,)))
    assert again.message == first.message
    with pytest.raises(IdempotencyMismatchError):
        await rig.chat.turn(ALICE, msgspec.structs.replace(request, digest="e"))


async def test_a_retry_hears_the_calls_of_the_first_reply_too(rig: Rig, responder: Answering) -> None:
    responder.events = [
        TextDelta("look"),
        ToolCallRequest(id="c1", tool_name="t", input={"a": 1}),
        ToolReturned("c1", "found"),
        TextDelta("here"),
    ]
    heard: list[list[ChatEvent]] = [[], []]
    replies = [await rig.chat.turn(ALICE, asked("go", key="k"), Hearing(hear=one.append)) for one in heard]
    assert heard[0] == heard[1]
    assert isinstance(heard[0][0], Started)
    assert replies[0] == replies[1]


# While the store is away


def fallen_back(driver: SqliteDriver, responder: Answering, *, fallback: bool = True) -> tuple[Rig, Away]:
    stores: list[Away] = []

    def change(store: Store) -> Any:
        stores.append(Away(store))
        return stores[-1]

    options = Options(chat=ChatOptions(volatile_fallback=fallback))
    return Rig(driver, ALICE, options, responder=responder, change_store=change), stores[0]


@pytest.mark.parametrize("policy", ["turn", "ahead"])
@pytest.mark.parametrize("calls", [{"*"}, {"record_turn"}, {"append", "record_turn"}, {"get_window"}])
@pytest.mark.parametrize("key", [None, "k"])
async def test_who_may_go_on_is_answered_and_told_that_nothing_is_kept(
    driver: SqliteDriver, responder: Answering, policy: Any, calls: set[str], key: str | None
) -> None:
    rig, away = fallen_back(driver, responder)
    away.calls = calls
    reply = await rig.chat.turn(ALICE, asked("hello", write_policy=policy, key=key))
    assert (reply.durability, reply.message.content) == ("volatile", "yes")
    away.calls = set()
    again = await rig.chat.turn(ALICE, asked("hello", write_policy=policy, key=key))
    assert again.durability == "durable"
    assert (await contents(rig))[-2:] == ["hello", "yes"]


async def test_a_place_that_cannot_be_found_has_no_answer(driver: SqliteDriver, responder: Answering) -> None:
    rig, away = fallen_back(driver, responder)
    turn = await rig.chat.turn(ALICE, asked("hello"))
    away.calls = {"*"}
    for request in (
        ChatRequest(conversation_id="c", regenerate=turn.message.id),
        asked("other", parent_id=turn.message.id),
    ):
        with pytest.raises(StorageUnavailableError):
            await rig.chat.turn(ALICE, request)


async def test_a_turn_that_could_not_be_recorded_is_tried_again_without_waiting(
    driver: SqliteDriver, responder: Answering
) -> None:
    rig, away = fallen_back(driver, responder, fallback=False)
    away.calls = {"record_turn", "abandon_request"}
    with pytest.raises(StorageUnavailableError):
        await rig.chat.turn(ALICE, asked("hello", key="k"))
    away.calls = set()
    reply = await rig.chat.turn(ALICE, asked("hello", key="k"))
    assert reply.durability == "durable"
    assert await contents(rig) == ["hello", "yes"]


# What a search found


@pytest.mark.spec("R26")
async def test_what_a_search_found_goes_when_its_source_is_erased(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        service = played.service
        await service.conversations.add_messages(ALICE, "before", [message("m1", "My safe opens with violets.")])
        call = ToolCallRequest(id="c1", tool_name="search_memory", input={"query": "safe violets"})
        played.server.script(ScriptedReply(text=(), tool_calls=(call,)), ScriptedReply(text=("I know.",)))
        await service.chat.turn(ALICE, ChatRequest(text="How?", conversation_id="c1"))
        assert any("violets" in one.content for one in await stored(played))
        await service.conversations.erase_message(ALICE, "before", "m1")
        kept = await stored(played)
        assert [(one.role, one.content) for one in kept] == [
            ("user", "How?"),
            ("assistant", ""),
            ("assistant", "I know."),
        ]
        played.server.script(ScriptedReply(text=("Still here.",)))
        after = await service.chat.turn(ALICE, ChatRequest(text="And now?", conversation_id="c1"))
        assert after.message.content == "Still here."


async def stored(played: Played) -> tuple[Message, ...]:
    page = await played.service.store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=100))
    return page.messages
