"""Processes that summarise are killed at each step and at any moment: every message is verbatim or covered once."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from recollect.bootstrap import assemble, new_worker, open_store
from recollect.domain.job import Job, JobQuery
from recollect.domain.page import MessageQuery
from recollect.domain.summary import Summary
from recollect.history.strategies import SUMMARISE
from recollect.ports.store import Store
from recollect.service.job_attempts import Handler
from recollect.storage.maintenance import Maintenance
from recollect.storage.postgres_maintenance import PostgresMaintenance
from recollect.storage.sqlite_maintenance import SqliteMaintenance
from recollect.storage.verify import unseen
from recollect.testing.samples import ids_of
from tests.support.summary_process import (
    BRIEF,
    SCOPE,
    SHARED,
    SHORT,
    command,
    compactor,
    is_inside,
    kind,
    said,
    settings,
)

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


async def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process says, without keeping the store from its work."""
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def output(process: subprocess.Popen[str]) -> list[str]:
    """Return the lines of a process that ends by itself and complains of nothing."""
    lines, complaints = await asyncio.to_thread(process.communicate, timeout=110)
    assert (process.returncode, complaints) == (0, "")
    return lines.splitlines()


def damage(database: str) -> list[object]:
    """List whatever a check of the whole database finds wrong."""
    path = settings(database).storage.sqlite_path
    maintenance: Maintenance = PostgresMaintenance(database) if path is None else SqliteMaintenance(path)
    return list(maintenance.check(repair=False, progress=unseen))


async def stored(store: Store, conversation_id: str) -> list[str]:
    found: list[str] = []
    while True:
        query = MessageQuery(conversation_id=conversation_id, limit=500, before=found[0] if found else None)
        page = await store.list_messages(SCOPE, query)
        assert page.corrupt == ()
        found = ids_of(page.messages) + found
        if not page.more:
            return found


async def layers(store: Store, conversation_id: str) -> list[Summary]:
    """List all summaries of a conversation, those that were folded too."""
    active = await store.active_summaries(SCOPE, conversation_id)
    return [one for summary in active for one in await store.expand_summary(SCOPE, conversation_id, summary.id)]


async def check_covered_once(store: Store, conversation_id: str, names: list[str]) -> list[Summary]:
    """Check that each message is told once, verbatim or under a summary, in order, and return all summaries."""
    every = await layers(store, conversation_id)
    leaves = sorted((one for one in every if not one.folds), key=lambda one: one.first_seq)
    assert all(before.last_seq + 1 == after.first_seq for before, after in pairwise(leaves))
    covered = [name for leaf in leaves for name in leaf.message_ids]
    backlog = await store.get_backlog(SCOPE, conversation_id, 1_000)
    assert covered + ids_of(backlog.messages) == names
    folded = Counter(name for one in every for name in one.folds)
    assert set(folded.values()) <= {1}
    assert set(folded) == {one.id for one in every if one.folded_into is not None}
    # What no summary stands for is there, whatever became of the rest.
    there = await stored(store, conversation_id)
    assert [name for name in names if name in set(there)] == there
    assert set(names[len(covered) :]) <= set(there)
    conversation = await store.get_conversation(SCOPE, conversation_id)
    assert (conversation.message_count, conversation.next_seq) == (len(there), len(names) + 1)
    return every


async def jobs_of(store: Store) -> list[Job]:
    """List the jobs to summarise."""
    found: list[Job] = []
    while page := await store.list_jobs(SCOPE, JobQuery(limit=500, before_id=found[-1].id if found else None)):
        found += page
    return [job for job in found if job.kind.startswith(SUMMARISE)]


async def all_done(store: Store, *workers: subprocess.Popen[str]) -> list[Job]:
    """Wait until nothing is left to summarise, and return all jobs; these processes must live that long."""
    while True:
        assert [worker.poll() for worker in workers] == [None] * len(workers)
        found = await jobs_of(store)
        if not any(job.state in {"queued", "running"} for job in found):
            return found
        await asyncio.sleep(0.05)


def after_every_lease() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=5)


@pytest.mark.spec("R11")
@pytest.mark.parametrize("originals", ["KEPT", "DELETED"])
async def test_a_worker_killed_at_each_step_leaves_every_message_covered_once(
    originals: str, store: Store, database: str, spawn: Spawn, count: Callable[[int, int], int]
) -> None:
    deleted = originals == "DELETED"
    # Who deletes the originals takes all the steps of who keeps them, and more.
    every = 1 if deleted else count(4, 1)
    *killed_at, end = await output(spawn(*command("steps", database, originals, every)))
    assert end == "through"
    if every == 1:
        assert {"summarise", "insert_summary", "update_conversation", "fold", "fold_summary"} <= set(killed_at)
        assert {"update_job", "before the commit", "after the commit", "a read"} <= set(killed_at)
    assert ("delete_message" in killed_at) == deleted
    kinds = {f"c{number}": kind(number) for number in range(1, every * len(killed_at) + 2, every)}
    expected = {one: ids_of(said(one, 4)) for one in kinds}
    assert damage(database) == []
    found = {one: len(await check_covered_once(store, one, expected[one])) for one in kinds}
    # Some died before their first summary, some after each.
    assert set(found.values()) == {0, 1, 2, 3}

    asked: list[str] = []
    healthy = compactor(store, asked.append, SHORT, delete_originals=deleted)
    handlers: dict[str, Handler] = dict.fromkeys(kinds.values(), healthy.summarise_job)
    heir = new_worker(store, handlers, settings(database), after_every_lease)
    heir.start()
    done = await all_done(store)
    await heir.stop()
    assert Counter(job.kind for job in done) == dict.fromkeys(kinds.values(), 1)
    assert {(job.state, job.error) for job in done} == {("done", None)}
    assert max(job.attempts for job in done) == 2
    # No summary that was stored is written again.
    assert len(asked) == 3 * len(kinds) - sum(found.values())
    for one, names in expected.items():
        whole = await check_covered_once(store, one, names)
        assert sorted(summary.level for summary in whole) == [0, 0, 1]
        assert await stored(store, one) == (names[-1:] if deleted else names)
    assert damage(database) == []


@pytest.mark.spec("R11")
@pytest.mark.parametrize("workers", [2, 4])
async def test_workers_that_summarise_one_conversation_at_once_cover_each_message_once(
    workers: int, store: Store, database: str, spawn: Spawn
) -> None:
    service = assemble(store, settings(database))
    messages = said(SHARED, 1_000)
    await service.conversations.add_messages(SCOPE, SHARED, messages)
    *lines, end = await output(spawn(*command("race", database, workers)))
    assert end == f"ended {[0] * workers}"
    committed, asked = (sum(column) for column in zip(*(map(int, line.split()) for line in lines), strict=True))
    every = await check_covered_once(store, SHARED, ids_of(messages))
    assert len(every) == committed
    assert Counter(bool(one.folds) for one in every) == {False: 20, True: 3}
    # All of them had the first summary written, and one of them stored it.
    assert asked >= committed + workers - 1
    assert len((await store.get_window(SCOPE, SHARED)).uncovered) == 6
    assert damage(database) == []


@pytest.mark.spec("R11")
@pytest.mark.timeout(900)
async def test_workers_killed_at_any_moment_cover_each_message_once(
    store: Store, database: str, spawn: Spawn, count: Callable[[int, int], int], seed: int
) -> None:
    chance = random.Random(seed)
    # Without memory: nobody here does its jobs, and the writer must keep up with the workers.
    service = assemble(store, settings(database, **{"memory.enabled": False}))
    names: dict[str, list[str]] = {f"c{number}": [] for number in range(6)}
    enough = asyncio.Event()

    async def talk() -> None:
        """Add to all conversations for as long as workers are killed, but no faster than they are kept short.

        However soon the workers are killed, enough is said for several summaries.
        """
        while not enough.is_set() or any(len(own) < 60 for own in names.values()):
            if len([job for job in await jobs_of(store) if job.state == "queued"]) == len(names):
                await asyncio.sleep(0.01)
                continue
            for one, own in names.items():
                new = said(one, len(own) + 5)[len(own) :]
                await service.conversations.add_messages(SCOPE, one, new)
                own.extend(ids_of(new))

    def start() -> subprocess.Popen[str]:
        return spawn(*command("work", database, chance.choice(["KEPT", "DELETED"])))

    talking = asyncio.create_task(talk())
    workers = [start(), start()]
    try:
        for _ in range(count(4, 60)):
            victim = workers.pop(chance.randrange(len(workers)))
            assert await line(victim) == "ready"
            for _ in range(chance.randrange(1, 12)):
                assert await line(victim) in {"summarise", "fold"}
            await asyncio.sleep(chance.random() * 0.02)
            victim.kill()
            workers.append(start())
    finally:
        enough.set()
        await talking
    done = await all_done(store, *workers)
    assert {(job.state, job.error) for job in done} == {("done", None)}
    for worker in workers:
        # Before that it does not know the signal, and the other one may have done all jobs by then.
        assert await line(worker) == "ready"
        worker.send_signal(signal.SIGTERM)
        await output(worker)
    for one, own in names.items():
        assert len(await check_covered_once(store, one, own)) > 2
        assert len((await store.get_window(SCOPE, one)).uncovered) <= 10
    assert damage(database) == []


async def test_every_summary_due_is_written_once_although_chats_were_killed_after_their_replies(
    store: Store, database: str, spawn: Spawn, tmp_path: Path, count: Callable[[int, int], int], seed: int
) -> None:
    chats = count(8, 100)
    acknowledged: dict[str, list[str]] = {f"k{number}": [] for number in range(chats)}
    for acknowledgement in await output(spawn(*command("turns", database, seed, chats))):
        one, *messages = acknowledgement.split()
        acknowledged[one] += messages
    jobs = await jobs_of(store)
    for number, (one, names) in enumerate(acknowledged.items()):
        every = await check_covered_once(store, one, names)
        own = [job for job in jobs if job.conversation_id == one]
        if not is_inside(number, chats):
            # Nobody did the job that came with the turn which made it necessary; the later turns need no other.
            assert [(job.state, job.attempts) for job in own] == [("queued", 0)] * (len(names) > 2)
            assert every == []
        due = len(names) - sum(summary.message_count for summary in every if not summary.folds) > 2
        assert due <= any(job.state in {"queued", "running"} for job in own)

    config = tmp_path / "next.toml"
    history = "".join(f"{name.removeprefix('history.')} = {value}\n" for name, value in BRIEF.items())
    config.write_text(f"[jobs]\npoll_seconds = 0.05\n[model]\nkind = 'none'\n[history]\n{history}")
    heir = spawn(*_recollect("worker", "--database", database, "--config", str(config)))
    done = await all_done(store, heir)
    assert {(job.state, job.error) for job in done} == {("done", None)}
    heir.send_signal(signal.SIGTERM)
    await asyncio.to_thread(heir.communicate, timeout=30)
    assert heir.returncode == 0
    for number, (one, names) in enumerate(acknowledged.items()):
        every = await check_covered_once(store, one, names)
        assert len((await store.get_window(SCOPE, one)).uncovered) == (1 if len(names) > 2 else 2)
        if not is_inside(number, chats):
            assert len(every) == (1 if len(names) > 2 else 0)
        assert await stored(store, one) == names
    assert damage(database) == []


def _recollect(*given: str) -> list[str]:
    return [command("")[0], "-m", "recollect", *given]
