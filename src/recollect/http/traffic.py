"""One line, one count and one span for each request, and an answer to those that fail as nobody foresaw."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import RecollectError
from recollect.http.errors import problem
from recollect.ports.tracer import NoTracer, Origin, Span, Tracer
from recollect.service.recollect import Recollect

_log = logging.getLogger("recollect.http.access")
#: What a request is called that no route took.
NO_ROUTE = "none"
#: The methods that a span may name; any other word is the caller's own.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_SERVER_FAILED = 500


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
        with _traced(scope) as span:
            try:
                await self._answer(scope, receive, send, answer)
            finally:
                _tell(scope, answer)
                _describe(span, scope, answer)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, answer: _Answer) -> None:
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


def _opened(scope: Scope) -> Recollect | None:
    return getattr(scope["app"].state, "recollect", None) if "app" in scope else None


def _traced(scope: Scope) -> AbstractContextManager[Span]:
    opened = _opened(scope)
    tracer: Tracer = NoTracer() if opened is None else opened.tracer
    method = _method(scope)
    origin = Origin("server", scope["headers"])
    return tracer.span("HTTP", origin, **{"http.request.method": method, "url.scheme": scope["scheme"]})


def _describe(span: Span, scope: Scope, answer: _Answer) -> None:
    method, path = _method(scope), getattr(scope.get("route"), "path", None)
    named = method if method in METHODS else "HTTP"
    span.rename(named if path is None else f"{named} {path}")
    if path is not None:
        span.set("http.route", path)
    if answer.status is not None:
        span.set("http.response.status_code", answer.status)
        if answer.status >= _SERVER_FAILED:
            span.fail(str(answer.status))


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "_OTHER"


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
    opened = _opened(scope)
    if opened is None:
        return
    meter = opened.meter
    meter.add("recollect.http.requests", kind=name, outcome=str(answer.status) if answer.status else "left")
    # A stream lasts as long as its reader likes; how long it took is how long it took to begin.
    meter.observe("recollect.http.duration", answer.ready_after if answer.streams else took, kind=name)
