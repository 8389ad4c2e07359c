"""The process around the application: its socket, its signals and its end.

The store is opened before the first connection is accepted, and a failure to open it is raised as it is.
The first SIGTERM or SIGINT stops accepting, tells streams to end by `app.state.stopping`, lets requests and jobs end,
and closes everything within ten seconds; the second ends the process at once, which loses nothing acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack

import msgspec
import uvicorn
from fastapi import FastAPI

from recollect.errors import SettingsError
from recollect.http.connections import ConnectionLimits, GuardedProtocol, guarded
from recollect.settings import Settings

#: Seconds that requests have to end once the server is told to.
GRACE_SECONDS = 5
#: Seconds that jobs have; what is not done by then is given back to be done by another or later.
JOB_SECONDS = 6.0
KEEP_ALIVE_SECONDS = 15
#: Connections that wait to be accepted.
BACKLOG = 1024
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class RecollectServer(uvicorn.Server):
    """A server that opens the application before it listens and ends it when it is told to."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._started = started
        self._opened = AsyncExitStack()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the application, listen, and say so."""
        await self._opened.enter_async_context(self._app.router.lifespan_context(self._app))
        await super().startup(sockets)
        self._started()

    async def on_tick(self, counter: int) -> bool:
        """Look at all connections once a second."""
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.look(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests and jobs end at the same time, then close everything."""
        self._app.state.stopping.set()
        jobs = asyncio.ensure_future(self._app.state.recollect.worker.stop())
        await super().shutdown(sockets)
        running = [task for task in self.server_state.tasks if not task.done()]
        if running:
            # They were cancelled; the store stays open until they have let go of it.
            await asyncio.wait(running, timeout=1)
        await jobs
        await self._opened.aclose()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let the first signal end the server, and the second the process."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}

        def end(*_: object) -> None:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            self.should_exit = True

        for number in _SIGNALS:
            signal.signal(number, end)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(app: FastAPI, settings: Settings, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve the application until a signal ends it; `started` is called once it answers."""
    _allow_many_files()
    server = settings.server
    limits = ConnectionLimits(
        head_seconds=server.header_timeout_seconds,
        head_bytes=server.max_header_bytes,
        connections=server.max_connections,
    )
    config = uvicorn.Config(
        app,
        http=guarded(limits),
        ws="none",
        # The application is opened by `startup`, so that a failure is an error and not a line in the log.
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(server.trusted_proxies),
        forwarded_allow_ips=server.trusted_proxies or None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=BACKLOG,
    )
    RecollectServer(config, app, started).run(sockets=[listening])


def ending_soon(settings: Settings) -> Settings:
    """Return the settings with jobs that end as soon as requests do, so that the process is gone in ten seconds."""
    jobs = settings.jobs
    return msgspec.structs.replace(
        settings, jobs=msgspec.structs.replace(jobs, drain_seconds=min(jobs.drain_seconds, JOB_SECONDS))
    )


def bound(host: str, port: int) -> socket.socket:
    """Return a socket in which connections wait to be accepted; raise `SettingsError` if the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as exc:
        raise SettingsError(f"{host} is not known on this machine ({exc.strerror}); use another --host") from exc
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        # A second server must be refused now, and not when the first one is in the midst of its work.
        opened.listen(BACKLOG)
    except OSError as exc:
        opened.close()
        raise SettingsError(
            f"port {port} on {host} cannot be had ({exc.strerror}); "
            "stop what listens there, or choose another port with --port (0 takes a free one)"
        ) from exc
    return opened


def _allow_many_files() -> None:
    """Let each connection have a file descriptor, as far as the system allows."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
