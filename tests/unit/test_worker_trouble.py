"""A worker in trouble: lost leases, long jobs, a store that is away, errors that nobody foresaw."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from recollect.domain.job import ClaimedJob, ClaimRequest, Job
from recollect.domain.scope import Scope
from recollect.errors import (
    StorageError,
    StorageUnavailableError,
)
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.samples import ALICE, after
from tests.support.worker_bench import Bench, forever


async def test_a_heartbeat_keeps_a_long_job_from_others(bench: Bench) -> None:
    gate = asyncio.Event()

    async def long(_scope: Scope, _job: Job) -> None:
        await gate.wait()

    bench.acts["j1"] = long
    await bench.begin("j1")
    await bench.time.advance(600)
    assert await bench.store.claim_jobs(ClaimRequest(worker="x", now=bench.time.clock(), lease=timedelta(1))) == ()
    gate.set()
    await bench.time.settle()
    assert (await bench.job("j1")).state == "done"
    assert bench.begun == ["j1"]


async def test_a_worker_that_lost_a_job_cancels_it_and_says_nothing(bench: Bench) -> None:
    bench.acts["j1"] = forever
    await bench.begin("j1")
    (taken,) = await bench.store.claim_jobs(ClaimRequest(worker="x", now=after(61), lease=timedelta(days=1)))
    await bench.time.advance(25)
    assert bench.cancelled == ["j1"]
    assert await bench.job("j1") == taken.job
    assert (bench.worker.state.lost, bench.worker.state.done) == (1, 0)


async def test_a_worker_that_lost_a_job_unawares_does_not_complete_it(bench: Bench) -> None:
    taken: list[ClaimedJob] = []

    async def lose(_scope: Scope, _job: Job) -> None:
        taken.extend(
            await InMemoryStore.claim_jobs(bench.store, ClaimRequest(worker="x", now=after(61), lease=timedelta(1)))
        )

    bench.acts["j1"] = lose
    await bench.begin("j1")
    assert bench.done == ["j1"]
    assert await bench.job("j1") == taken[0].job
    assert (bench.worker.state.lost, bench.worker.state.done) == (1, 0)


async def test_a_handler_may_end_its_job_itself(bench: Bench) -> None:
    async def end(scope: Scope, given: Job) -> None:
        await bench.store.complete_job(scope, ClaimedJob(scope, given).claim, bench.time.clock())

    bench.acts["j1"] = end
    await bench.begin("j1")
    assert (bench.worker.state.lost, bench.worker.state.done) == (0, 1)


async def test_a_job_that_was_erased_while_it_ran_is_let_go(bench: Bench) -> None:
    gate = asyncio.Event()

    async def wait(_scope: Scope, _job: Job) -> None:
        await gate.wait()

    bench.acts["j1"] = wait
    await bench.begin("j1")
    bench.store._users[ALICE.tenant, ALICE.user].jobs.clear()
    gate.set()
    await bench.time.settle()
    assert (bench.worker.state.lost, bench.worker.state.running) == (1, 0)


async def test_an_attempt_that_takes_too_long_has_failed(bench: Bench) -> None:
    bench.acts["j1"] = forever
    await bench.begin("j1")
    await bench.time.advance(899)
    assert bench.cancelled == []
    await bench.time.advance(1.1)
    assert bench.cancelled == ["j1"]
    assert (await bench.job("j1")).error == "TimeoutError: the attempt took too long"


async def test_a_store_that_is_away_ends_nothing_and_is_told_of_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()

    async def wait(_scope: Scope, _job: Job) -> None:
        await gate.wait()

    bench.acts["running"] = wait
    await bench.begin("running")
    await bench.enqueue("waiting")
    bench.store.error = StorageUnavailableError("away")
    looks = bench.store.looks
    await bench.time.advance(300)
    gate.set()
    await bench.time.advance(300)
    during = bench.worker.state
    assert during.store_down_since == after(2)
    assert 60 <= bench.store.looks - looks <= 120
    bench.store.error = None
    await bench.time.advance(11)
    assert (await bench.job("waiting")).state == "done"
    assert (await bench.job("running")).state == "done"
    assert bench.worker.state.store_down_since is None
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in warnings] == ["the store does not answer, jobs wait: storage_unavailable"]


@pytest.mark.parametrize("error", [RuntimeError("a bug"), StorageError("odd")])
async def test_an_error_that_nobody_foresaw_does_not_end_the_worker(bench: Bench, error: Exception) -> None:
    bench.store.error = error
    await bench.begin("j1")
    await bench.time.advance(30)
    bench.store.error = None
    await bench.time.advance(11)
    assert bench.done == ["j1"]


async def test_a_job_that_cannot_be_ended_is_left_to_its_lease(bench: Bench) -> None:
    async def break_the_store(_scope: Scope, _job: Job) -> None:
        bench.store.error = RuntimeError("a bug")

    bench.acts["j1"] = break_the_store
    await bench.begin("j1")
    assert ((await bench.job("j1")).state, bench.worker.state.running) == ("running", 0)
    bench.acts.clear()
    bench.store.error = None
    await bench.time.advance(75)
    assert bench.begun == ["j1", "j1"]
    assert (await bench.job("j1")).state == "done"


async def test_stopping_does_not_wait_for_a_store_that_is_away(bench: Bench) -> None:
    async def lose_the_store(_scope: Scope, _job: Job) -> None:
        bench.store.error = StorageUnavailableError("away")

    bench.acts["j1"] = lose_the_store
    await bench.begin("j1")
    await bench.time.advance(3)
    assert bench.worker.state.running == 1
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.advance(11)
    assert stopping.done()
    asked = bench.store.asked
    await bench.time.advance(30)
    assert bench.store.asked == asked


async def test_stopping_does_not_wait_for_a_store_that_hangs(bench: Bench) -> None:
    bench.store.gate.clear()
    await bench.begin("j1")
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.advance(9.9)
    assert not stopping.done()
    await bench.time.advance(0.2)
    assert stopping.done()
    assert bench.begun == []


async def test_a_handler_that_does_not_stop_when_told_is_left_behind(bench: Bench) -> None:
    gate = asyncio.Event()

    async def stubborn(_scope: Scope, _job: Job) -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    bench.acts["j1"] = stubborn
    await bench.begin("j1")
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.advance(10.9)
    assert not stopping.done()
    await bench.time.advance(0.2)
    assert stopping.done()
    assert ((await bench.job("j1")).state, (await bench.job("j1")).attempts) == ("queued", 0)
    gate.set()
