"""A real HTTP server on this machine that plays a model: it answers from a script, and misbehaves on demand.

It speaks the protocols of OpenAI, Anthropic and Google, and OpenAI's embeddings, by the path of the request.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from recollect.ports.chat_model import ModelRequest
from recollect.testing.models.script import ECHO, JSON_FAULTS, Fault, ScriptedReply
from recollect.testing.models.vectors import EmbeddingsWire
from recollect.testing.models.wire import AnthropicWire, GeminiWire, OpenAIWire, Wire

WireProtocol = Literal["openai", "anthropic", "gemini"]
#: What is spoken to a server of any kind.
ServerProtocol = WireProtocol | Literal["embeddings"]

_WIRES: dict[ServerProtocol, Callable[[Any], Wire]] = {
    "embeddings": EmbeddingsWire,
    "openai": OpenAIWire,
    "anthropic": AnthropicWire,
    "gemini": GeminiWire,
}
_STATUSES = {
    Fault.RATE_LIMITED: "429 Too Many Requests",
    Fault.SERVER_ERROR: "500 Internal Server Error",
    Fault.OVERLOADED: "503 Service Unavailable",
    Fault.REJECTED: "400 Bad Request",
    Fault.UNAUTHORISED: "401 Unauthorized",
    Fault.REDIRECT: "307 Temporary Redirect",
}
_GARBAGE = bytes((7 * n * n + n // 256) % 256 for n in range(5_000)) * 10
_FRAGMENT = 7
_PAUSE = 0.02


class SeenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a client sent."""

    protocol: ServerProtocol
    path: str
    headers: Mapping[str, str]
    body: Any
    #: The same in the words of the port; None if it was not written in full.
    request: ModelRequest | None


class ScriptedModelServer:
    """Answer each request with the next reply of the script, and then with the user's own words.

    >>> async def ask() -> None:
    ...     async with ScriptedModelServer() as server:
    ...         server.script(ScriptedReply(fault=Fault.OVERLOADED), ScriptedReply())
    """

    def __init__(self) -> None:
        #: All requests, in order.
        self.seen: list[SeenRequest] = []
        #: Connections since the start.
        self.accepted = 0
        #: What went wrong inside the server itself; a test that uses it wants this empty.
        self.errors: list[BaseException] = []
        self._script: deque[ScriptedReply] = deque()
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._changed = asyncio.Event()

    @property
    def url(self) -> str:
        """Give the address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def connections(self) -> int:
        """Count the connections that are open now."""
        return len(self._open)

    def script(self, *replies: ScriptedReply) -> None:
        """Answer the next requests with these, instead of what is left of the script."""
        self._script = deque(replies)

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        while self._open:
            self._changed.clear()
            await self._changed.wait()

    async def all_seen(self, count: int) -> None:
        """Wait until this many requests have come."""
        while len(self.seen) < count:
            self._changed.clear()
            await self._changed.wait()

    @asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """Refuse connections inside the block."""
        await self._stop()
        yield
        await self._start()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=2**24)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await self.all_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._open.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client went away, which is its right.
            pass
        except (ValueError, KeyError, TypeError, LookupError, AssertionError) as exc:
            self.errors.append(exc)
        finally:
            writer.transport.abort()
            self._open.discard(writer)
            self._changed.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request and tell whether the connection may be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        protocol = _protocol(path)
        wire = _WIRES[protocol](body)
        request = _read(wire)
        self.seen.append(SeenRequest(protocol=protocol, path=path, headers=headers, body=body, request=request))
        self._changed.set()
        reply = self._script.popleft() if self._script else ECHO
        if reply.echo and request is not None:
            reply = msgspec.structs.replace(reply, text=(request.messages[-1].text,))
        if isinstance(wire, EmbeddingsWire):
            wire.fault, wire.shuffled = reply.vectors, reply.shuffled
            reply = msgspec.structs.replace(reply, whole=reply.fault in {None, Fault.DISCONNECT})
        return await Answer(reply, protocol, wire, reader, writer).send()


class Answer:
    """One answer on its way."""

    def __init__(
        self,
        reply: ScriptedReply,
        protocol: ServerProtocol,
        wire: Wire,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._reply = reply
        self._protocol = protocol
        self._wire = wire
        self._reader = reader
        self._writer = writer

    async def send(self) -> bool:
        """Send it and tell whether the connection may be used again."""
        fault = self._reply.fault
        if fault in _STATUSES:
            await self._refuse(_STATUSES[fault])
            return True
        odd = self._instead().get(fault) if fault else None
        if odd is not None:
            await odd()
            return False
        if self._reply.whole:
            await asyncio.sleep(self._reply.delay)
            text, calls = "".join(self._reply.text), self._reply.tool_calls
            cut = fault is Fault.DISCONNECT
            await self._document("application/json", self._wire.whole(text, calls, self._reply.usage), cut=cut)
            return not cut
        await self._head("200 OK", "content-type: text/event-stream", "transfer-encoding: chunked")
        if self._reply.delay:
            await asyncio.sleep(self._reply.delay)
        during = self._during().get(fault) if fault else None
        if during is not None:
            await during()
            return False
        await self._tell()
        await self._raw(b"0\r\n\r\n")
        return True

    async def _tell(self) -> None:
        """Send a whole reply, or one that is odd only in what it says."""
        reply, fault, wire = self._reply, self._reply.fault, self._wire
        await self._events(wire.begin())
        if fault is Fault.REFUSAL:
            return await self._events(wire.refusal(), done=True)
        text, reason = reply.text, reply.reason
        if fault in JSON_FAULTS:
            text = (JSON_FAULTS[fault],)
            reason = "length" if fault is Fault.TRUNCATED_JSON else "stop"
        if fault is not Fault.EMPTY:
            for piece in text:
                await self._events(wire.text(piece))
        calls = reply.tool_calls * {Fault.DUPLICATE_CALL: 2, Fault.EMPTY: 0}.get(fault or Fault.PROSE, 1)
        for number, call in enumerate(calls):
            cut, unnamed = fault is Fault.PARTIAL_CALL, fault is Fault.CALLS_WITHOUT_ID
            await self._events(wire.call(number, call, cut=cut, unnamed=unnamed))
        await self._events(wire.end("tool_calls" if calls and reason == "stop" else reason, reply.usage), done=True)
        return None

    def _instead(self) -> dict[Fault, Callable[[], Awaitable[object]]]:
        """Tell what to do instead of answering."""
        return {
            Fault.SILENT: self._wait_for_the_client,
            Fault.HANG_UP: self._nothing,
            Fault.NOT_HTTP: lambda: self._raw(b"\x00\x01SSH-2.0-none\r\n\r\n" * 10),
            Fault.WEB_PAGE: lambda: self._document("text/html; charset=utf-8", "<html>Please log in</html>"),
            Fault.COMPRESSED: self._compressed,
            Fault.ENDLESS_ERROR: self._endless_error,
        }

    def _during(self) -> dict[Fault, Callable[[], Awaitable[object]]]:
        """Tell what to do in the middle of a stream."""
        return {
            Fault.LATE: lambda: self._endless(b": still thinking\n\n", _PAUSE),
            Fault.STALL: lambda: self._then(lambda: self._endless(b": still there\n\n", _PAUSE)),
            Fault.DRIP: self._drip,
            Fault.TRICKLE: lambda: self._endless_text(_PAUSE),
            Fault.DISCONNECT: lambda: self._then(self._nothing),
            Fault.CUT_SHORT: lambda: self._then(lambda: self._raw(b"0\r\n\r\n")),
            Fault.ERROR_EVENT: lambda: self._events([*self._wire.begin(), *self._wire.error()]),
            Fault.TRUNCATED_EVENT: self._truncated,
            Fault.GARBAGE: lambda: self._closed(_GARBAGE),
            Fault.HUGE_LINE: lambda: self._endless(b"data: " + b"x" * 60_000),
            Fault.ENDLESS: lambda: self._endless_text(0.0),
            Fault.ENDLESS_COMMENTS: lambda: self._endless(b": " + b"x" * 1000 + b"\n"),
            Fault.INVALID_UTF8: lambda: self._odd_text("caf@ol\u00e9", b"@", b"\xc3\xff\xfe"),
            Fault.SURROGATES: lambda: self._odd_text("a@b", b"@", rb"\ud83d x \ude00 \u0000 \ud83d"),
        }

    async def _events(self, events: list[dict[str, Any]], *, done: bool = False) -> None:
        for event in events:
            await self._event(_frame(self._protocol, event, ragged=self._reply.ragged))
        if done and self._protocol == "openai":
            await self._event(b"data: [DONE]\n\n")

    async def _event(self, frame: bytes) -> None:
        if not self._reply.ragged:
            return await self._chunk(frame)
        frame = b": a comment\r\n" + frame.replace(b"\n", b"\r\n")
        for start in range(0, len(frame), _FRAGMENT):
            await self._chunk(frame[start : start + _FRAGMENT])
        return None

    async def _then(self, rest: Callable[[], Awaitable[object]]) -> None:
        await self._events([*self._wire.begin(), *self._wire.text(self._reply.text[0])])
        await rest()

    async def _closed(self, body: bytes) -> None:
        await self._chunk(body)
        await self._raw(b"0\r\n\r\n")

    async def _truncated(self) -> None:
        frame = _frame(self._protocol, self._wire.text("Hello")[0])
        await self._closed(frame[: len(frame) // 2] + b"\n\n")

    async def _odd_text(self, text: str, mark: bytes, bytes_instead: bytes) -> None:
        await self._events(self._wire.begin())
        await self._event(_frame(self._protocol, self._wire.text(text)[0]).replace(mark, bytes_instead))
        await self._events(self._wire.end("stop", None), done=True)
        await self._raw(b"0\r\n\r\n")

    async def _drip(self) -> None:
        frame = b"".join(_frame(self._protocol, event) for event in self._wire.text("drop "))
        while True:
            for byte in frame:
                await self._chunk(bytes([byte]))
                await asyncio.sleep(_PAUSE)

    async def _endless_text(self, pause: float) -> None:
        await self._events(self._wire.begin())
        await self._endless(b"".join(_frame(self._protocol, event) for event in self._wire.text("again ")), pause)

    async def _endless(self, body: bytes, pause: float = 0.0) -> None:
        while True:
            await self._chunk(body)
            await asyncio.sleep(pause)

    async def _compressed(self) -> None:
        await self._head(
            "200 OK", "content-type: text/event-stream", "content-encoding: gzip", "transfer-encoding: chunked"
        )
        await self._endless(b"\x1f\x8b" + b"\x00" * 1000)

    async def _endless_error(self) -> None:
        await self._head("500 Internal Server Error", "transfer-encoding: chunked")
        await self._endless(b"y" * 10_000)

    async def _refuse(self, status: str) -> None:
        body = json.dumps({"error": {"message": self._reply.said, "type": "invalid_request_error"}}).encode()
        headers = [f"content-length: {len(body)}", "content-type: application/json"]
        if self._reply.retry_after is not None:
            headers.append(f"retry-after: {self._reply.retry_after}")
        if self._reply.fault is Fault.REDIRECT:
            headers.append("location: /v1/chat/completions")
        await self._head(status, *headers)
        await self._raw(body)

    async def _document(self, kind: str, content: Any, *, cut: bool = False) -> None:
        body = content.encode() if isinstance(content, str) else _encoded(content)
        await self._head("200 OK", f"content-type: {kind}", f"content-length: {len(body)}")
        await self._raw(body[: len(body) // 2] if cut else body)

    async def _wait_for_the_client(self) -> None:
        # A client sends no more, so this ends when it hangs up.
        await self._reader.read(1)

    async def _nothing(self) -> None:
        return None

    async def _head(self, status: str, *headers: str) -> None:
        await self._raw("\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode())

    async def _chunk(self, body: bytes) -> None:
        await self._raw(f"{len(body):x}\r\n".encode() + body + b"\r\n")

    async def _raw(self, body: bytes) -> None:
        self._writer.write(body)
        await self._writer.drain()


def _protocol(path: str) -> ServerProtocol:
    if path.endswith("/embeddings"):
        return "embeddings"
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/v1/messages"):
        return "anthropic"
    if ":streamGenerateContent?alt=sse" in path:
        return "gemini"
    raise LookupError(path)


def _read(wire: Wire) -> ModelRequest | None:
    try:
        return wire.request()
    except StopIteration:
        return None


def _frame(protocol: ServerProtocol, event: dict[str, Any], *, ragged: bool = False) -> bytes:
    name = f"event: {event['type']}\n".encode() if protocol == "anthropic" else b""
    lines = _encoded(event, indent=1 if ragged else None).split(b"\n")
    return name + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"


def _encoded(value: Any, indent: int | None = None) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent).encode()
