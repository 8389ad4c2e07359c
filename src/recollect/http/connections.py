"""Connections that keep a server busy without asking anything: slow heads, slow bodies, and answers nobody reads.

The protocol below it waits for all of them for ever. Here each connection knows since when it waits for what, and
`RecollectServer` looks at all of them once a second, which costs less than a timer for each.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Any, ClassVar

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from recollect.bootstrap import new_id
from recollect.errors import LimitExceededError
from recollect.http.request_id import HEADER as REQUEST_ID

#: Bytes a second that a body must bring on the whole, once its time to begin is over.
LEAST_BYTES_PER_SECOND = 1_000
#: Bytes that are read from a connection at once.
READ_BYTES = 262_144
#: Seconds that an answer may wait for its reader.
MOST_SECONDS_UNREAD = 30.0


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how large."""

    head_seconds: float = 10.0
    head_bytes: int = 65_536
    connections: int = 4_000


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection, with deadlines."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: Since when a head is awaited; None while none is, or while a connection rests between two requests.
        self._head_since: float | None = None
        self._head_bytes = 0
        self._unfinished_bytes = 0
        self._body_since: float | None = None
        self._body_bytes = 0
        self._unread_since: float | None = None
        self._refusal = HTTPStatus.BAD_REQUEST

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent does
        """Begin to wait for a head, or refuse one connection too many."""
        super().connection_made(transport)
        self._head_since = time.monotonic()
        if len(self.connections) > self.limits.connections:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, LimitExceededError.code, "too many connections; come back later"
            )

    def data_received(self, data: bytes) -> None:
        """Read on; the first byte after an answer begins a head."""
        if self.transport.is_closing():
            return
        if self._head_since is None and self._body_since is None and self._is_idle():
            self._head_since = time.monotonic()
        super().data_received(data)
        if self._head_since is not None:
            self._count_unfinished(len(data))

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._head_bytes = self._unfinished_bytes = 0
        if self._head_since is None:
            self._head_since = time.monotonic()

    def on_url(self, url: bytes) -> None:
        """Count the request line."""
        super().on_url(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        super().on_header(name, value)
        self._count_head(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        """Wait for a body from now on."""
        self._head_since = None
        self._body_since, self._body_bytes = time.monotonic(), 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a part of a body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing more."""
        self._body_since = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Note that nobody reads the answer."""
        self._unread_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that somebody reads the answer."""
        self._unread_since = None
        super().resume_writing()

    def look(self, now: float) -> None:
        """End the connection if it takes too long for what it does."""
        if self._unread_since is not None:
            # Also of one that is closing: what was said last may wait for a reader who never reads.
            self._end_unread(now, self._unread_since)
        elif self.transport.is_closing():
            return
        elif self._head_since is not None:
            if now - self._head_since > self.limits.head_seconds:
                self._time_out("the head of the request took too long; send it at once")
        elif self._body_since is not None:
            self._look_at_body(now, self._body_since)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or more of it than is read."""
        if self._refusal is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            most = self.limits.head_bytes
            self._refuse(self._refusal, LimitExceededError.code, f"the head has more than {most} bytes; send less")
        else:
            self._refuse(self._refusal, "http_error", "this is no HTTP/1.1 that the server understands")

    def _look_at_body(self, now: float, since: float) -> None:
        if self.flow.read_paused:
            # We are the one who waits: nothing is held against the sender.
            self._body_since, self._body_bytes = now, 0
            return
        late = now - since - self.limits.head_seconds
        if self.cycle.response_complete:
            # It was answered without its body; what still comes is read to its end for a while only.
            if late > 0:
                self.transport.abort()
        elif late > 0 and self._body_bytes < late * LEAST_BYTES_PER_SECOND:
            self._time_out("the body of the request took too long; send it at once")

    def _is_idle(self) -> bool:
        return self._last is None or self._last.response_complete

    @property
    def _last(self) -> RequestResponseCycle | None:
        """Return the request that came last, if any came; its parent leaves out that there may be none."""
        return self.cycle

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.limits.head_bytes:
            self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise ValueError("the head is too large")

    def _count_unfinished(self, size: int) -> None:
        """Count what the parser holds of a header that has not ended; the end of another request may be in it."""
        self._unfinished_bytes += size
        if self._unfinished_bytes > self.limits.head_bytes + READ_BYTES and not self.transport.is_closing():
            self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self.send_400_response("")

    def _end_unread(self, now: float, since: float) -> None:
        if now - since > MOST_SECONDS_UNREAD:
            self.transport.abort()

    def _time_out(self, detail: str) -> None:
        if self._last is not None and self._last.response_started and not self._last.response_complete:
            self.transport.abort()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", detail)

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        """Answer with a problem outside of any request, and close."""
        request_id = new_id()
        body = msgspec.json.encode(
            {
                "type": "about:blank",
                "title": status.phrase,
                "status": int(status),
                "detail": detail,
                "code": code,
                "request_id": request_id,
            }
        )
        head = (
            f"HTTP/1.1 {int(status)} {status.phrase}\r\n"
            f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
            f"{REQUEST_ID.lower()}: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def guarded(limits: ConnectionLimits) -> type[GuardedProtocol]:
    """Return the protocol with these limits."""
    return type("LimitedProtocol", (GuardedProtocol,), {"limits": limits})
