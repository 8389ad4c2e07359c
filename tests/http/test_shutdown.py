"""A server that is told to end: nobody new is let in, streams are ended, what was acknowledged is there."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.server_process import Served, served

#: Five times what is promised, since other tests run on the same machine.
MOST_SECONDS = 5 * 10


def events_of(opened: Served) -> socket.socket:
    """Return an open stream of events whose first bytes have come."""
    stream = opened.connected()
    stream.sendall(f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{opened.port}\r\n\r\n".encode())
    assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
    return stream


def rest_of(stream: socket.socket) -> bytes:
    """Return all that still comes until the other side closes."""
    parts = []
    while part := stream.recv(65_536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.spec("R18")
def test_fifty_streams_are_ended_and_nothing_that_was_acknowledged_is_lost(
    tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    database = f"sqlite:///{tmp_path / 'a.db'}"
    said = [f"fact number {number}" for number in range(count(20, 100))]
    with served(database, tmp_path, {"RECOLLECT_SERVER_MAX_STREAMS": "0"}) as opened:
        streams = [events_of(opened) for _ in range(50)]
        for words in said:
            answer = opened.client.post(
                "/api/conversations/kept/messages", json={"messages": [{"role": "user", "content": words}]}
            )
            if answer.status_code == 404:
                opened.client.post("/api/conversations", json={"id": "kept"}).raise_for_status()
                answer = opened.client.post(
                    "/api/conversations/kept/messages", json={"messages": [{"role": "user", "content": words}]}
                )
            answer.raise_for_status()
        opened.process.send_signal(signal.SIGTERM)
        ends = [rest_of(stream) for stream in streams]
        assert opened.process.wait(MOST_SECONDS) == 0
        for stream in streams:
            stream.close()
    assert all(end.endswith(b"0\r\n\r\n") for end in ends), "a stream was broken off instead of being ended"
    with served(database, tmp_path) as opened:
        page = opened.client.get("/api/conversations/kept/messages", params={"limit": 200}).json()
        assert [message["content"] for message in page["items"]] == said


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
