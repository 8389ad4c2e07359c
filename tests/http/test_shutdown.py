"""A server that is told to end: nobody new is let in, streams are ended, what was acknowledged is there."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from pathlib import Path

import pytest

from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.support.server_process import Served, served

#: Five times what is promised, since other tests run on the same machine.
MOST_SECONDS = 5 * 10


class OpenStream:
    """A stream that a client reads."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def of(cls, port: int, request: bytes, until: bytes) -> OpenStream:
        """Send a request and read its answer up to these bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        await reader.readuntil(until)
        return cls(reader, writer)

    async def rest(self) -> bytes:
        """Return all that still comes until the other side closes."""
        rest = await self._reader.read()
        self._writer.close()
        return rest


async def hear_events(port: int) -> OpenStream:
    request = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return await OpenStream.of(port, request, b"text/event-stream")


async def hear_reply(port: int, conversation: str) -> OpenStream:
    """Begin a turn whose reply does not end, and read it up to its first word."""
    body = json.dumps({"message": f"what about {conversation}?", "conversation_id": conversation}).encode()
    head = f"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\nAccept: text/event-stream\r\n\r\n"
    return await OpenStream.of(port, head.encode() + body, b"event: delta")


@pytest.mark.spec("R18")
async def test_fifty_streams_are_ended_and_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'a.db'}"
    conversations = [f"c-{number}" for number in range(25)]
    async with ScriptedModelServer() as model:
        model.script(*(ScriptedReply(text=("Well", "..."), fault=Fault.STALL) for _ in conversations))
        environ = {"RECOLLECT_SERVER_MAX_STREAMS": "0", "RECOLLECT_MODEL_URL": f"{model.url}/v1"}
        with served(database, tmp_path, environ) as opened:
            for conversation in conversations:
                opened.client.post("/api/conversations", json={"id": conversation}).raise_for_status()
            replies = await asyncio.gather(*(hear_reply(opened.port, one) for one in conversations))
            events = await asyncio.gather(*(hear_events(opened.port) for _ in range(25)))
            opened.process.send_signal(signal.SIGTERM)
            told = await asyncio.gather(*(stream.rest() for stream in (*replies, *events)))
            assert await asyncio.to_thread(opened.process.wait, MOST_SECONDS) == 0
    assert all(one.endswith(b"0\r\n\r\n") for one in told), "a stream was broken off instead of being ended"
    assert all(b"event: saved" in one for one in told[:25])
    with served(database, tmp_path) as opened:
        for conversation in conversations:
            page = opened.client.get(f"/api/conversations/{conversation}/messages").json()
            kept = [(one["role"], one["content"], one["status"]) for one in page["items"]]
            assert kept == [
                ("user", f"what about {conversation}?", "complete"),
                ("assistant", "Well", "interrupted"),
            ]


def rest_of(stream: socket.socket) -> bytes:
    """Return all that still comes until the other side closes."""
    parts = []
    while part := stream.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def test_a_request_under_way_is_answered_and_a_new_connection_is_refused(tmp_path: Path) -> None:
    body = b'{"id": "late", "title": "on the way"}'
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        under_way = opened.connected()
        head = f"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        under_way.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:10])
        # An answer to a later connection proves that the first one was accepted.
        assert opened.client.get("/healthz").status_code == 200
        opened.process.send_signal(signal.SIGTERM)
        wait_until_refused(opened)
        under_way.sendall(body[10:])
        assert rest_of(under_way).startswith(b"HTTP/1.1 201 ")
        under_way.close()
        assert opened.process.wait(20) == 0


def wait_until_refused(opened: Served) -> None:
    while True:
        try:
            opened.connected().close()
        except ConnectionResetError:
            # It closed the socket while this one waited to be accepted; the next is refused.
            continue
        except ConnectionRefusedError:
            return


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        stuck = opened.connected()
        stuck.sendall(b"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert opened.client.get("/healthz").status_code == 200
        opened.process.send_signal(signal.SIGTERM)
        wait_until_refused(opened)
        opened.process.send_signal(signal.SIGTERM)
        assert opened.process.wait(20) == -signal.SIGTERM
        stuck.close()
