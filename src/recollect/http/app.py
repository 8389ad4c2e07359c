"""The web application around an opened service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from fastapi import FastAPI, Response

from recollect import bootstrap
from recollect.http import errors
from recollect.http.limits import BodyLimit, LocalHost
from recollect.http.routes import chat
from recollect.http.schemas import Health
from recollect.settings import Settings

_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def create_app(settings: Settings) -> FastAPI:
    """Return the application; it opens the store when it starts and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with await bootstrap.open(settings) as opened:
            app.state.recollect = opened
            yield

    # The documentation page is ours: the framework's own loads scripts from the network.
    app = FastAPI(title="Recollect", version="0.1", lifespan=lifespan, docs_url=None, redoc_url=None)
    errors.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(LocalHost)
    app.include_router(chat.router)

    @app.get("/healthz", tags=["operations"], summary="Tell whether the process runs")
    async def healthz() -> Health:
        """Answer as long as the process runs."""
        return Health(status="ok")

    for path, name in (("/", "chat.html"), ("/docs", "api.html")):
        _add_page(app, path, name)
    for name in ("chat.js", "api.js", "page.css", "icon.svg"):
        _add_page(app, f"/pages/{name}", name)
    return app


def _add_page(app: FastAPI, path: str, name: str) -> None:
    content = files("recollect.http").joinpath("pages", name).read_bytes()
    headers = {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    kind = _TYPES[name[name.rindex(".") :]]

    @app.get(path, include_in_schema=False, name=name)
    async def page() -> Response:
        return Response(content, media_type=kind, headers=headers)
