"""Every route of the API passes here first: who calls, may they, how often, and was it asked before.

A router of the API is made with `route_class=ApiRoute`; what is documented of all routes is written here once.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from recollect.domain.identity import Caller, Right
from recollect.http.errors import PROBLEMS
from recollect.http.idempotency import HEADER as IDEMPOTENCY_KEY
from recollect.http.idempotency import once, read_key, request_key

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
#: Requests that only read although they carry a body.
_READING = frozenset(("/api/memories/search",))
#: Routes that keep the answer to a retry in the transaction of the work itself, and those that stream.
OWN_KEY = "x-own-idempotency"
#: Names who lets requests of this route in instead of the gate: a function of the request and the right.
ADMITTED_BY = "x-admitted-by"

Handler = Callable[[Request], Awaitable[Response]]
Admit = Callable[[Request, Right], Awaitable[Caller]]


class _StrictRequest(Request):
    """A request whose JSON is JSON: no NaN, no half characters, no depth without end."""

    async def json(self) -> Any:
        """Return the decoded body; what is no JSON raises what the framework answers with 422."""
        try:
            return msgspec.json.decode(await self.body())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise json.JSONDecodeError(str(exc) or "nested too deeply", "", 0) from exc


class ApiRoute(APIRoute):
    """A route that knows its caller before it reads anything."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        methods = set(options.get("methods") or ("GET",))
        options["responses"] = {**_problems(path, methods), **(options.get("responses") or {})}
        extra = dict(options.get("openapi_extra") or {})
        self._keeps_own_key = bool(extra.pop(OWN_KEY, False))
        self._admit: Admit | None = extra.pop(ADMITTED_BY, None)
        if "POST" in methods:
            extra["parameters"] = [*extra.get("parameters", ()), _KEY_PARAMETER]
        options["openapi_extra"] = extra or None
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the framework's handler behind the gate."""
        handler: Handler = super().get_route_handler()
        right: Right = "read" if set(self.methods or ()) <= _SAFE or self.path in _READING else "write"
        keeps_own_key, admit = self._keeps_own_key, self._admit

        async def guarded(request: Request) -> Response:
            state = request.app.state
            request.state.caller = known = await (admit or state.gate.admit)(request, right)
            strict = _StrictRequest(request.scope, request.receive)
            await read_key(strict)
            asked = request_key(strict)
            if asked is None or keeps_own_key:
                return await handler(strict)
            return await once(state.recollect.store, known.scope, asked, lambda: handler(strict))

        return guarded


def api_router(tag: str) -> APIRouter:
    """Return a router for one part of the API."""
    return APIRouter(prefix="/api", tags=[tag], route_class=ApiRoute)


_KEY_PARAMETER = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "The same key and request again have one effect and get the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}


def _problems(path: str, methods: set[str]) -> dict[int | str, dict[str, Any]]:
    """Return what is documented of the errors of a route."""
    statuses = [400, 401, 403, 422, 429, 500, 503]
    if "{" in path:
        statuses.append(404)
    if methods & {"POST", "PUT", "PATCH", "DELETE"}:
        statuses += [404, 409, 413]
    if methods & {"PUT", "PATCH", "DELETE"}:
        statuses.append(412)
    return {status: PROBLEMS[status] for status in sorted(set(statuses))}
