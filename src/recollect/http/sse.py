"""Server-sent events: how one is written, and a response that stays open until either side has enough.

It knows nothing of what the events tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, nullcontext

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

#: How long a stream may be silent, in seconds, before a comment shows that it lives.
HEARTBEAT = 15.0
_ALIVE = b": still here\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def sse(event: str, data: object, id: str | None = None) -> bytes:  # noqa: A002  # the name of the field
    r"""Return one event as it is sent; its data is JSON, which has no line breaks.

    >>> sse("delta", {"text": "a\nb"}, "7")
    b'id: 7\nevent: delta\ndata: {"text":"a\\nb"}\n\n'
    """
    numbered = b"" if id is None else b"id: %b\n" % id.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (numbered, event.encode(), msgspec.json.encode(data))


class EventStream(Response):
    """Send events as they come; end with the last, when the client goes or when the server stops.

    However it ends, the source is closed and what was `held` for the stream is given back.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        *,
        stopping: asyncio.Event,
        held: AbstractContextManager[object] | None = None,
        headers: Mapping[str, str] | None = None,
        status_code: int = 200,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        super().__init__(status_code=status_code, headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._events = events
        self._stopping = stopping
        self._held = held or nullcontext()
        self._heartbeat = heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events over this connection."""
        gone = asyncio.create_task(_disconnected(receive))
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send_part(send, _ALIVE)
            if not await self._send_all(send, gone, stopped):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await _cancelled(gone, stopped)
            try:
                await self._events.aclose()
            finally:
                self._held.__exit__(None, None, None)

    async def _send_all(self, send: Send, gone: asyncio.Task[None], stopped: asyncio.Task[bool]) -> bool:
        """Send what comes until the stream ends, and return whether the client went."""
        coming: asyncio.Task[bytes | None] | None = None
        try:
            while not gone.done():
                coming = coming or asyncio.create_task(_next(self._events))
                waited_for = {coming, gone, stopped}
                await asyncio.wait(waited_for, timeout=self._heartbeat, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    part, coming = coming.result(), None
                    if part is None:
                        return False
                    await _send_part(send, part)
                elif stopped.done():
                    return False
                elif not gone.done():
                    await _send_part(send, _ALIVE)
            return True
        finally:
            if coming is not None:
                await _cancelled(coming)


async def _next(events: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(events, None)


async def _send_part(send: Send, part: bytes) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancelled(*tasks: asyncio.Task[object]) -> None:
    """End tasks; what they would have said is of no use any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
