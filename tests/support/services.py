"""A whole service whose cache a test can look into, and can make die."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, Literal

import msgspec

from recollect.bootstrap import assemble, new_id, system_clock
from recollect.cache.local import LocalWindows
from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.ports.windows import Change, Load, WindowCache
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.storage.driver import Driver
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore

#: A machine that is busy must not look like a Redis that is.
PATIENT = RedisLimits(timeout=timedelta(seconds=30))
#: When a process ends itself: never, before a write or after its commit.
Death = Literal["never", "before", "after"]


class WatchedWindows:
    """A cache that counts what it loads, and whose process can be told to die around the next write."""

    def __init__(self, inner: WindowCache) -> None:
        self.inner = inner
        self.loads = 0
        self.death: Death = "never"

    @property
    def is_up(self) -> bool:
        """Tell whether the inner cache is used."""
        return self.inner.is_up

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Count the loads of the inner cache."""

        async def counted(known: int | None) -> Window | None:
            self.loads += 1
            return await load(known)

        return await self.inner.get(scope, conversation_id, counted)

    @asynccontextmanager
    async def changing(self, scope: Scope, conversation_id: str) -> AsyncIterator[Change]:
        """Surround a write, and die when told."""
        async with self.inner.changing(scope, conversation_id) as change:
            self._die("before")
            yield change
            self._die("after")

    def erasing(self, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Surround a write to many conversations."""
        return self.inner.erasing(scope)

    async def drop(self, scope: Scope, conversation_id: str) -> None:
        """Forget a window."""
        await self.inner.drop(scope, conversation_id)

    async def close(self) -> None:
        """Release everything."""
        await self.inner.close()

    def _die(self, now: Death) -> None:
        if self.death == now:
            os.kill(os.getpid(), signal.SIGKILL)


class Parts(msgspec.Struct, frozen=True):
    """A service and what is below it."""

    service: Recollect
    driver: Driver
    windows: WatchedWindows

    @property
    def redis(self) -> RedisWindows:
        """Return the cache, which is a Redis."""
        assert isinstance(self.windows.inner, RedisWindows)
        return self.windows.inner


def settings_of(database: str, redis: str | None = None, **more: Any) -> Settings:
    """Return settings by their names, with an underscore for the first dot."""
    named = {name.replace("_", ".", 1): value for name, value in more.items()}
    given = {"storage.database": database, "redis_url": redis, "jobs.debounce_seconds": 0}
    return Settings.load({**given, **named}, environ={})


async def open_patiently(settings: Settings, limits: RedisLimits = PATIENT) -> Store:
    """Open the store alone, as the bootstrap does, but with a Redis that may take its time."""
    driver = await _opened_driver(settings)
    return SqlStore(driver, _cache(settings, driver, limits), window_size=settings.window.size)


@asynccontextmanager
async def opened(
    settings: Settings, *, limits: RedisLimits = PATIENT, clock: Clock = system_clock
) -> AsyncIterator[Parts]:
    """Open a service as `recollect.open` does, but for its worker, which is not started."""
    driver = await _opened_driver(settings)
    windows = WatchedWindows(_cache(settings, driver, limits))
    store = SqlStore(driver, windows, window_size=settings.window.size)
    async with assemble(store, settings, clock) as service:
        yield Parts(service, driver, windows)


async def _opened_driver(settings: Settings) -> Driver:
    storage = settings.storage
    if storage.sqlite_path is not None:
        return await SqliteDriver.open(storage.sqlite_path)
    patience = timedelta(seconds=storage.pool_timeout_seconds)
    return await PostgresDriver.open(
        storage.database, PostgresOptions(pool_max=storage.pool_max, pool_timeout=patience)
    )


def _cache(settings: Settings, driver: Driver, limits: RedisLimits) -> WindowCache:
    idle = settings.sessions.timeout
    if settings.redis_url is not None:
        return RedisWindows(settings.redis_url, idle=idle, new_id=new_id, limits=limits)
    return LocalWindows(
        mark=driver.mark,
        settled_mark=driver.settled_mark,
        clock=system_clock,
        max_conversations=settings.sessions.max_cached,
        idle=idle,
    )
