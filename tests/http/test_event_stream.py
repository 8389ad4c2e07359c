"""A stream of server-sent events: how it beats, and that nothing is left over however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from recollect.http.routes.events import _told
from recollect.http.sse import EventStream, sse
from recollect.ports.events import Event
from recollect.storage.local_events import LocalEvents
from recollect.testing.samples import ALICE


class Connection:
    """A client of one stream, as the server sees it."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.sent.put(message)

    async def body(self) -> bytes:
        """Return the next part of the body, or nothing at its end."""
        async with asyncio.timeout(20):
            message = await self.sent.get()
        assert message["type"] == "http.response.body"
        return bytes(message["body"])


class Source:
    """Events that a test gives, and whether their reading was ended."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.is_closed = False
        self.is_held = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        try:
            while (event := await self.given.get()) is not None:
                yield event
        finally:
            self.is_closed = True

    @contextmanager
    def held(self) -> Iterator[None]:
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False


class Streamed:
    """A stream that is being sent."""

    def __init__(self, heartbeat: float = 3_600) -> None:
        self.source, self.connection, self.stopping = Source(), Connection(), asyncio.Event()
        held = self.source.held()
        held.__enter__()
        stream = EventStream(self.source.events(), stopping=self.stopping, held=held, heartbeat=heartbeat)
        scope = {"type": "http"}
        self.task = asyncio.create_task(stream(scope, self.connection.receive, self.connection.send))

    async def begun(self) -> dict[bytes, bytes]:
        """Return the headers, once the stream is open."""
        async with asyncio.timeout(20):
            start = await self.connection.sent.get()
        assert await self.connection.body() == b": still here\n\n"
        return dict(start["headers"])

    async def ended(self) -> tuple[bool, bool]:
        """Wait for the end and tell whether the source is closed, and whether anything is still held."""
        async with asyncio.timeout(20):
            await asyncio.gather(self.task, return_exceptions=True)
        return self.source.is_closed, self.source.is_held


async def test_events_are_sent_one_by_one_and_the_last_ends_the_stream() -> None:
    stream = Streamed()
    headers = await stream.begun()
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert headers[b"cache-control"] == b"no-store"
    assert b"content-length" not in headers
    for event in (sse("a", 1), sse("b", 2)):
        await stream.source.given.put(event)
        assert await stream.connection.body() == event
    await stream.source.given.put(None)
    assert await stream.connection.body() == b""
    assert await stream.ended() == (True, False)


async def test_a_silent_stream_shows_that_it_lives() -> None:
    stream = Streamed(heartbeat=0.001)
    await stream.begun()
    assert [await stream.connection.body() for _ in range(3)] == [b": still here\n\n"] * 3
    stream.connection.gone.set()
    assert await stream.ended() == (True, False)


async def test_a_client_that_goes_ends_the_stream() -> None:
    stream = Streamed()
    await stream.begun()
    await stream.source.given.put(sse("a", 1))
    assert await stream.connection.body() == sse("a", 1)
    stream.connection.gone.set()
    assert await stream.ended() == (True, False)
    assert stream.connection.sent.empty()


async def test_a_server_that_stops_ends_the_stream_properly() -> None:
    stream = Streamed()
    await stream.begun()
    stream.stopping.set()
    assert await stream.connection.body() == b""
    assert await stream.ended() == (True, False)


async def test_a_cancelled_stream_leaves_nothing_behind() -> None:
    stream = Streamed()
    await stream.begun()
    await stream.source.given.put(sse("a", 1))
    await stream.connection.body()
    before = asyncio.all_tasks()
    stream.task.cancel()
    assert await stream.ended() == (True, False)
    assert asyncio.all_tasks() < before


async def test_a_source_that_fails_gives_everything_back() -> None:
    async def failing() -> AsyncGenerator[bytes, None]:
        yield sse("a", 1)
        raise ConnectionError("the source broke")

    connection, source = Connection(), Source()
    held = source.held()
    held.__enter__()
    stream = EventStream(failing(), stopping=asyncio.Event(), held=held)
    with pytest.raises(ConnectionError):
        await stream({"type": "http"}, connection.receive, connection.send)
    assert not source.is_held


@pytest.mark.parametrize(
    ("data", "id", "written"),
    [
        ({"text": "two\nlines\r\u2028"}, None, b'event: e\ndata: {"text":"two\\nlines\\r\xe2\x80\xa8"}\n\n'),
        (None, "7-1", b"id: 7-1\nevent: e\ndata: null\n\n"),
    ],
)
def test_an_event_is_one_line_of_data_whatever_it_holds(data: object, id: str | None, written: bytes) -> None:  # noqa: A002  # the name of the field
    assert sse("e", data, id) == written


async def test_lost_events_are_told_as_an_overflow() -> None:
    events = LocalEvents(size=2)
    subscription = events.subscribe(ALICE)
    events.publish(Event(kind="job.updated", scope=ALICE, entity_id=str(number)) for number in range(5))
    told = _told(subscription)
    heard = [await anext(told) for _ in range(3)]
    assert heard == [sse("overflow", {"id": None}), *(sse("job.updated", {"id": one}) for one in ("3", "4"))]
    await told.aclose()
