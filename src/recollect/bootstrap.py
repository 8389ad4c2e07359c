"""Put the parts together; the only file that names concrete backends."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from recollect.history.generators import choose_generator
from recollect.history.strategies import SUMMARISE, open_strategy
from recollect.ports.chat_model import ChatModel
from recollect.ports.clock import Clock
from recollect.ports.jobs import JobStore
from recollect.ports.responder import Responder
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, StrategyParts
from recollect.ports.windows import WindowCache
from recollect.service.chat import Chat, ChatOptions
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.service.conversations import Conversations
from recollect.service.job_attempts import AttemptLimits, Handler
from recollect.service.keeping import TIDY, TITLE, Keeper, KeeperOptions
from recollect.service.lifecycle import EXPIRE, PRUNE, Lifecycle, LifecycleOptions
from recollect.service.patience import Pace
from recollect.service.recollect import Recollect
from recollect.service.titles import Titles
from recollect.service.worker import Worker, WorkerOptions
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.storage.driver import Driver


def system_clock() -> datetime:
    """Tell the time of this machine."""
    return datetime.now(UTC)


async def open(settings: Settings | None = None) -> Recollect:  # noqa: A001  # reads as `recollect.open`
    """Open the store that the settings name and everything on top of it.

    A new database is created; one of another schema version raises `MigrationRequiredError`.
    """
    settings = settings or Settings.load()
    store = await open_store(settings)
    try:
        service = assemble(store, settings)
    except BaseException:  # the store must not outlive a failed opening
        await store.close()
        raise
    if settings.jobs.inside:
        service.worker.start()
    return service


def assemble(store: Store, settings: Settings, clock: Clock = system_clock) -> Recollect:
    """Put the service together on an open store; its worker is not started yet."""
    from recollect.providers.choose import open_model

    model = open_model(settings, clock)
    compactor = _compactor(store, settings, model, clock)
    lifecycle = _lifecycle(store, settings, clock)
    handlers: dict[str, Handler] = {
        SUMMARISE: compactor.summarise_job,
        TIDY: lifecycle.tidy_job,
        EXPIRE: lifecycle.expire_job,
        PRUNE: lifecycle.prune_job,
    }
    if model is not None:
        handlers[TITLE] = Titles(store, model, clock=clock).title_job
    worker = new_worker(store, handlers, settings, clock)
    options = KeeperOptions(
        idle=settings.sessions.timeout,
        titles=model is not None,
        propagate_errors=settings.history.propagate_errors,
        wake=worker.wake,
    )
    strategy = _strategy(store, settings, compactor, clock)
    keeper = Keeper(store, strategy, clock=clock, new_id=new_id, options=options)
    return Recollect(
        store,
        chat=_chat(store, settings, keeper, model, clock),
        conversations=Conversations(store, keeper, clock=clock, new_id=new_id),
        lifecycle=lifecycle,
        worker=worker,
        model=model,
    )


def _compactor(store: Store, settings: Settings, model: ChatModel | None, clock: Clock) -> Compactor:
    generators = choose_generator(settings.history, model)
    return Compactor(store, generators, CompactionSettings.of(settings.history), clock=clock, new_id=new_id)


def _strategy(store: Store, settings: Settings, compactor: Compactor, clock: Clock) -> Strategy:
    return open_strategy(
        StrategyParts(
            store=store,
            compaction=compactor,
            settings=settings.history,
            clock=clock,
            new_id=new_id,
            window_size=settings.window.size,
        )
    )


def _lifecycle(store: Store, settings: Settings, clock: Clock) -> Lifecycle:
    days = settings.archive.retention_days
    retention = None if days is None else timedelta(days=days)
    options = LifecycleOptions(timeout=settings.sessions.timeout, retention=retention)
    return Lifecycle(store, options, clock=clock, new_id=new_id)


def _chat(store: Store, settings: Settings, keeper: Keeper, model: ChatModel | None, clock: Clock) -> Chat:
    recall = settings.memory.context_limit if settings.memory.enabled else 0
    options = ChatOptions(write_policy=settings.storage.write_policy, recall=recall)
    return Chat(store, keeper, _responder(model), clock=clock, new_id=new_id, options=options)


def _responder(model: ChatModel | None) -> Responder:
    if model is not None:
        from recollect.providers.responder import ModelResponder

        return ModelResponder(model)
    from recollect.providers.offline import OfflineResponder

    return OfflineResponder()


async def open_store(settings: Settings) -> Store:
    """Open the store alone, with the cache that the settings mean."""
    from recollect.storage.store import SqlStore

    driver = await _open_driver(settings)
    try:
        return SqlStore(driver, _window_cache(settings, driver), window_size=settings.window.size)
    except BaseException:  # the connections must not outlive a failed opening
        await driver.close()
        raise


async def _open_driver(settings: Settings) -> Driver:
    storage = settings.storage
    path = storage.sqlite_path
    if path is not None:
        from recollect.storage.sqlite import SqliteDriver, SqliteOptions

        options = SqliteOptions(busy_ms=round(storage.busy_timeout_seconds * 1000), readers=storage.readers)
        return await SqliteDriver.open(path, options)
    from recollect.storage.postgres import PostgresDriver, PostgresOptions

    return await PostgresDriver.open(
        storage.database,
        PostgresOptions(
            pool_min=storage.pool_min,
            pool_max=storage.pool_max,
            pool_timeout=timedelta(seconds=storage.pool_timeout_seconds),
            statement_timeout=timedelta(seconds=storage.statement_timeout_seconds),
        ),
    )


def _window_cache(settings: Settings, driver: Driver) -> WindowCache:
    if settings.redis_url is not None:
        from recollect.cache.redis import RedisWindows

        prefix = f"recollect:{driver.database_id}"
        return RedisWindows(settings.redis_url, idle=settings.sessions.timeout, new_id=new_id, prefix=prefix)
    from recollect.cache.local import LocalWindows

    return LocalWindows(
        mark=driver.mark,
        clock=system_clock,
        max_conversations=settings.sessions.max_cached,
        idle=settings.sessions.timeout,
    )


@asynccontextmanager
async def open_worker(settings: Settings) -> AsyncIterator[Worker]:
    """Open the store and a worker on it, which is not started yet; both have ended when this does."""
    store = await open_store(settings)
    async with assemble(store, settings) as service:
        yield service.worker


def new_worker(
    store: JobStore, handlers: Mapping[str, Handler], settings: Settings, clock: Clock = system_clock
) -> Worker:
    """Return a worker with a name of its own that does these kinds of jobs."""
    jobs = settings.jobs
    options = WorkerOptions(
        name=f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()}",
        concurrency=jobs.concurrency,
        poll=timedelta(seconds=jobs.poll_seconds),
        drain=timedelta(seconds=jobs.drain_seconds),
        keep_done=timedelta(days=jobs.keep_done_days),
        limits=AttemptLimits(
            lease=timedelta(seconds=jobs.lease_seconds), timeout=timedelta(seconds=jobs.timeout_seconds)
        ),
    )
    return Worker(store, handlers, options=options, pace=Pace(clock))


def new_id() -> str:
    """Return a fresh UUIDv7."""
    import uuid_utils

    return str(uuid_utils.uuid7())
