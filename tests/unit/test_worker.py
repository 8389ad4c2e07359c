"""A worker: what it takes and when, what becomes of a job, and how it stops."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest

from recollect.domain.job import Job, JobQuery
from recollect.domain.scope import Scope
from recollect.errors import (
    CircuitOpenError,
    ConversationNotFoundError,
    ErasedError,
    InvalidInputError,
    ProviderUnavailableError,
    StorageUnavailableError,
)
from recollect.service.job_failures import RetryLater
from recollect.service.patience import Pace
from recollect.service.worker import Worker, WorkerOptions
from recollect.testing.samples import ALICE, BOB, after
from tests.support.worker_bench import Bench, forever, raises


async def test_due_jobs_are_done_each_in_its_scope(bench: Bench) -> None:
    seen: list[tuple[Scope, str]] = []

    async def see(scope: Scope, given: Job) -> None:
        seen.append((scope, given.id))

    bench.acts = {"j1": see, "j2": see}
    await bench.enqueue("j2", scope=BOB)
    await bench.begin("j1")
    assert seen == [(BOB, "j2"), (ALICE, "j1")]
    assert (await bench.job("j1")).state == "done"
    assert (bench.worker.state.done, bench.worker.state.running) == (2, 0)


async def test_only_kinds_with_a_handler_are_taken(bench: Bench) -> None:
    await bench.begin("j1", kind="unknown")
    await bench.time.advance(60)
    assert (await bench.job("j1")).state == "queued"
    assert bench.begun == []


async def test_a_worker_without_handlers_takes_nothing(bench: Bench) -> None:
    pace = Pace(bench.time.clock, sleep=bench.time.sleep)
    bench.worker = Worker(bench.store, {}, options=WorkerOptions(name="idle"), pace=pace)
    await bench.begin("j1")
    await bench.time.advance(60)
    assert (await bench.job("j1")).state == "queued"
    assert bench.store.looks == 0


async def test_no_more_jobs_run_at_once_than_there_are_places_and_a_free_place_is_used_at_once(bench: Bench) -> None:
    gates = {f"j{number}": asyncio.Event() for number in range(6)}

    async def wait(_scope: Scope, given: Job) -> None:
        await gates[given.id].wait()

    bench.acts = dict.fromkeys(gates, wait)
    await bench.begin(*gates)
    assert bench.begun == ["j0", "j1", "j2", "j3"]
    assert bench.worker.state.running == 4
    gates["j1"].set()
    await bench.time.settle()
    assert bench.begun == ["j0", "j1", "j2", "j3", "j4"]
    for gate in gates.values():
        gate.set()
    await bench.time.settle()
    assert sorted(bench.done) == sorted(gates)


async def test_a_job_queued_in_this_process_runs_at_once(bench: Bench) -> None:
    await bench.begin()
    await bench.enqueue("j1")
    bench.worker.wake()
    await bench.time.settle()
    assert bench.done == ["j1"]


async def test_a_job_queued_elsewhere_runs_with_the_next_poll(bench: Bench) -> None:
    await bench.begin()
    await bench.enqueue("j1")
    await bench.time.advance(1.9)
    assert bench.done == []
    await bench.time.advance(0.2)
    assert bench.done == ["j1"]


async def test_a_job_that_is_due_later_runs_when_it_is_due(bench: Bench) -> None:
    await bench.begin()
    at = after(0.57)
    await bench.enqueue("j1", run_at=at)
    bench.worker.wake(at)
    await bench.time.advance(0.5)
    assert bench.done == []
    await bench.time.advance(0.1)
    assert bench.done == ["j1"]


async def test_many_due_times_cost_few_looks_and_do_not_keep_the_worker_from_polling(bench: Bench) -> None:
    await bench.begin()
    looks = bench.store.looks
    for number in range(1000):
        bench.worker.wake(after(1 + number / 5000))
    await bench.enqueue("elsewhere")
    for _ in range(20):
        bench.worker.wake(after(300))
        await bench.time.advance(0.15)
    assert bench.done == ["elsewhere"]
    assert bench.store.looks - looks <= 5


async def test_fifty_requests_with_one_key_run_once(bench: Bench) -> None:
    await bench.begin()
    for number in range(50):
        at = bench.time.clock() + timedelta(seconds=3)
        await bench.enqueue(f"j{number}", key="extract c1", run_at=at, payload={"n": number})
        bench.worker.wake(at)
        await bench.time.advance(0.05)
    assert bench.done == []
    await bench.time.advance(3)
    assert bench.done == ["j0"]
    assert (await bench.job("j0")).payload == {"n": 49}


async def test_a_clock_that_is_set_back_does_not_stop_the_worker(bench: Bench) -> None:
    await bench.begin()
    for number in range(3):
        bench.time.clock.advance(hours=-5)
        await bench.enqueue(f"j{number}")
        await bench.time.advance(17)
    assert bench.done == ["j0", "j1", "j2"]


async def test_a_failed_job_is_tried_again_after_growing_times_and_dies_in_the_end(bench: Bench) -> None:
    bench.acts["j1"] = raises(*[ValueError("broken")] * 9)
    await bench.begin("j1", max_attempts=3)
    found = await bench.job("j1")
    assert (found.state, found.attempts, found.error) == ("queued", 1, "ValueError: broken")
    assert found.run_at == after(1.5)
    await bench.time.advance(1.6)
    assert (await bench.job("j1")).attempts == 2
    await bench.time.advance(600)
    died = await bench.job("j1")
    assert (died.state, died.attempts) == ("dead", 3)
    assert bench.begun == ["j1"] * 3
    state = bench.worker.state
    assert (state.done, state.failed, state.dead, state.last_error) == (0, 2, 1, "ValueError")


async def test_a_job_that_fails_once_is_done_in_the_next_attempt(bench: Bench) -> None:
    bench.acts["j1"] = raises(ValueError("broken"))
    await bench.begin("j1")
    await bench.time.advance(2)
    assert (await bench.job("j1")).state == "done"


async def test_what_a_retry_cannot_mend_dies_at_once(bench: Bench) -> None:
    bench.acts["j1"] = raises(InvalidInputError("no such strategy"))
    await bench.begin("j1")
    died = await bench.job("j1")
    assert (died.state, died.attempts, died.error) == ("dead", 1, "invalid_input: no such strategy")


@pytest.mark.parametrize("error", [ConversationNotFoundError("gone"), ErasedError("gone")])
async def test_work_on_a_conversation_that_is_gone_is_done(bench: Bench, error: Exception) -> None:
    bench.acts["j1"] = raises(error)
    await bench.begin("j1", conversation_id="c1")
    assert (await bench.job("j1")).state == "done"
    assert bench.begun == ["j1"]


async def test_an_error_may_say_anything_that_no_store_can_hold(bench: Bench) -> None:
    bench.acts["j1"] = raises(ValueError("NUL \0, half a pair \ud800, " + "long " * 9_000))
    await bench.begin("j1")
    error = (await bench.job("j1")).error
    assert error is not None
    assert error.startswith("ValueError: NUL ?, half a pair ?, long")
    assert len(error) < 1_100


async def test_a_handler_that_cancels_itself_has_failed(bench: Bench) -> None:
    bench.acts["j1"] = raises(asyncio.CancelledError())
    await bench.begin("j1")
    found = await bench.job("j1")
    assert (found.state, found.attempts) == ("queued", 1)
    await bench.time.advance(2)
    assert (await bench.job("j1")).state == "done"


async def test_a_model_that_is_away_for_a_day_lets_no_job_die(bench: Bench) -> None:
    until = after(86_400)

    async def ask(_scope: Scope, _job: Job) -> None:
        now = bench.time.clock()
        if now < until:
            raise RetryLater(now + timedelta(seconds=300), "the circuit is open", whole_kind=True)

    names = [f"j{number}" for number in range(30)]
    bench.acts = dict.fromkeys(names, ask)
    bench.worker = bench.hire(poll=timedelta(minutes=10))
    await bench.begin(*names, max_attempts=1)
    await bench.time.advance(86_000)
    found = [await bench.job(name) for name in names]
    assert {(one.state, one.attempts) for one in found} == {("queued", 0)}
    assert {one.error for one in found} <= {None, "RetryLater: the circuit is open"}
    # Four at a time find out that nothing goes, not all thirty.
    assert len(bench.begun) <= 4 * 300
    await bench.time.advance(1_000)
    assert sorted(bench.done) == sorted(names)


async def test_a_pause_of_one_kind_leaves_the_others_alone(bench: Bench) -> None:
    bench.acts["j1"] = raises(RetryLater(after(100), "later", whole_kind=True))
    await bench.begin("j1")
    await bench.enqueue("j2")
    await bench.enqueue("j3", kind="title")
    bench.worker.wake()
    await bench.time.advance(90)
    assert bench.done == ["j3"]
    await bench.time.advance(15)
    assert sorted(bench.done) == ["j1", "j2", "j3"]


async def test_a_job_that_asks_for_a_time_of_its_own_holds_up_no_other(bench: Bench) -> None:
    bench.acts["j1"] = raises(RetryLater(after(100), "later"))
    await bench.begin("j1")
    await bench.enqueue("j2")
    await bench.time.advance(5)
    assert bench.done == ["j2"]
    await bench.time.advance(100)
    assert bench.done == ["j2", "j1"]


async def test_a_provider_or_a_store_that_is_away_counts_for_nothing_and_is_asked_less_and_less(bench: Bench) -> None:
    errors = [ProviderUnavailableError("503"), StorageUnavailableError("away")] * 50
    bench.acts["j1"] = raises(*errors)
    await bench.begin("j1", max_attempts=1)
    await bench.time.advance(3600)
    found = await bench.job("j1")
    assert (found.state, found.attempts) == ("queued", 0)
    assert 10 < len(bench.begun) < 30


async def test_an_open_circuit_is_not_run_into_by_every_job(bench: Bench) -> None:
    names = [f"j{number}" for number in range(40)]
    bench.acts = {name: raises(CircuitOpenError("open")) for name in names}
    await bench.begin(*names)
    await bench.time.advance(1)
    assert len(bench.begun) == 4


async def test_a_stopped_worker_takes_no_more_and_waits_for_what_is_under_way(bench: Bench) -> None:
    gate = asyncio.Event()

    async def wait(_scope: Scope, _job: Job) -> None:
        await gate.wait()

    bench.acts["j1"] = wait
    await bench.begin("j1")
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.enqueue("j2")
    bench.worker.wake()
    await bench.time.advance(9)
    assert not stopping.done()
    gate.set()
    await bench.time.settle()
    assert stopping.done()
    assert (await bench.job("j1")).state == "done"
    assert (await bench.job("j2")).state == "queued"


async def test_what_is_not_done_in_time_is_given_back_at_once_and_uncounted(bench: Bench) -> None:
    bench.acts["j1"] = forever
    await bench.begin("j1", max_attempts=1)
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.advance(10)
    assert stopping.done()
    assert bench.cancelled == ["j1"]
    given = await bench.job("j1")
    assert (given.state, given.attempts, given.run_at, given.worker) == ("queued", 0, after(10), None)
    bench.acts.clear()
    bench.worker = bench.hire("w2")
    await bench.begin()
    assert bench.done == ["j1"]


async def test_jobs_taken_while_the_worker_is_stopped_are_given_back(bench: Bench) -> None:
    bench.store.gate.clear()
    await bench.begin("j1")
    assert (await bench.job("j1")).state == "running"
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.settle()
    bench.store.gate.set()
    await bench.time.settle()
    assert stopping.done()
    assert bench.begun == []
    assert ((await bench.job("j1")).state, (await bench.job("j1")).attempts) == ("queued", 0)


async def test_stopping_ends_even_if_the_store_is_away(bench: Bench) -> None:
    bench.acts["j1"] = forever
    await bench.begin("j1", "j2")
    bench.store.error = StorageUnavailableError("away")
    stopping = asyncio.create_task(bench.worker.stop())
    await bench.time.advance(11)
    assert stopping.done()
    bench.store.error = None
    assert (await bench.job("j1")).state == "running"


async def test_cancelling_a_run_stops_as_gracefully(bench: Bench) -> None:
    bench.acts["j1"] = forever
    await bench.enqueue("j1")
    running = asyncio.create_task(bench.worker.run())
    await bench.time.settle()
    running.cancel()
    await bench.time.advance(11)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await bench.job("j1")).state == "queued"


async def test_a_run_ends_when_the_worker_is_stopped(bench: Bench) -> None:
    running = asyncio.create_task(bench.worker.run())
    await bench.enqueue("j1")
    await bench.time.advance(3)
    await bench.worker.stop()
    await bench.time.settle()
    assert running.done()
    assert bench.done == ["j1"]
    with pytest.raises(RuntimeError):
        bench.worker.start()


async def test_each_claim_has_a_name_of_its_own(bench: Bench) -> None:
    bench.acts["j1"] = raises(RetryLater(after(1), "later"), None)
    await bench.begin("j1")
    await bench.time.advance(10)
    assert bench.done == ["j1"]
    assert len(set(bench.store.names)) == len(bench.store.names) > 3


async def test_done_jobs_are_forgotten_after_their_time(bench: Bench) -> None:
    await bench.begin("j1")
    assert len(await bench.store.list_jobs(ALICE, JobQuery())) == 1
    bench.time.clock.advance(days=6.9)
    await bench.enqueue("j2")
    await bench.time.advance(3)
    assert len(await bench.store.list_jobs(ALICE, JobQuery())) == 2
    bench.time.clock.advance(days=0.2)
    await bench.enqueue("j3")
    await bench.time.advance(3)
    assert [one.id for one in await bench.store.list_jobs(ALICE, JobQuery())] == ["j3", "j2"]


async def test_what_happened_to_a_job_is_logged_without_its_text(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="recollect")
    bench.acts["j1"] = raises(ValueError("SECRET"))
    await bench.begin("j1", payload={"text": "SECRET"})
    await bench.time.advance(2)
    lines = [record.getMessage() for record in caplog.records]
    assert "job failed kind=extract job=j1 attempt=1 ms=0 error=ValueError" in lines
    assert "job done kind=extract job=j1 attempt=2 ms=0 error=-" in lines
    assert "SECRET" not in caplog.text
