"""Processes that learn are killed at each step and at any moment: every turn is learned from exactly once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.bootstrap import new_worker, open_store
from recollect.domain.job import Job, JobQuery
from recollect.domain.memory import Memory, MemoryQuery
from recollect.ports.store import Store
from recollect.service.job_attempts import Handler
from recollect.service.keeping import EXTRACT
from recollect.testing.samples import append
from tests.support.extraction_process import SHARED, command, kind, learner, said
from tests.support.summary_process import SCOPE, is_inside, settings

Spawn = Callable[..., subprocess.Popen[str]]


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
def spawn(store: Store) -> Iterator[Spawn]:
    """Start a process on a database that is open by now."""
    started: list[subprocess.Popen[str]] = []

    def spawn(*given: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield spawn
    for process in started:
        process.kill()
        process.communicate()


async def output(process: subprocess.Popen[str]) -> list[str]:
    """Return the lines of a process that ends by itself and complains of nothing."""
    lines, complaints = await asyncio.to_thread(process.communicate, timeout=110)
    assert (process.returncode, complaints) == (0, "")
    return lines.splitlines()


async def all_memories(store: Store) -> list[Memory]:
    found: list[Memory] = []
    while True:
        before = found[-1].id if found else None
        page = await store.list_memories(SCOPE, MemoryQuery(limit=500, trust=None, archived=None, before_id=before))
        assert page.corrupt == ()
        found += page.items
        if page.next is None:
            return found


async def sources(store: Store) -> Counter[str]:
    """Count the memories that each message is the source of."""
    return Counter(source.message_id for memory in await all_memories(store) for source in memory.sources)


async def jobs_of(store: Store) -> list[Job]:
    """List the jobs to learn."""
    found: list[Job] = []
    while page := await store.list_jobs(SCOPE, JobQuery(limit=500, before_id=found[-1].id if found else None)):
        found += page
    return [job for job in found if job.kind.startswith(EXTRACT)]


async def all_done(store: Store) -> list[Job]:
    """Wait until nothing is left to learn, and return all jobs."""
    while True:
        found = await jobs_of(store)
        if not any(job.state in {"queued", "running"} for job in found):
            return found
        await asyncio.sleep(0.05)


async def mark(store: Store, conversation_id: str) -> int:
    return (await store.get_conversation(SCOPE, conversation_id)).extracted_seq


def after_every_lease() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=5)


@pytest.mark.spec("R3")
@pytest.mark.spec("B2")
async def test_a_worker_killed_at_each_step_learns_from_every_message_once(
    store: Store, database: str, spawn: Spawn, count: Callable[[int, int], int]
) -> None:
    # Both stores take the same steps; one of them takes them all.
    every = 1 if database.startswith("sqlite") else count(4, 1)
    *killed_at, end = await output(spawn(*command("steps", database, every)))
    assert end == "through"
    if every == 1:
        assert {"reading", "read", "insert_memory", "update_conversation", "update_job"} <= set(killed_at)
        assert {"before the commit", "after the commit", "a read"} <= set(killed_at)
    kinds = {f"c{number}": kind(number) for number in range(1, every * len(killed_at) + 2, every)}
    names = {one: [message.id for message in said(one, 2)] for one in kinds}
    known, jobs = await sources(store), {job.conversation_id: job for job in await jobs_of(store)}
    left = []
    for one in kinds:
        # The memories, the mark and the end of the job are there together or not at all.
        is_done = jobs[one].state == "done"
        assert [known[name] for name in names[one]] == [int(is_done)] * 2
        assert await mark(store, one) == (2 if is_done else 0)
        left += [] if is_done else [one]
    assert 0 < len(left) < len(kinds)

    readings: list[str] = []
    heir_learner = learner(store, database, readings.append)
    handlers: dict[str, Handler] = dict.fromkeys(kinds.values(), heir_learner.extract_job)
    heir = new_worker(store, handlers, settings(database), after_every_lease)
    heir.start()
    done = await all_done(store)
    await heir.stop()
    assert Counter(job.kind for job in done) == dict.fromkeys(kinds.values(), 1)
    assert {(job.state, job.error) for job in done} == {("done", None)}
    assert max(job.attempts for job in done) == 2
    # What was learned is not read again.
    assert readings.count("reading") == len(left)
    assert await sources(store) == {name: 1 for own in names.values() for name in own}
    assert {await mark(store, one) for one in kinds} == {2}


@pytest.mark.spec("R3")
@pytest.mark.spec("B2")
@pytest.mark.parametrize("workers", [2, 4])
async def test_workers_that_learn_from_one_conversation_at_once_learn_from_each_message_once(
    workers: int, store: Store, database: str, spawn: Spawn
) -> None:
    messages = said(SHARED, 120)
    await store.append(SCOPE, append(SHARED, *messages))
    *lines, end = await output(spawn(*command("race", database, workers)))
    assert end == f"ended {[0] * workers}"
    read, saved, readings = (sum(column) for column in zip(*(map(int, line.split()) for line in lines), strict=True))
    # All of them read the first range, and one of them saved it.
    assert (read, saved) == (120, 120)
    assert readings >= 3 + workers - 1
    assert await sources(store) == {message.id: 1 for message in messages}
    assert await mark(store, SHARED) == 120


@pytest.mark.spec("R3")
@pytest.mark.spec("B2")
async def test_every_turn_is_learned_from_once_although_chats_were_killed_after_their_replies(
    store: Store, database: str, spawn: Spawn, tmp_path: Path, count: Callable[[int, int], int], seed: int
) -> None:
    chats = count(8, 100)
    turns: Counter[str] = Counter()
    for acknowledgement in await output(spawn(*command("turns", database, seed, chats))):
        turns[acknowledgement.split()[0]] += 1
    assert len(turns) == chats
    jobs = await jobs_of(store)
    for number, one in enumerate(turns):
        own = [job for job in jobs if job.conversation_id == one]
        if not is_inside(number, chats):
            # Nobody did the job that came with the first turn; the later turns need no other.
            assert [(job.state, job.attempts) for job in own] == [("queued", 0)]
            assert await mark(store, one) == 0
        due = await mark(store, one) < 2 * turns[one]
        assert due <= any(job.state in {"queued", "running"} for job in own)

    config = tmp_path / "next.toml"
    config.write_text("[jobs]\npoll_seconds = 0.05\n[model]\nkind = 'none'\n")
    heir = spawn(command("")[0], "-m", "recollect", "worker", "--database", database, "--config", str(config))
    done = await all_done(store)
    assert {(job.state, job.error) for job in done} == {("done", None)}
    heir.send_signal(signal.SIGTERM)
    await asyncio.to_thread(heir.communicate, timeout=30)
    assert heir.returncode == 0
    kept = Counter(memory.content for memory in await all_memories(store))
    said_once = {f"The user likes dish {one}n{turn}." for one, many in turns.items() for turn in range(many)}
    assert kept == dict.fromkeys(said_once, 1)
    for one, many in turns.items():
        assert await mark(store, one) == 2 * many
