"""One id per request: in its answer, in its problem document and in every line that is logged for it."""

from __future__ import annotations

import re
from contextvars import ContextVar

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.bootstrap import new_id

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(rb"[A-Za-z0-9._:-]{1,128}\Z")

#: The id of the request that this task works for; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIds:
    """Give each request an id: the caller's own if it is a plain word, else a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the id in a header."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given: bytes = dict(scope["headers"]).get(HEADER.lower().encode(), b"")
        chosen = given.decode() if _ACCEPTED.match(given) else new_id()

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = chosen
            await send(message)

        token = request_id.set(chosen)
        try:
            await self._app(scope, receive, named)
        finally:
            request_id.reset(token)
