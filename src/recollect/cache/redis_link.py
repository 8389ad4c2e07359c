"""Talk to a Redis that may be dead, slow, new or gone for a while, and never wait for it long.

Every command runs in a task of its own that nobody cancels, so no connection goes back to the pool with a reply that is
still to come; the caller waits only as long as the limits allow.
No command is sent again, but for one whose connection broke.
The first failure is an outage: commands are refused at once while one task tries again beside all requests.
A Redis that was restarted or replaced counts as an outage too, since it may have forgotten or remembered anything.
It knows nothing of windows; `mend` is called when commands work again, before anything else is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from recollect.cache.redis_packages import NoBackoff, NoScriptError, RedisError, Retry, redis
from recollect.errors import CacheError

_log = logging.getLogger(__name__)

_RUN_ID = re.compile(rb"run_id:(\w+)")
#: What the client may raise when the other side misbehaves.
_FAILURES = (RedisError, OSError, EOFError, ValueError)


class RedisLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, to trust and to stay away."""

    #: How long a request waits for one command; after it, the Redis is left alone.
    timeout: timedelta = timedelta(milliseconds=100)
    #: How often a Redis that failed is tried again.
    pause: timedelta = timedelta(milliseconds=500)
    #: How long nothing is read from it once it works again, so that every other server finds that out too.
    grace: timedelta = timedelta(milliseconds=1500)
    #: How long a write that was begun and never ended keeps a conversation out of the cache.
    fence: timedelta = timedelta(seconds=30)
    #: How long one server may take to load a window that it stores.
    lease: timedelta = timedelta(seconds=10)
    #: How long a window is believed before its revision is compared with the database.
    max_age: timedelta = timedelta(seconds=60)
    #: Conversations written to in an outage that are remembered, so that their windows are dropped after it.
    max_suspects: int = 10_000
    #: Connections at the very most.
    connections: int = 32


class Script:
    """A Lua script, sent whole only to a server that does not know it."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


@cache
def script(name: str) -> Script:
    """Return one of our scripts."""
    folder = files(__package__).joinpath("lua")
    shared, own = (folder.joinpath(f"{part}.lua").read_text(encoding="utf-8") for part in ("shared", name))
    return Script(shared + own)


class RedisLink:
    """Run scripts, or raise `CacheError` without delay."""

    def __init__(self, url: str, limits: RedisLimits, mend: Callable[[], Awaitable[None]]) -> None:
        self._limits = limits
        self._mend = mend
        self._timeout = limits.timeout.total_seconds()
        pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=limits.connections,
            timeout=self._timeout,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            retry=Retry(NoBackoff(), 0),
            redis_connect_func=self._connected,
            protocol=2,
        )
        self._pool = pool
        self._send: Callable[..., Coroutine[Any, Any, Any]] = redis.Redis(connection_pool=pool).execute_command
        #: Which process answers; another one may have forgotten or remembered anything.
        self._identity: bytes | None = None
        self._commands: set[asyncio.Task[Any]] = set()
        self._recovery: asyncio.Task[None] | None = None
        self._mends = False
        self._closed = False
        #: Grows with every outage.
        self.epoch = 0
        #: Whether commands are sent.
        self.is_up = True
        #: Whether what is stored can be believed, if it was stored since `trusted_since`.
        self.is_trusted = True
        #: In milliseconds of the Redis' clock.
        self.trusted_since = 0

    @property
    def commands(self) -> frozenset[asyncio.Task[Any]]:
        """Return what is under way."""
        return frozenset(self._commands)

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Any:
        """Run a script; an outage raises `CacheError` at once, and a failure begins one."""
        if not self.is_up:
            raise CacheError("the Redis is left alone after a failure")
        epoch = self.epoch
        try:
            return await self._sent(self._evaluated(script, keys, args))
        except CacheError as exc:
            if epoch == self.epoch:
                self.fail(exc)
            raise

    def fail(self, reason: Exception) -> None:
        """Begin an outage, or go on with it."""
        self.is_up = self.is_trusted = False
        self.epoch += 1
        if self._recovery is None and not self._closed:
            _log.warning("the Redis failed and is passed by until it answers: %s", reason)
            self._recovery = asyncio.create_task(self._recover())

    async def close(self) -> None:
        """Let what was sent come to its end, then close every connection."""
        self._closed = True
        self.is_up = self.is_trusted = False
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait({self._recovery})
        while self._commands:
            await asyncio.wait(self._commands)
        try:
            await self._pool.aclose()
        except _FAILURES as exc:
            _log.warning("the Redis could not be closed cleanly: %s", type(exc).__name__)

    async def mended(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Any:
        """Run a script while `mend` runs, when nothing else is sent."""
        return await self._sent(self._evaluated(script, keys, args))

    async def _sent(self, command: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.create_task(command)
        self._commands.add(task)
        task.add_done_callback(self._received)
        await asyncio.wait({task}, timeout=self._timeout)
        if not task.done():
            raise CacheError("no reply in time")
        try:
            return task.result()
        except _FAILURES as exc:
            # Its text may hold the arguments, which are what people said.
            raise CacheError(type(exc).__name__) from exc

    def _received(self, task: asyncio.Task[Any]) -> None:
        self._commands.discard(task)
        if not task.cancelled():
            # Whoever asked may be gone, and then nobody else looks at it.
            task.exception()

    async def _evaluated(self, script: Script, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Any:
        """Run a script; a connection that broke is replaced once, since every script may run twice."""
        given = (len(keys), *keys, *args)
        try:
            return await self._evaluated_once(script, given)
        except redis.ConnectionError:
            if not self.is_up:
                raise
            return await self._evaluated_once(script, given)

    async def _evaluated_once(self, script: Script, given: tuple[str | bytes | int, ...]) -> Any:
        try:
            return await self._send("EVALSHA", script.digest, *given)
        except NoScriptError:
            return await self._send("EVAL", script.text, *given)

    async def _connected(self, connection: Any) -> None:
        """Prepare a connection, and refuse one to a process that is not the one we knew."""
        await connection.on_connect()
        await connection.send_command("INFO", "server", check_health=False)
        found = _RUN_ID.search(await connection.read_response(disable_decoding=True))
        identity = found[1] if found else b""
        known, self._identity = self._identity, identity
        if known is not None and known != identity:
            error = redis.ConnectionError("the Redis was restarted or replaced")
            self.fail(error)
            raise error
        if not self.is_up and not self._mends:
            # Made for a command that was meant for the Redis before the outage.
            raise redis.ConnectionError("the Redis is left alone after a failure")

    async def _recover(self) -> None:
        since = None
        while since is None:
            await asyncio.sleep(self._limits.pause.total_seconds())
            try:
                since = await self._recovered()
            except CacheError:
                self.is_up = False
        self.trusted_since = since
        self.is_trusted = True
        self._recovery = None
        _log.info("the Redis answers again and is used")

    async def _recovered(self) -> int | None:
        """Find out whether the Redis answers, and from when on what it holds can be believed."""
        self._mends = True
        try:
            await self._sent(self._send("PING"))
            await self._mend()
        finally:
            self._mends = False
        self.is_up = True
        epoch = self.epoch
        await asyncio.sleep(self._limits.grace.total_seconds())
        seconds, micros = await self._sent(self._send("TIME"))
        return int(seconds) * 1000 + int(micros) // 1000 + 1 if epoch == self.epoch else None
