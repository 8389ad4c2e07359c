"""Deadlines of one connection, looked at with a time of our choosing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from recollect.http.connections import MOST_SECONDS_UNREAD, ConnectionLimits, GuardedProtocol, guarded

SECONDS = 10.0
REQUEST = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"


class Wire(asyncio.Transport):
    """The other side of a connection: it keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.end = "open"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return self.end != "open"

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Read all of a body, then answer."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def impatient(scope: Any, receive: Any, send: Any) -> None:
    """Answer without reading the body."""
    await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def opened(app: Any = application, limits: ConnectionLimits | None = None) -> tuple[GuardedProtocol, Wire]:
    limits = limits or ConnectionLimits(head_seconds=SECONDS)
    config = uvicorn.Config(app, http=guarded(limits), log_config=None, lifespan="off")
    protocol = guarded(limits)(config=config, server_state=ServerState(), app_state={})
    wire = Wire()
    protocol.connection_made(wire)
    return protocol, wire


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_head_has_its_time_and_no_more() -> None:
    protocol, wire = opened()
    now = time.monotonic()
    protocol.data_received(b"GET / HTTP/1.1\r\nHost:")
    protocol.look(now + SECONDS - 1)
    assert wire.end == "open"
    protocol.look(now + SECONDS + 1)
    assert wire.end == "closed"
    assert wire.sent.startswith(b"HTTP/1.1 408 ")


async def test_a_connection_that_rests_between_two_requests_is_left_to_its_own_limit() -> None:
    protocol, wire = opened()
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await settled()
    assert wire.sent.startswith(b"HTTP/1.1 204 ")
    protocol.look(time.monotonic() + 1000)
    assert wire.end == "open"
    protocol.data_received(b"\r\n")
    protocol.look(time.monotonic() + SECONDS + 1)
    assert wire.end == "closed"


async def test_a_body_must_bring_its_bytes() -> None:
    protocol, wire = opened()
    protocol.data_received(REQUEST)
    now = time.monotonic()
    protocol.data_received(b"x" * 20_000)
    await settled()
    protocol.look(now + SECONDS + 19)
    assert wire.end == "open"
    protocol.look(now + SECONDS + 21)
    assert wire.end == "closed"
    assert wire.sent.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_we_do_not_read_is_not_held_against_its_sender() -> None:
    async def busy(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    protocol, wire = opened(busy)
    protocol.data_received(REQUEST)
    protocol.data_received(b"x" * 200_000)
    await settled()
    assert protocol.flow.read_paused
    protocol.look(time.monotonic() + 1000)
    assert wire.end == "open"
    for task in protocol.tasks:
        task.cancel()
    await settled()


async def test_a_body_that_comes_after_its_answer_is_read_for_a_while_only() -> None:
    protocol, wire = opened(impatient)
    protocol.data_received(REQUEST)
    await settled()
    assert wire.sent.startswith(b"HTTP/1.1 401 ")
    now = time.monotonic()
    protocol.data_received(b"x" * 500_000)
    protocol.look(now + SECONDS - 1)
    assert wire.end == "open"
    protocol.look(now + SECONDS + 1)
    assert wire.end == "aborted"


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    protocol, wire = opened()
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await settled()
    now = time.monotonic()
    protocol.pause_writing()
    protocol.look(now + MOST_SECONDS_UNREAD - 1)
    assert wire.end == "open"
    protocol.resume_writing()
    protocol.look(now + MOST_SECONDS_UNREAD + 1)
    assert wire.end == "open"
    protocol.pause_writing()
    wire.end = "closed"
    protocol.look(time.monotonic() + MOST_SECONDS_UNREAD + 1)
    assert wire.end == "aborted"


async def test_two_requests_at_once_are_answered_in_order() -> None:
    protocol, wire = opened()
    protocol.data_received(b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await settled()
    await settled()
    assert wire.sent.count(b"HTTP/1.1 204 ") == 2
    protocol.look(time.monotonic() + 1000)
    assert wire.end == "open"


async def test_a_header_that_does_not_end_is_refused_before_it_fills_the_memory() -> None:
    protocol, wire = opened(limits=ConnectionLimits(head_bytes=1_000))
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
    sent = 0
    while wire.end == "open" and sent < 10_000_000:
        protocol.data_received(b"x" * 10_000)
        sent += 10_000
    assert wire.sent.startswith(b"HTTP/1.1 431 ")
    assert sent < 300_000


async def test_a_head_is_counted_however_it_is_cut() -> None:
    for piece in (1, 7, 5_000):
        protocol, wire = opened(limits=ConnectionLimits(head_bytes=1_000))
        head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 2_000 + b"\r\n\r\n"
        for start in range(0, len(head), piece):
            protocol.data_received(head[start : start + piece])
        assert wire.sent.startswith(b"HTTP/1.1 431 "), piece
        assert wire.end == "closed"
