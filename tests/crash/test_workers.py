"""Several workers on one database that are killed, stopped and replaced: every job has its effect once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.bootstrap import new_worker, open_store
from recollect.domain.job import Job, JobQuery, NewJob
from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.turn import Append
from recollect.ports.store import Store
from recollect.service.worker import Worker
from tests.support.servers import PostgresServer
from tests.support.worker_process import EFFECTS, handlers, settings

SCOPE = Scope()
WORKERS = 3
Spawn = Callable[..., subprocess.Popen[str]]


def start(command: list[str]) -> subprocess.Popen[str]:
    """Start a process without a developer's own settings."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    store = await open_store(settings(database))
    yield store
    await store.close()


@pytest.fixture
def spawn(store: Store, database: str) -> Iterator[Spawn]:
    """Start a worker in a process of its own, on a database that is open by now."""
    started: list[subprocess.Popen[str]] = []

    def spawn(lease: float = 60.0, drain: float = 10.0) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.worker_process", database, str(lease), str(drain)]
        process = start(command)
        started.append(process)
        return process

    yield spawn
    for process in started:
        process.kill()
        process.communicate()


def new(job_id: str, kind: str = "append", **more: Any) -> NewJob:
    return NewJob(**{"id": job_id, "kind": kind, "run_at": datetime.now(UTC), "max_attempts": 1_000, **more})


async def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process says, without keeping the store from its work."""
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Stop a worker gracefully and return how it ended, with what it complained of."""
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=30)
    return process.returncode, complaints


async def jobs_of(store: Store) -> list[Job]:
    found: list[Job] = []
    while page := await store.list_jobs(SCOPE, JobQuery(limit=500, before_id=found[-1].id if found else None)):
        found += page
    return found


async def queued(store: Store) -> int:
    return len(await store.list_jobs(SCOPE, JobQuery(state="queued")))


async def feed(store: Store, names: set[str], enough: asyncio.Event) -> None:
    """Queue so many jobs that every worker has something to do, until there were enough."""
    while not enough.is_set():
        if await queued(store) >= 40:
            await asyncio.sleep(0.01)
            continue
        name = f"j{len(names)}"
        names.add(name)
        await store.enqueue_job(SCOPE, new(name), datetime.now(UTC))


async def all_done(store: Store) -> list[Job]:
    """Wait until no job is left to do, and return them all."""
    while True:
        found = await jobs_of(store)
        if not any(job.state in {"queued", "running"} for job in found):
            return found
        await asyncio.sleep(0.05)


async def down(worker: Worker) -> None:
    """Wait until the worker knows that its store is away."""
    while True:
        if worker.state.store_down_since is not None:
            return
        await asyncio.sleep(0.01)


async def effects(store: Store) -> list[str]:
    found: list[str] = []
    query = MessageQuery(conversation_id=EFFECTS, limit=500)
    while True:
        page = await store.list_messages(SCOPE, query)
        found = [message.id for message in page.messages] + found
        if not page.more:
            return found
        query = MessageQuery(conversation_id=EFFECTS, limit=500, before=found[0])


@pytest.mark.timeout(900)
async def test_workers_that_are_killed_again_and_again_do_every_job_once(
    store: Store, spawn: Spawn, count: Callable[[int, int], int], seed: int
) -> None:
    chance = random.Random(seed)
    names: set[str] = set()
    enough = asyncio.Event()
    feeding = asyncio.create_task(feed(store, names, enough))
    workers = [spawn(lease=1.0) for _ in range(WORKERS)]
    for _ in range(count(6, 60)):
        victim = workers.pop(chance.randrange(WORKERS))
        assert await line(victim) == "ready"
        for _ in range(chance.randrange(1, 20)):
            assert await line(victim) in names
        victim.kill()
        workers.append(spawn(lease=1.0))
    enough.set()
    await feeding
    done = await all_done(store)
    assert {job.id for job in done} == names
    assert {job.state for job in done} == {"done"}
    assert max(job.attempts for job in done) > 1
    stored = await effects(store)
    assert len(stored) == len(names)
    assert set(stored) == names
    for worker in workers:
        assert await line(worker) == "ready"
        assert await asyncio.to_thread(end, worker) == (0, "")


async def test_a_job_of_a_killed_worker_is_taken_over_when_its_lease_ends(
    store: Store, spawn: Spawn, database: str
) -> None:
    await store.enqueue_job(SCOPE, new("j1", "stuck"), datetime.now(UTC))
    victim = spawn(lease=1.0)
    assert [await line(victim), await line(victim)] == ["ready", "j1"]
    victim.kill()
    held = await store.get_job(SCOPE, "j1")
    assert held.state == "running"
    taken: list[Job] = []

    async def take_over(_scope: Scope, job: Job) -> None:
        taken.append(job)

    heir = new_worker(store, {"stuck": take_over}, settings(database))
    heir.start()
    (done,) = await all_done(store)
    await heir.stop()
    assert (done.state, done.attempts) == ("done", 2)
    assert [(job.attempts, job.worker == held.worker) for job in taken] == [(2, False)]
    assert held.lease_until is not None
    assert taken[0].updated_at >= held.lease_until


async def test_a_worker_that_is_told_to_end_gives_back_what_it_does_not_finish(store: Store, spawn: Spawn) -> None:
    await store.enqueue_job(SCOPE, new("j1", "stuck", max_attempts=1), datetime.now(UTC))
    worker = spawn(drain=0.2)
    assert [await line(worker), await line(worker)] == ["ready", "j1"]
    assert await asyncio.to_thread(end, worker) == (0, "")
    given = await store.get_job(SCOPE, "j1")
    assert (given.state, given.attempts, given.worker) == ("queued", 0, None)
    assert given.run_at <= datetime.now(UTC)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_second_signal_ends_a_worker_at_once(store: Store, spawn: Spawn) -> None:
    await store.enqueue_job(SCOPE, new("j1", "stuck"), datetime.now(UTC))
    worker = spawn(drain=600.0)
    assert [await line(worker), await line(worker)] == ["ready", "j1"]
    worker.send_signal(signal.SIGINT)
    assert (await line(worker)).startswith("stopping")
    assert await asyncio.to_thread(end, worker) == (-signal.SIGTERM, "")
    assert (await store.get_job(SCOPE, "j1")).state == "running"


async def test_fifty_requests_with_one_key_run_once_with_several_workers(store: Store, database: str) -> None:
    begun: list[str] = []
    async with AsyncExitStack() as closing:
        for _ in range(WORKERS):
            own = await open_store(settings(database))
            closing.push_async_callback(own.close)
            worker = new_worker(own, handlers(own, begun.append), settings(database))
            worker.start()
            closing.push_async_callback(worker.stop)
        for number in range(50):
            now = datetime.now(UTC)
            debounced = new(f"j{number}", key="append c1", run_at=now + timedelta(seconds=0.5), payload={"n": number})
            await store.enqueue_job(SCOPE, debounced, now)
        (done,) = await all_done(store)
    assert (done.id, done.state, done.attempts, done.payload) == ("j0", "done", 1, {"n": 49})
    assert begun == ["j0"]
    assert await effects(store) == ["j0"]


async def test_a_database_that_goes_away_and_comes_back_ends_no_worker_and_loses_no_job(
    start_postgres: Callable[..., PostgresServer],
) -> None:
    server = start_postgres(durable=False)
    chosen = settings(server.address.create_database("jobs"), lease=2.0)
    store = await open_store(chosen)
    begun: asyncio.Queue[str] = asyncio.Queue()
    worker = new_worker(store, handlers(store, begun.put_nowait), chosen)
    names = {f"j{number}" for number in range(100)}
    try:
        for name in sorted(names):
            await store.enqueue_job(SCOPE, new(name), datetime.now(UTC))
        worker.start()
        assert await begun.get() in names
        await asyncio.to_thread(server.stop)
        await down(worker)
        await asyncio.to_thread(server.start)
        assert {job.state for job in await all_done(store)} == {"done"}
        assert sorted(await effects(store)) == sorted(names)
        assert worker.state.store_down_since is None
    finally:
        await worker.stop()
        await store.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_the_command_does_jobs_until_it_is_told_to_end(store: Store, database: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    said = tuple(
        NewMessage(id=f"m{number}", role="user", content=f"We met in Lviv {number} times.", created_at=now)
        for number in range(20)
    )
    await store.append(SCOPE, Append(conversation_id="c1", messages=said, at=now, create=True))
    await store.enqueue_job(SCOPE, new("j1", "summarise", conversation_id="c1"), now)
    config = tmp_path / "worker.toml"
    config.write_text("[jobs]\npoll_seconds = 0.05\n")
    command = [sys.executable, "-m", "recollect", "worker", "--database", database, "--config", str(config)]
    worker = start(command)
    try:
        assert await line(worker) == "Recollect worker"
        assert "summarise" in await line(worker)
        (done,) = await all_done(store)
        assert done.state == "done"
        assert len(await store.active_summaries(SCOPE, "c1")) > 0
    finally:
        status, logged = await asyncio.to_thread(end, worker)
    assert status == 0
    assert "job done kind=summarise job=j1 attempt=1" in logged
    assert "Lviv" not in logged
