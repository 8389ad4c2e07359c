"""Turns that are followed: who follows, who comes back, who never came, and what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta

import pytest

from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, MessageNotFoundError, NotFoundError, ProviderUnavailableError
from recollect.ports.chat_model import TextDelta
from recollect.ports.responder import Hear, Question, Reply
from recollect.service import streams as streams_module
from recollect.service.chat_request import ChatRequest, Failed, Saved, Started
from recollect.service.streams import Done, Stream, StreamOptions, Streams
from recollect.storage.sqlite import SqliteDriver
from recollect.testing.samples import ALICE, BOB
from tests.support.service_rig import Options, Rig

BRIEF = StreamOptions(linger=timedelta(milliseconds=20), keep=timedelta(minutes=1))


class Paced:
    """A responder that says a word whenever it is let."""

    name = "paced"

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.is_cancelled = asyncio.Event()

    async def reply(self, question: Question, hear: Hear) -> Reply:
        try:
            while (word := await self.words.get()) is not None:
                if word == "fail":
                    raise ProviderUnavailableError("down")
                hear(TextDelta(word))
        except asyncio.CancelledError:
            self.is_cancelled.set()
            raise
        return Reply()


@pytest.fixture
def responder() -> Paced:
    return Paced()


@pytest.fixture
async def rig(responder: Paced) -> AsyncIterator[Rig]:
    driver = await SqliteDriver.open(":memory:")
    yield Rig(driver, ALICE, Options(), responder=responder)
    await driver.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MOMENT", 0.02)


@pytest.fixture
async def streams(rig: Rig) -> AsyncIterator[Streams]:
    opened = Streams(rig.chat, rig.store, BRIEF)
    yield opened
    await opened.close()
    await asyncio.sleep(0)
    mine = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not mine and "streams" in repr(task.get_coro())]
    assert left == [], "a task was left behind"


def asked(conversation_id: str = "c") -> ChatRequest:
    return ChatRequest(text="a tale", conversation_id=conversation_id)


async def told(stream: Stream, after: int = 0) -> list[str]:
    return [type(event).__name__ async for _, event in stream.follow(after)]


async def stored(rig: Rig, conversation_id: str = "c") -> tuple[Message, ...]:
    return await rig.all_messages(conversation_id)


async def until_ended(stream: Stream) -> None:
    """Wait for the end without following, as nobody does."""
    while not stream.is_ended:  # noqa: ASYNC110  # whoever waited for its events would keep it going
        await asyncio.sleep(0.001)


async def test_two_follow_one_turn_and_hear_the_same(streams: Streams, responder: Paced) -> None:
    stream = streams.start(ALICE, asked())
    both = asyncio.gather(told(stream), told(stream))
    for word in ("one", " two", None):
        responder.words.put_nowait(word)
    first, second = await both
    assert first == second == ["Started", "TextDelta", "TextDelta", "Saved", "Done"]
    assert (await stream.result()).message.content == "one two"


async def test_a_turn_that_nobody_ever_follows_is_stopped_and_kept(
    streams: Streams, responder: Paced, rig: Rig
) -> None:
    stream = streams.start(ALICE, asked())
    responder.words.put_nowait("Once")
    await until_ended(stream)
    assert responder.is_cancelled.is_set()
    assert [(one.content, one.status) for one in await stored(rig)] == [
        ("a tale", "complete"),
        ("Once", "interrupted"),
    ]


@pytest.mark.spec("R17")
async def test_followers_that_go_leave_no_task_and_what_was_said_is_kept(
    streams: Streams, responder: Paced, rig: Rig
) -> None:
    for number in range(20):
        responder.is_cancelled.clear()
        stream = streams.start(ALICE, asked(f"c{number}"))
        responder.words.put_nowait("Once")
        async with aclosing(stream.follow()) as events:
            async for _, event in events:
                if isinstance(event, TextDelta):
                    break
        await until_ended(stream)
        assert responder.is_cancelled.is_set()
        assert [one.content for one in await stored(rig, f"c{number}")] == ["a tale", "Once"]


async def test_one_who_comes_back_in_time_hears_the_rest(rig: Rig, responder: Paced) -> None:
    streams = Streams(rig.chat, rig.store, StreamOptions(linger=timedelta(seconds=30)))
    stream = streams.start(ALICE, asked())
    responder.words.put_nowait("one")
    async with aclosing(stream.follow()) as events:
        seen = 0
        async for number, event in events:
            seen = number
            if isinstance(event, TextDelta):
                break
    for word in ("two", None):
        responder.words.put_nowait(word)
    assert stream.message_id is not None
    found = await streams.find(ALICE, stream.message_id)
    assert await told(found, seen) == ["TextDelta", "Saved", "Done"]
    await streams.close()


async def test_the_time_alone_begins_anew_with_each_who_goes() -> None:
    stream = Stream(ALICE)
    stream.put(Started("c", "m", ()))
    alone = asyncio.create_task(stream.left_alone(timedelta(seconds=0.2)))
    for _ in range(10):
        await asyncio.sleep(0.05)
        async with aclosing(stream.follow()) as events:
            await anext(events)
    assert not alone.done()
    await alone


async def test_what_went_wrong_is_told_and_raised(streams: Streams, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = streams.start(ALICE, ChatRequest(text="x", conversation_id="c", parent_id="nothing"))
    with pytest.raises(ConversationNotFoundError):
        await stream.begun()
    with pytest.raises(ConversationNotFoundError):
        await stream.result()
    assert await told(stream) == ["Failed"]

    async def broken(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(rig.chat, "turn", broken)
    stream = streams.start(ALICE, asked())
    assert [event async for _, event in stream.follow()] == [
        Failed("internal_error", "the turn failed (ZeroDivisionError); look into the log")
    ]
    with pytest.raises(ZeroDivisionError):
        await stream.result()


async def test_a_reply_that_fails_is_kept_and_told_before_it_is_done(streams: Streams, responder: Paced) -> None:
    stream = streams.start(ALICE, asked())
    for word in ("half", "fail"):
        responder.words.put_nowait(word)
    assert await told(stream) == ["Started", "TextDelta", "Saved", "Failed", "Done"]
    reply = await stream.result()
    assert (reply.message.content, reply.message.status) == ("half", "failed")


async def test_a_stream_is_found_by_its_user_alone_and_only_while_its_reply_is_stored(
    streams: Streams, responder: Paced, rig: Rig
) -> None:
    stream = streams.start(ALICE, asked())
    responder.words.put_nowait("one")
    responder.words.put_nowait(None)
    reply = await stream.result()
    assert await streams.find(ALICE, reply.message.id) is stream
    for stranger in (BOB, Scope("elsewhere", ALICE.user)):
        with pytest.raises(MessageNotFoundError):
            await streams.find(stranger, reply.message.id)
    await rig.conversations.delete(ALICE, "c")
    with pytest.raises(NotFoundError):
        await streams.find(ALICE, reply.message.id)


async def test_ended_streams_are_held_up_to_a_number_of_events(
    streams: Streams, responder: Paced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "MOST_EVENTS", 20)
    replies = []
    for number in range(6):
        stream = streams.start(ALICE, asked(f"c{number}"))
        for word in ("a", "b", None):
            responder.words.put_nowait(word)
        replies.append((await stream.result()).message.id)
    held = []
    for message_id in replies:
        try:
            held.append((await streams.find(ALICE, message_id)).message_id)
        except MessageNotFoundError:
            continue
    assert held == replies[-4:]


async def test_an_ended_stream_is_let_go_after_a_while(rig: Rig, responder: Paced) -> None:
    streams = Streams(rig.chat, rig.store, StreamOptions(keep=timedelta(0)))
    responder.words.put_nowait("a")
    responder.words.put_nowait(None)
    reply = await streams.start(ALICE, asked()).result()
    await asyncio.sleep(0.01)
    with pytest.raises(MessageNotFoundError):
        await streams.find(ALICE, reply.message.id)


async def test_a_turn_that_begins_while_all_end_is_kept_and_ends_too(
    streams: Streams, responder: Paced, rig: Rig
) -> None:
    first = streams.start(ALICE, asked("a"))
    responder.words.put_nowait("Once")
    async with aclosing(first.follow()) as events:
        async for _, event in events:
            if isinstance(event, TextDelta):
                break
        await streams.close()
    late = await streams.start(ALICE, asked("b")).result()
    assert late.message.status == "interrupted"
    assert [one.content for one in await stored(rig, "a")] == ["a tale", "Once"]
    assert [one.content for one in await stored(rig, "b")] == ["a tale", ""]


async def test_saved_comes_after_all_that_was_said_and_done_is_last(streams: Streams, responder: Paced) -> None:
    stream = streams.start(ALICE, asked())
    responder.words.put_nowait("a")
    responder.words.put_nowait(None)
    events = [event async for _, event in stream.follow()]
    (saved,) = [event for event in events if isinstance(event, Saved)]
    assert [(one.role, one.seq) for one in saved.messages] == [("user", 1), ("assistant", 2)]
    assert isinstance(events[-1], Done)
