"""What `recollect doctor` looks at: each check looks at one thing, changes nothing, and says what to do.

Nothing is called that costs money: whether a provider can be reached is found out by a connection alone.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from recollect.settings import Settings

State = Literal["ok", "warning", "problem"]
#: The oldest SQLite that can overwrite what is erased from its search index.
LEAST_SQLITE = (3, 42)
#: Free bytes below which it is a problem, and below which it is a warning.
LEAST_FREE, LITTLE_FREE = 100 * 2**20, 2**30
#: A clock that differs from the database's by more than this is worth a word.
MOST_DRIFT = timedelta(seconds=5)
CONNECT_SECONDS = 3.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    state: State
    detail: str
    #: What to do about it.
    fix: str = ""


def findings(settings: Settings) -> Iterator[Finding]:
    """Give what each check finds, one after the other; no check can stop another."""
    from recollect.errors import RecollectError

    for name, check in CHECKS.items():
        try:
            yield from check(settings)
        except RecollectError as exc:
            yield Finding(check=name, state="problem", detail=str(exc))
        except OSError as exc:
            yield Finding(check=name, state="problem", detail=f"{exc.filename or 'the system'}: {exc.strerror or exc}")


def _python(settings: Settings) -> Iterator[Finding]:
    is_new = sys.version_info >= (3, 11)
    yield Finding(
        check="python",
        state="ok" if is_new else "problem",
        detail=f"{platform.python_version()} on {platform.system()}",
        fix="" if is_new else "install Python 3.11 or newer",
    )


def _settings(settings: Settings) -> Iterator[Finding]:
    for warning in settings.warnings:
        yield Finding(check="settings", state="warning", detail=warning, fix="correct or remove it")
    if not settings.warnings:
        yield Finding(check="settings", state="ok", detail="every value can be used")


def _sqlite(settings: Settings) -> Iterator[Finding]:
    import apsw

    version = apsw.sqlite_lib_version()
    is_new = tuple(int(part) for part in version.split(".")[:2]) >= LEAST_SQLITE
    has_search = "ENABLE_FTS5" in apsw.compile_options
    yield Finding(
        check="sqlite",
        state="ok" if is_new and has_search else "problem",
        detail=f"{version}, {'with' if has_search else 'without'} full-text search",
        fix="" if is_new and has_search else "install a newer apsw: pip install -U apsw",
    )


def _database(settings: Settings) -> Iterator[Finding]:
    from recollect.settings import masked

    path = settings.storage.sqlite_path
    if path is not None:
        from recollect.storage.sqlite_maintenance import SqliteMaintenance

        found = SqliteMaintenance(path).status()
    else:
        from recollect.storage.postgres_maintenance import PostgresMaintenance

        found = PostgresMaintenance(settings.storage.database).status()
    place = masked(settings.storage.database)
    if found.schema is None or found.schema.current == 0:
        yield Finding(
            check="database", state="ok", detail=f"{place} is reachable and empty; serving creates the tables"
        )
        return
    is_newer = found.schema.current > found.schema.latest
    fix = "install a newer recollect" if is_newer else "make a backup, then run `recollect db migrate`"
    yield Finding(
        check="database",
        state="ok" if found.schema.is_ready else "problem",
        detail=f"{place}, schema {found.schema.current} of {found.schema.latest}, {found.size / 2**20:,.1f} MiB",
        fix="" if found.schema.is_ready else fix,
    )
    if path is not None:
        yield from _integrity(path)


def _integrity(path: Path) -> Iterator[Finding]:
    from recollect.storage.sqlite_reading import snapshot

    with snapshot(path) as connection:
        answer = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    is_sound = answer == ["ok"]
    yield Finding(
        check="integrity",
        state="ok" if is_sound else "problem",
        detail="the pages of the file are sound" if is_sound else "the file is damaged",
        fix="" if is_sound else "run `recollect db check`, which tells what is damaged and what to do",
    )


def _permissions(settings: Settings) -> Iterator[Finding]:
    path = settings.storage.sqlite_path
    if path is None or not path.exists():
        return
    files = [file for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))) if file.exists()]
    modes = {file: stat.S_IMODE(file.stat().st_mode) for file in files}
    fix = f"chmod 600 {' '.join(str(file) for file in files)}"
    if any(mode & 0o007 for mode in modes.values()):
        yield Finding(check="permissions", state="problem", detail="every user of this machine can open it", fix=fix)
    elif any(mode & 0o070 for mode in modes.values()):
        yield Finding(check="permissions", state="warning", detail="the users of its group can open it", fix=fix)
    else:
        yield Finding(check="permissions", state="ok", detail="only its owner can open the file")


def _disk(settings: Settings) -> Iterator[Finding]:
    path = settings.storage.sqlite_path
    if path is None:
        return
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    state: State = "problem" if free < LEAST_FREE else "warning" if free < LITTLE_FREE else "ok"
    fix = "" if state == "ok" else "make room, or move the database with storage.database"
    yield Finding(check="disk", state=state, detail=f"{free / 2**30:,.1f} GiB free at {folder}", fix=fix)


def _redis(settings: Settings) -> Iterator[Finding]:
    from recollect.settings import masked

    if settings.redis_url is None:
        yield Finding(check="redis", state="ok", detail="none: the cache is in the process")
        return
    from recollect.cache.redis_packages import RedisError, redis

    async def ping(url: str) -> None:
        client = redis.Redis.from_url(url, socket_timeout=CONNECT_SECONDS, socket_connect_timeout=CONNECT_SECONDS)
        try:
            await client.ping()
        finally:
            await client.aclose()

    place = masked(settings.redis_url)
    try:
        asyncio.run(ping(settings.redis_url))
    except (RedisError, OSError) as exc:
        detail = f"{place} does not answer ({type(exc).__name__}); everything works without it, but slower"
        yield Finding(check="redis", state="problem", detail=detail, fix="start it, or correct redis_url")
    else:
        yield Finding(check="redis", state="ok", detail=f"{place} answers")


def _model(settings: Settings) -> Iterator[Finding]:
    from recollect.errors import SettingsError
    from recollect.providers.choose import choose

    try:
        chosen = choose(settings)
    except SettingsError as exc:
        yield Finding(check="model", state="problem", detail=str(exc), fix="set it, or set model.kind = none")
        return
    if chosen is None:
        yield Finding(check="model", state="ok", detail="none: the built-in responder answers from memory")
        return
    yield _reached("model", chosen.url, chosen.name)


def _embedder(settings: Settings) -> Iterator[Finding]:
    from recollect.bootstrap import system_clock
    from recollect.embedding.choose import open_embedder
    from recollect.providers.choose import KNOWN
    from recollect.providers.choose_embedder import open_http_embedder

    embedder = open_embedder(settings, lambda chosen: open_http_embedder(chosen, system_clock))
    if settings.embedding.kind == "http":
        yield _reached("embedder", settings.embedding.url or KNOWN["openai"][0], embedder.model)
        return

    async def embed() -> None:
        await embedder.embed(["a word"])
        await embedder.close()

    asyncio.run(embed())
    yield Finding(check="embedder", state="ok", detail=f"{embedder.model}, {embedder.dimensions} dimensions")


def _reached(check: str, url: str, name: str) -> Finding:
    """Tell whether something listens at an address."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as exc:
        detail = f"{name}: {host}:{port} cannot be reached ({exc.strerror or exc})"
        return Finding(check=check, state="problem", detail=detail, fix=f"start it, or correct {check} settings")
    return Finding(check=check, state="ok", detail=f"{name}: {host}:{port} can be reached; it was asked nothing")


def _auth(settings: Settings) -> Iterator[Finding]:
    from recollect.settings import is_loopback

    server = settings.server
    is_local = is_loopback(server.host)
    if settings.auth.mode == "local":
        # Settings refuse to listen elsewhere without asking who calls.
        detail = f"one local user, on {server.host}: whoever can log in to this machine is that user"
        yield Finding(check="auth", state="ok", detail=detail)
    elif is_local or server.allowed_hosts:
        yield Finding(check="auth", state="ok", detail=f"callers are asked who they are, on {server.host}")
    else:
        detail = f"callers are asked who they are, but on {server.host} no name is answered to but this machine's own"
        yield Finding(check="auth", state="warning", detail=detail, fix="list the names in server.allowed_hosts")


def _clock(settings: Settings) -> Iterator[Finding]:
    now = datetime.now(UTC)
    if not 2025 <= now.year < 2100:
        yield Finding(check="clock", state="problem", detail=f"it is {now:%Y-%m-%d} here", fix="set the clock")
        return
    if settings.storage.sqlite_path is not None:
        yield Finding(check="clock", state="ok", detail=f"{now:%Y-%m-%d %H:%M:%S} UTC")
        return
    from recollect.storage.postgres_reading import connected

    with connected(settings.storage.database) as connection:
        row = connection.execute("SELECT clock_timestamp()").fetchone()
    drift = abs(datetime.now(UTC) - row[0]) if row is not None else timedelta(0)
    is_close = drift <= MOST_DRIFT
    yield Finding(
        check="clock",
        state="ok" if is_close else "warning",
        detail=f"{now:%Y-%m-%d %H:%M:%S} UTC, {drift.total_seconds():.1f} s off the database's",
        fix="" if is_close else "let both machines keep their time by NTP",
    )


#: Every check, in the order in which they are shown.
CHECKS: dict[str, Callable[[Settings], Iterator[Finding]]] = {
    "python": _python,
    "settings": _settings,
    "sqlite": _sqlite,
    "database": _database,
    "permissions": _permissions,
    "disk": _disk,
    "redis": _redis,
    "model": _model,
    "embedder": _embedder,
    "auth": _auth,
    "clock": _clock,
}
