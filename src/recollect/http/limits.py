"""Refuse what no route should have to read: bodies without bounds and foreign host names."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import LimitExceededError
from recollect.http.errors import problem

MAX_BODY = 1_000_000
_TOO_LARGE = f"the body has more than {MAX_BODY} bytes; send less at once"


class BodyLimit:
    """Read a request body up to the limit, whatever its headers say, before any route sees it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 if the body is larger than the limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        too_large = announced.isdigit() and int(announced) > MAX_BODY
        parts: list[bytes] = []
        message: Message = {"more_body": not too_large}
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            too_large = sum(map(len, parts)) > MAX_BODY
            if too_large:
                break
        if too_large:
            await problem(413, LimitExceededError.code, _TOO_LARGE)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replayed, send)


class LocalHost:
    """Answer only to this machine's own names, so that no web page can reach the server by a name of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400 to any other host name."""
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
            if name not in ("localhost", "127.0.0.1", "[::1]"):
                await problem(400, "unknown_host", "use http://localhost or 127.0.0.1")(scope, receive, send)
                return
        await self._app(scope, receive, send)
