"""Put the parts together; the only file that names concrete backends."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from recollect.history.generators import choose_generator
from recollect.history.strategies import SUMMARISE, open_strategy
from recollect.ports.chat_model import ChatModel
from recollect.ports.clock import Clock
from recollect.ports.embedder import Embedder
from recollect.ports.events import Events
from recollect.ports.jobs import JobStore
from recollect.ports.meter import Meter, NoMeter
from recollect.ports.responder import Responder
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, StrategyParts
from recollect.ports.windows import WindowCache
from recollect.providers.metered import MeteredModel
from recollect.service.chat import Chat, ChatOptions
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.service.context import ContextOptions, Contexts
from recollect.service.conversations import Conversations
from recollect.service.job_attempts import AttemptLimits, Handler
from recollect.service.keeping import EXTRACT, TIDY, TITLE, Keeper, KeeperOptions
from recollect.service.ledger import Ledger
from recollect.service.lifecycle import EXPIRE, PRUNE, Lifecycle, LifecycleOptions
from recollect.service.means import Means
from recollect.service.notes import Notes
from recollect.service.patience import Pace
from recollect.service.recollect import Outside, Recollect, UseCases
from recollect.service.titles import Titles
from recollect.service.worker import Worker, WorkerOptions
from recollect.settings import Settings
from recollect.storage.local_events import LocalEvents

if TYPE_CHECKING:
    from recollect.service.embedding import Embedding
    from recollect.service.forgetting import Forgetting
    from recollect.service.learning import Learner
    from recollect.service.memories import Memories
    from recollect.service.recall import Recall
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
        service = assemble(store, settings, events=await _open_events(settings))
    except BaseException:  # the store must not outlive a failed opening
        await store.close()
        raise
    if settings.jobs.inside:
        service.worker.start()
    return service


class _Ground(NamedTuple):
    """What every part stands on."""

    store: Store
    settings: Settings
    means: Means
    model: ChatModel | None


def assemble(store: Store, settings: Settings, clock: Clock = system_clock, events: Events | None = None) -> Recollect:
    """Put the service together on an open store; its worker is not started yet."""
    from recollect.providers.choose import open_model
    from recollect.telemetry.prometheus import PrometheusMeter

    meter = PrometheusMeter()
    ledger = Ledger(store, clock=clock, new_id=new_id, meter=meter)
    means = Means(
        clock=clock,
        new_id=new_id,
        events=events or LocalEvents(),
        meter=meter,
        ledger=ledger,
        wake=lambda at: worker.wake(at),  # noqa: PLW0108  # the worker is made of handlers that need these means
    )
    chosen = open_model(settings, clock)
    model = None if chosen is None else MeteredModel(chosen, meter)
    ground = _Ground(store, settings, means, model)
    compactor = _compactor(ground)
    lifecycle = _lifecycle(store, settings, clock)
    memory = _memory(ground)
    worker = new_worker(store, _handlers(ground, compactor, lifecycle, memory), settings, clock, meter)
    keeper = _keeper(ground, compactor, memory)
    contexts = _contexts(ground, keeper, memory)
    use = UseCases(
        chat=_chat(ground, keeper, contexts),
        conversations=Conversations(store, keeper, clock=clock, new_id=new_id),
        contexts=contexts,
        memories=memory.memories,
        learner=memory.learner,
        recall=memory.recall,
        forgetting=memory.forgetting,
        notes=Notes(store, means.events, clock=clock),
        embedding=memory.embedding,
        lifecycle=lifecycle,
        ledger=ledger,
    )
    outside = Outside(events=means.events, embedder=memory.embedder, model=model, metrics=meter.render)
    return Recollect(store, use, worker=worker, outside=outside)


def _handlers(ground: _Ground, compactor: Compactor, lifecycle: Lifecycle, memory: _Memory) -> dict[str, Handler]:
    """Return who does each kind of job; what models spend on it is entered in the ledger."""
    from recollect.service.embedding import EMBED
    from recollect.service.forgetting import FADE
    from recollect.service.memories import ERASE_MEMORY

    handlers: dict[str, Handler] = {
        SUMMARISE: compactor.summarise_job,
        TIDY: memory.forgetting.looking(lifecycle.tidy_job),
        FADE: memory.forgetting.fade_job,
        EXPIRE: lifecycle.expire_job,
        PRUNE: lifecycle.prune_job,
        EXTRACT: memory.learner.extract_job,
        EMBED: memory.embedding.embed_job,
        ERASE_MEMORY: memory.memories.erase_memory_job,
    }
    if ground.model is not None:
        handlers[TITLE] = Titles(ground.store, ground.model, clock=ground.means.clock).title_job
    return {kind: ground.means.ledger.billed(kind, handler) for kind, handler in handlers.items()}


def _keeper(ground: _Ground, compactor: Compactor, memory: _Memory) -> Keeper:
    settings = ground.settings
    options = KeeperOptions(
        idle=settings.sessions.timeout,
        debounce=timedelta(seconds=settings.jobs.debounce_seconds),
        titles=ground.model is not None,
        extract=settings.memory.enabled,
        propagate_errors=settings.history.propagate_errors,
        wake=ground.means.wake,
    )
    return Keeper(
        ground.store,
        _strategy(ground, compactor),
        clock=ground.means.clock,
        new_id=new_id,
        options=options,
        embedding=memory.embedding if settings.memory.enabled else None,
    )


def _chat(ground: _Ground, keeper: Keeper, contexts: Contexts) -> Chat:
    options = ChatOptions(write_policy=ground.settings.storage.write_policy)
    return Chat(ground.store, keeper, contexts, _responder(ground.model), ground.means, options)


class _Memory(NamedTuple):
    """What learns and recalls."""

    embedder: Embedder
    embedding: Embedding
    memories: Memories
    learner: Learner
    forgetting: Forgetting
    recall: Recall


def _memory(ground: _Ground) -> _Memory:
    from recollect.domain.likeness import DEFAULT_THRESHOLDS, SENTENCE_THRESHOLDS
    from recollect.embedding.choose import open_embedder
    from recollect.extraction.extractors import choose_extractor
    from recollect.providers.choose_embedder import open_http_embedder
    from recollect.service.embedding import Embedding
    from recollect.service.forgetting import Forgetting
    from recollect.service.knowledge import Knowledge
    from recollect.service.learning import Learner, LearningOptions
    from recollect.service.memories import Memories
    from recollect.service.memory_writer import MemoryWriter
    from recollect.service.recall import Recall

    store, settings, means = ground.store, ground.settings, ground.means
    embedder = open_embedder(settings, lambda chosen: open_http_embedder(chosen, means.clock))
    thresholds = DEFAULT_THRESHOLDS if settings.embedding.kind == "static" else SENTENCE_THRESHOLDS
    embedding = Embedding(store, embedder, means, thresholds)
    knowledge = Knowledge(store, embedding)
    writer = MemoryWriter(store, knowledge, embedding, means, max_per_conversation=settings.memory.max_per_session)
    options = LearningOptions(threshold=settings.memory.extraction_threshold)
    return _Memory(
        embedder,
        embedding,
        Memories(store, writer, embedding, means),
        Learner(store, writer, choose_extractor(settings.memory, ground.model), means, options),
        Forgetting(store, writer, means, settings.memory.half_life),
        Recall(store, knowledge, embedding, means),
    )


def _contexts(ground: _Ground, keeper: Keeper, memory: _Memory) -> Contexts:
    settings = ground.settings
    options = ContextOptions(
        system=settings.context.system,
        format=settings.context.format,
        budget=settings.context.budget,
        memories=settings.memory.context_limit,
        passages=settings.context.passages,
        recent=settings.memory.recent_limit,
    )
    return Contexts(ground.store, keeper, memory.recall if settings.memory.enabled else None, options)


def _compactor(ground: _Ground) -> Compactor:
    history = ground.settings.history
    generators = choose_generator(history, ground.model)
    return Compactor(ground.store, generators, CompactionSettings.of(history), clock=ground.means.clock, new_id=new_id)


def _strategy(ground: _Ground, compactor: Compactor) -> Strategy:
    return open_strategy(
        StrategyParts(
            store=ground.store,
            compaction=compactor,
            settings=ground.settings.history,
            clock=ground.means.clock,
            new_id=new_id,
            window_size=ground.settings.window.size,
        )
    )


def _lifecycle(store: Store, settings: Settings, clock: Clock) -> Lifecycle:
    days = settings.archive.retention_days
    retention = None if days is None else timedelta(days=days)
    options = LifecycleOptions(timeout=settings.sessions.timeout, retention=retention)
    return Lifecycle(store, options, clock=clock, new_id=new_id)


def _responder(model: ChatModel | None) -> Responder:
    if model is not None:
        from recollect.providers.responder import ModelResponder

        return ModelResponder(model)
    from recollect.providers.offline import OfflineResponder

    return OfflineResponder()


async def _open_events(settings: Settings) -> Events:
    if settings.storage.sqlite_path is not None:
        return LocalEvents()
    from recollect.storage.postgres_events import PostgresEvents

    return await PostgresEvents.open(settings.storage.database)


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
        settled_mark=driver.settled_mark,
        clock=system_clock,
        max_conversations=settings.sessions.max_cached,
        idle=settings.sessions.timeout,
    )


@asynccontextmanager
async def open_worker(settings: Settings) -> AsyncIterator[Worker]:
    """Open the store and a worker on it, which is not started yet; both have ended when this does."""
    store = await open_store(settings)
    async with assemble(store, settings, events=await _open_events(settings)) as service:
        yield service.worker


def new_worker(
    store: JobStore,
    handlers: Mapping[str, Handler],
    settings: Settings,
    clock: Clock = system_clock,
    meter: Meter | None = None,
) -> Worker:
    """Return a worker with a name of its own that does these kinds of jobs."""
    jobs = settings.jobs
    options = WorkerOptions(
        name=f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()}",
        concurrency=jobs.concurrency,
        poll=timedelta(seconds=jobs.poll_seconds),
        drain=timedelta(seconds=jobs.drain_seconds),
        keep_done=timedelta(days=jobs.keep_done_days),
        meter=meter or NoMeter(),
        limits=AttemptLimits(
            lease=timedelta(seconds=jobs.lease_seconds), timeout=timedelta(seconds=jobs.timeout_seconds)
        ),
    )
    return Worker(store, handlers, options=options, pace=Pace(clock))


def new_id() -> str:
    """Return a fresh UUIDv7."""
    import uuid_utils

    return str(uuid_utils.uuid7())
