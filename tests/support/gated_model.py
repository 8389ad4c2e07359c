"""A model that says the beginning of a reply and the rest when a test lets it, for tests of what happens in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from recollect.domain.turn import Usage
from recollect.testing.models.wire import OpenAIWire

BEGINNING = "I heard: "
#: How much of a long message is said again.
LONGEST = 60
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class GatedModel:
    """Answer with the user's own words, after `BEGINNING`; inside `holding` a reply stops there."""

    def __init__(self) -> None:
        #: How often a reply was begun.
        self.begun = 0
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """Give the address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        """Say no more than the beginning of a reply until the block ends."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=2**24)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._open.set()
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            body = await _body(reader)
            self.begun += 1
            wire = OpenAIWire(body)
            said = next(one["content"] for one in reversed(body["messages"]) if one["role"] == "user").splitlines()[-1]
            writer.write(_HEAD)
            await _tell(writer, [*wire.begin(), *wire.text(BEGINNING)])
            await self._open.wait()
            await _tell(writer, [*wire.text(said[:LONGEST]), *wire.end("stop", Usage(input_tokens=7, output_tokens=3))])
            writer.write(b"data: [DONE]\n\n")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            # Whoever asked went away, as a server does that is killed.
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


async def _body(reader: asyncio.StreamReader) -> dict[str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in head if line.startswith("content-length:"))
    body: dict[str, Any] = json.loads(await reader.readexactly(length))
    return body


async def _tell(writer: asyncio.StreamWriter, events: list[dict[str, Any]]) -> None:
    for event in events:
        writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
    await writer.drain()
