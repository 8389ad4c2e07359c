"""Which names the server answers to, and which pages may make a browser send it something.

A page of somebody else can reach any address that the browser can reach, also 127.0.0.1: by a host name of its own that
it points there, or by a form or script that sends without being able to read the answer. The first is refused by its
host, the second by its origin.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.http.errors import problem
from recollect.settings import ServerSettings
from recollect.settings.addresses import parts_of

#: The names that every machine has for itself.
OWN_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
#: Addresses that mean any address, and so are no name.
_ANY = frozenset(("0.0.0.0", "::"))  # noqa: S104  # compared with, not listened on
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_DEFAULT_PORTS = {"http": 80, "https": 443}


def known_hosts(server: ServerSettings) -> frozenset[str]:
    """Return the names that the server answers to."""
    listed = [*parts_of(server.allowed_hosts), *(() if server.host in _ANY else (server.host,))]
    return OWN_NAMES | {f"[{name}]" if ":" in name else name.lower() for name in listed}


class KnownHosts:
    """Answer to known names only."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400 to any other host name."""
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or host_name(hosts[0].decode("latin-1")) not in self._names:
                detail = "use http://localhost or 127.0.0.1, or add the name to server.allowed_hosts"
                await problem(400, "unknown_host", detail)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class OwnOrigin:
    """Take what changes something only from our own pages, from allowed ones, and from what is no browser."""

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to a request that a page of somebody else sends."""
        if scope["type"] == "http" and scope["method"] not in _SAFE and self._is_foreign(scope):
            detail = "a page of another origin sent this; add its origin to server.cors_origins if it may"
            await problem(403, "foreign_origin", detail)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        headers = dict(scope["headers"])
        if not origins:
            # Browsers that leave the origin out still say how the page relates to us; other programs say nothing.
            return headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none")
        if len(origins) > 1:
            return True
        if origins[0].lower() in self._allowed:
            return False
        return _place(origins[0]) != _place(f"{scope['scheme']}://{headers.get(b'host', b'').decode('latin-1')}")


def host_name(host: str) -> str:
    """Return a host without its port."""
    if host.startswith("["):
        return host[: host.find("]") + 1].lower()
    return host.partition(":")[0].lower()


def _place(origin: str) -> tuple[str | None, int | None] | None:
    """Return the host and port of an origin, or None if it has none.

    A standard port counts as none whichever scheme it belongs to: a proxy that speaks TLS passes on plain HTTP.
    """
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.hostname, None if port in _DEFAULT_PORTS.values() else port
