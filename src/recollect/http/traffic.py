"""One line and one count for each request, and an answer to those that fail as nobody foresaw."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import RecollectError
from recollect.http.errors import problem
from recollect.ports.meter import Meter

_log = logging.getLogger("recollect.http.access")
#: What a request is called that no route took.
NO_ROUTE = "none"


class _Answer:
    """What is known of an answer so far."""

    __slots__ = ("began", "ready_after", "status", "streams")

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.status: int | None = None
        self.streams = False
        self.ready_after = 0.0

    def note(self, message: Message) -> None:
        """Look at a part of it."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.ready_after = time.perf_counter() - self.began
            kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
            self.streams = kind.startswith(b"text/event-stream")


class Traffic:
    """Log and count requests by their route, never by their address: that holds ids and words."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request be answered, and tell how that went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer()

        async def noted(message: Message) -> None:
            answer.note(message)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as exc:  # whatever failed, the caller is told and it is logged
            _log.error("a request failed", exc_info=exc)
            if answer.status is not None:
                raise
            detail = "the server failed; look for the request id in its log"
            await problem(500, RecollectError.code, detail)(scope, receive, noted)
        finally:
            _tell(scope, answer)


def _tell(scope: Scope, answer: _Answer) -> None:
    route = scope.get("route")
    path: str = getattr(route, "path", NO_ROUTE)
    name: str = getattr(route, "name", NO_ROUTE)
    took = time.perf_counter() - answer.began
    _log.info(
        "%s %s %s",
        scope["method"],
        path,
        answer.status or "left",
        extra={
            "method": scope["method"],
            "route": path,
            "status": answer.status,
            "duration_ms": round(took * 1000, 1),
        },
    )
    opened = getattr(scope["app"].state, "recollect", None) if "app" in scope else None
    if opened is None:
        return
    meter: Meter = opened.meter
    meter.add("recollect.http.requests", kind=name, outcome=str(answer.status) if answer.status else "left")
    # A stream lasts as long as its reader likes; how long it took is how long it took to begin.
    meter.observe("recollect.http.duration", answer.ready_after if answer.streams else took, kind=name)
