"""Connections that hold on without asking anything are dropped, and meanwhile the server answers."""

from __future__ import annotations

import resource
import selectors
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import Served, served

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@pytest.fixture(scope="module")
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("quick")
    environ = {"RECOLLECT_SERVER_HEADER_TIMEOUT_SECONDS": "1", "RECOLLECT_SERVER_MAX_HEADER_BYTES": "20000"}
    with served(f"sqlite:///{folder / 'a.db'}", folder, environ) as opened:
        yield opened


def dropped(sockets: list[socket.socket], seconds: float, trickle: bytes = b"") -> int:
    """Return how many are closed by the other side within the time; each sends a byte now and then until it is."""
    with selectors.DefaultSelector() as watched:
        for one in sockets:
            one.setblocking(False)
            watched.register(one, selectors.EVENT_READ)
        closed = 0
        rounds = int(seconds / 0.5)
        for _ in range(rounds):
            for key, _events in watched.select(0.5):
                assert isinstance(key.fileobj, socket.socket)
                if is_closed(key.fileobj):
                    watched.unregister(key.fileobj)
                    closed += 1
            if closed == len(sockets):
                break
            for key in list(watched.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                send(key.fileobj, trickle)
    return closed


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(65_536) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def send(one: socket.socket, part: bytes) -> None:
    try:
        one.send(part)
    except (BlockingIOError, ConnectionError):
        return


@pytest.mark.spec("R21")
@pytest.mark.usefixtures("many_files")
def test_a_thousand_slow_heads_are_dropped_while_health_answers(quick: Served) -> None:
    sockets = [quick.connected() for _ in range(1_000)]
    for one in sockets:
        one.sendall(HEAD)
    assert quick.client.get("/healthz").status_code == 200
    assert dropped(sockets, 15, b"x") == 1_000
    assert quick.client.get("/healthz").status_code == 200
    for one in sockets:
        one.close()


@pytest.mark.spec("R21")
@pytest.mark.torture
@pytest.mark.usefixtures("many_files")
def test_a_thousand_slow_heads_are_dropped_within_fifteen_seconds_by_default(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        sockets = [opened.connected() for _ in range(1_000)]
        for one in sockets:
            one.sendall(HEAD)
        assert opened.client.get("/healthz").status_code == 200
        assert dropped(sockets, 15, b"x") == 1_000
        for one in sockets:
            one.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        b"GET / HT",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD,
        b"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
        b"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"POST /api/conversations HTTP/1.1\r\nHost: attacker\r\nContent-Length: 1000000\r\n\r\n{",
    ],
    ids=["nothing", "empty lines", "half a line", "second head", "body", "chunks", "refused body"],
)
def test_whatever_it_is_that_does_not_come_the_connection_ends(quick: Served, sent: bytes) -> None:
    with quick.connected() as slow:
        slow.sendall(sent)
        trickle = b"\r\n" if sent == b"\r\n" else b""
        assert dropped([slow], 10, trickle) == 1


def test_a_head_without_end_is_refused(quick: Served) -> None:
    with quick.connected() as large:
        large.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Large: " + b"x" * 15_000 + b"\r\n")
        large.sendall(b"X-Larger: " + b"x" * 15_000 + b"\r\n\r\n")
        answer = large.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"application/problem+json" in answer


def test_what_is_no_http_is_refused_with_a_problem(quick: Served) -> None:
    with quick.connected() as odd:
        odd.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        answer = odd.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer


def test_a_slow_but_steady_body_is_read_to_its_end(quick: Served) -> None:
    body = b'{"title": "' + b"x" * 200 + b'"}'
    head = f"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body) + 6_000}\r\n"
    with quick.connected() as steady:
        steady.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n")
        for _ in range(6):
            steady.sendall(b" " * 1_000)
            assert dropped([steady], 0.5) == 0
        steady.setblocking(True)
        steady.sendall(body)
        assert steady.recv(65_536).startswith(b"HTTP/1.1 201 ")


def test_one_connection_too_many_is_told_to_come_back(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, {"RECOLLECT_SERVER_MAX_CONNECTIONS": "5"}) as opened:
        opened.client.close()
        held = [opened.connected() for _ in range(5)]
        with opened.connected() as more:
            assert more.recv(65_536).startswith(b"HTTP/1.1 503 ")
        for one in held:
            one.close()
