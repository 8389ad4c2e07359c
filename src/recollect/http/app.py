"""The web application around an opened service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from recollect import bootstrap
from recollect.http import errors
from recollect.http.gate import Gate
from recollect.http.limits import BodyLimit
from recollect.http.origin import KnownHosts, OwnOrigin, known_hosts
from recollect.http.rates import RateOptions, Rates
from recollect.http.request_id import RequestIds
from recollect.http.routes import (
    account,
    archive,
    chat,
    completions,
    conversations,
    events,
    jobs,
    memories,
    messages,
    notes,
    operations,
    overview,
    session,
    session_memories,
    sessions,
    usage,
)
from recollect.http.routes import settings as settings_route
from recollect.http.security_headers import SecurityHeaders
from recollect.http.traffic import Traffic
from recollect.http.web_app import add_page, add_web_app
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.settings.addresses import parts_of

if TYPE_CHECKING:
    # Older releases of the framework have none, and take no notice of it.
    from fastapi.telemetry import TelemetryConfig

ROUTERS = (
    chat.router,
    completions.router,
    conversations.router,
    messages.router,
    sessions.router,
    archive.router,
    memories.router,
    session_memories.router,
    session.router,
    operations.router,
    notes.router,
    events.router,
    jobs.router,
    usage.router,
    overview.router,
    account.router,
    settings_route.router,
)

#: Requests of one user in a minute where callers are asked who they are.
TOKEN_REQUESTS_PER_MINUTE = 600
#: What a page of another origin may send and read, if it may call at all.
_CORS_SENT = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "Last-Event-ID",
    "Recollect-User",
    "Recollect-Conversation",
)
_CORS_READ = (
    "ETag",
    "Idempotent-Replayed",
    "Link",
    "Location",
    "Recollect-Conversation",
    "Retry-After",
    "X-Request-Id",
)
#: The framework's own spans and logs hold addresses, queries and the texts of errors; `Traffic` makes ours.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(settings: Settings) -> FastAPI:
    """Return the application; it opens the store when it starts and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await bootstrap.open(settings) as opened:
            furnish(app, opened, settings)
            ending = asyncio.create_task(_end_turns(app))
            yield
            app.state.stopping.set()
            await ending

    # The documentation page is ours: the framework's own loads scripts from the network.
    app = FastAPI(
        title="Recollect",
        version="0.1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
        telemetry=_NO_TELEMETRY,
    )
    #: Set when the server ends: streams watch it, and end themselves.
    app.state.stopping = asyncio.Event()
    errors.install(app)
    _surround(app, settings)
    for router in ROUTERS:
        app.include_router(router)

    add_web_app(app)
    add_page(app, "/docs", "api.html")
    for name in ("api.js", "page.css", "icon.svg"):
        add_page(app, f"/pages/{name}", name)
    _document(app)
    return app


def furnish(app: FastAPI, opened: Recollect, settings: Settings) -> None:
    """Give the routes what they use."""
    app.state.recollect = opened
    app.state.settings = settings
    app.state.rates = _rates(settings)
    app.state.gate = Gate(opened.identity, app.state.rates, settings.auth.mode)


async def _end_turns(app: FastAPI) -> None:
    """End the replies that are being written once the server stops; they are kept as far as they came."""
    await app.state.stopping.wait()
    await app.state.recollect.streams.close()


def _surround(app: FastAPI, settings: Settings) -> None:
    """Put around all routes what every request passes; the last one added is the first one passed."""
    server = settings.server
    origins = parts_of(server.cors_origins)
    app.add_middleware(BodyLimit, most=server.max_body_bytes)
    if origins:
        # Without credentials: a page of another origin has a key of its own, and our cookie is never sent from there.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=_CORS_SENT,
            expose_headers=_CORS_READ,
        )
    app.add_middleware(OwnOrigin, allowed=origins)
    app.add_middleware(KnownHosts, names=known_hosts(server))
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Traffic)
    app.add_middleware(RequestIds)


def _rates(settings: Settings) -> Rates:
    usual = 0 if settings.auth.mode == "local" else TOKEN_REQUESTS_PER_MINUTE
    given = settings.server.requests_per_minute
    return Rates(RateOptions(per_minute=usual if given is None else given, streams=settings.server.max_streams))


def _document(app: FastAPI) -> None:
    """Add to the OpenAPI document what all routes share."""
    made = app.openapi

    def whole() -> dict[str, Any]:
        document = made()
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = errors.Problem.model_json_schema()
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JWT."}
        }
        document["security"] = [{"bearer": []}, {}]
        return document

    app.openapi = whole  # type: ignore[method-assign]  # the framework's own way to extend the document
