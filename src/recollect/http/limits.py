"""Refuse a body without bounds, whatever its headers say.

It is counted while it is read, so that nothing is held for a caller whom the gate refuses.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import LimitExceededError
from recollect.http.errors import problem


class BodyLimit:
    """Let through as much of a body as the limit says."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 if the body is larger than the limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        # By its length first: a number of thousands of digits is none that Python likes to read.
        if announced.isdigit() and (len(announced) > 18 or int(announced) > self._most):
            await self._refuse(scope, receive, send)
            return
        read, started = 0, False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise HTTPException(413)
            return message

        async def answered(message: Message) -> None:
            nonlocal started
            if read <= self._most or started:
                started = True
                await send(message)
            elif message["type"] == "http.response.start":
                # Whatever was made of the failed reading, this is what it means.
                await self._refuse(scope, receive, send)

        await self._app(scope, counted, answered)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"the body has more than {self._most} bytes; send less at once"
        await problem(413, LimitExceededError.code, detail)(scope, receive, send)
