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
from recollect.identity.choose import open_verifier
from recollect.ports.chat_model import ChatModel
from recollect.ports.clock import Clock
from recollect.ports.embedder import Embedder
from recollect.ports.events import Events
from recollect.ports.jobs import JobStore
from recollect.ports.keys import KeyStore
from recollect.ports.meter import NoMeter
from recollect.ports.responder import Responder
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, StrategyParts
from recollect.ports.tracer import NoTracer
from recollect.ports.windows import WindowCache
from recollect.providers.metered import MeteredModel
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatOptions
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.service.context import ContextOptions, Contexts
from recollect.service.conversations import Conversations
from recollect.service.identity import Identity
from recollect.service.job_attempts import AttemptLimits, Handler
from recollect.service.jobs import Jobs
from recollect.service.keeping import EXTRACT, TIDY, TITLE, Keeper, KeeperOptions
from recollect.service.keys import Keys
from recollect.service.ledger import Ledger
from recollect.service.lifecycle import EXPIRE, PRUNE, Lifecycle, LifecycleOptions
from recollect.service.means import Means
from recollect.service.notes import Notes
from recollect.service.patience import Pace
from recollect.service.preferences import UserPreferences
from recollect.service.readiness import ReadinessCheck
from recollect.service.recollect import Outside, Recollect, UseCases
from recollect.service.streams import StreamOptions, Streams
from recollect.service.titles import Titles
from recollect.service.tools import Toolbox
from recollect.service.turn_taking import ChatParts
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
    from recollect.providers.choose import open_model, provider_of
    from recollect.service.account import Account
    from recollect.service.overview import OverviewOptions, Overviews
    from recollect.telemetry.choose import open_tracer
    from recollect.telemetry.prometheus import PrometheusMeter

    meter, tracer = PrometheusMeter(), open_tracer(settings.telemetry)
    ledger = Ledger(store, clock=clock, new_id=new_id, meter=meter, prices=settings.model.known_prices)
    means = Means(
        clock=clock,
        new_id=new_id,
        events=events or LocalEvents(),
        meter=meter,
        tracer=tracer,
        ledger=ledger,
        wake=lambda at: worker.wake(at),  # noqa: PLW0108  # the worker is made of handlers that need these means
    )
    chosen = open_model(settings, clock)
    provider = provider_of(settings)
    model = None if chosen is None else MeteredModel(chosen, meter, tracer=tracer, provider=provider)
    ground = _Ground(store, settings, means, model)
    compactor = _compactor(ground)
    lifecycle = _lifecycle(store, settings, means)
    memory = _memory(ground)
    worker = new_worker(store, _handlers(ground, compactor, lifecycle, memory), settings, clock, means)
    keeper = _keeper(ground, compactor, memory)
    contexts = _contexts(ground, keeper, memory)
    notes = Notes(store, means.events, clock=clock)
    chat = _chat(ground, keeper, contexts, Toolbox(notes, memory.recall if settings.memory.enabled else None))
    use = UseCases(
        chat=chat,
        streams=Streams(chat, store, StreamOptions(linger=timedelta(seconds=settings.server.resume_seconds))),
        conversations=Conversations(store, keeper, clock=clock, new_id=new_id, events=means.events),
        contexts=contexts,
        memories=memory.memories,
        learner=memory.learner,
        recall=memory.recall,
        forgetting=memory.forgetting,
        notes=notes,
        preferences=UserPreferences(store, means),
        embedding=memory.embedding,
        lifecycle=lifecycle,
        ledger=ledger,
        overview=Overviews(store, memory.embedding, model, clock=clock, options=OverviewOptions.of(settings)),
        identity=open_identity(store, settings, clock),
        jobs=Jobs(store, means),
        account=Account(store, keeper, memory.embedding, means),
        readiness=_readiness(ground, worker),
    )
    outside = Outside(means.events, memory.embedder, model, meter, meter.render, tracer)
    return Recollect(store, use, worker=worker, outside=outside)


def open_identity(store: KeyStore, settings: Settings, clock: Clock = system_clock) -> Identity:
    """Return what finds out who calls; raise `SettingsError` if what verifies tokens cannot be used."""
    keys = Keys(store, clock=clock, new_id=new_id)
    return Identity(keys, verifier=open_verifier(settings.auth, clock), mode=settings.auth.mode)


def _readiness(ground: _Ground, worker: Worker) -> ReadinessCheck:
    from recollect.storage.store import SqlStore

    store = ground.store
    # Only the store with a cache of ours can tell; for any other there is nothing to be away.
    is_up = (lambda: store.cache_is_up) if isinstance(store, SqlStore) else (lambda: True)
    return ReadinessCheck(store, cache_is_up=is_up, model=ground.model, worker=worker)


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
        titles = Titles(ground.store, ground.model, clock=ground.means.clock, events=ground.means.events)
        handlers[TITLE] = titles.title_job
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


def _chat(ground: _Ground, keeper: Keeper, contexts: Contexts, toolbox: Toolbox) -> Chat:
    storage = ground.settings.storage
    options = ChatOptions(write_policy=storage.write_policy, volatile_fallback=storage.volatile_fallback)
    responder = _responder(ground)
    return Chat(ChatParts(ground.store, keeper, contexts, responder, toolbox, ground.means, options))


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
    settings = CompactionSettings.of(history, learns=ground.settings.memory.enabled)
    return Compactor(ground.store, generators, settings, clock=ground.means.clock, new_id=new_id)


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


def _lifecycle(store: Store, settings: Settings, means: Means) -> Lifecycle:
    days = settings.archive.retention_days
    retention = None if days is None else timedelta(days=days)
    options = LifecycleOptions(timeout=settings.sessions.timeout, retention=retention)
    return Lifecycle(store, options, clock=means.clock, new_id=new_id, events=means.events)


def _responder(ground: _Ground) -> Responder:
    if ground.model is not None:
        from recollect.providers.responder import ModelResponder

        return ModelResponder(ground.model, ground.means.tracer)
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
    means: Means | None = None,
) -> Worker:
    """Return a worker with a name of its own that does these kinds of jobs."""
    jobs = settings.jobs
    options = WorkerOptions(
        name=f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()}",
        concurrency=jobs.concurrency,
        poll=timedelta(seconds=jobs.poll_seconds),
        drain=timedelta(seconds=jobs.drain_seconds),
        keep_done=timedelta(days=jobs.keep_done_days),
        meter=NoMeter() if means is None else means.meter,
        tracer=NoTracer() if means is None else means.tracer,
        events=None if means is None else means.events,
        limits=AttemptLimits(
            lease=timedelta(seconds=jobs.lease_seconds), timeout=timedelta(seconds=jobs.timeout_seconds)
        ),
    )
    return Worker(store, handlers, options=options, pace=Pace(clock))


def new_id() -> str:
    """Return a fresh UUIDv7."""
    import uuid_utils

    return str(uuid_utils.uuid7())
