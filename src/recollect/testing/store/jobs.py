"""Jobs: each attempt is held by one worker, and no job is lost when a worker is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from recollect.domain.job import Claim, ClaimedJob, Job, JobFailure, JobQuery
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, InvalidCursorError, JobNotFoundError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, after, claims, ids_of, job
from recollect.testing.store.dump import dump


async def enqueue(store: Store, *job_ids: str, scope: Scope = ALICE, **more: Any) -> None:
    """Queue jobs that are due at once."""
    for job_id in job_ids:
        await store.enqueue_job(scope, job(job_id, **more), START)


def failure(retry_at: datetime | None = None, *, counts: bool = True) -> JobFailure:
    """Return why an attempt failed."""
    return JobFailure(at=after(1), error="the model is down", retry_at=retry_at, counts=counts)


async def take(store: Store, worker: str = "w1", **more: Any) -> list[ClaimedJob]:
    """Claim every job that is due."""
    return list(await store.claim_jobs(claims(worker, **more)))


async def dead(store: Store, job_id: str, **more: Any) -> Job:
    """Queue a job and let its only attempt fail."""
    await enqueue(store, job_id, **more)
    (taken,) = await take(store)
    return await store.fail_job(ALICE, taken.claim, failure())


class QueueConformance:
    """Check what a store promises about queueing and listing jobs."""

    async def test_every_part_of_a_job_comes_back(self, store: Store) -> None:
        new = job("j1", conversation_id="c1", key="extract c1", payload={"seq": [1, 2]}, max_attempts=3)
        queued = await store.enqueue_job(ALICE, new, after(2))
        for name in ("id", "kind", "conversation_id", "key", "payload", "max_attempts", "run_at"):
            assert getattr(queued, name) == getattr(new, name), name
        assert (queued.state, queued.attempts, queued.created_at) == ("queued", 0, after(2))
        assert await store.get_job(ALICE, "j1") == queued

    async def test_a_job_id_again_changes_nothing(self, store: Store) -> None:
        first = await store.enqueue_job(ALICE, job("j1", key="k"), START)
        again = job("j1", key="k", kind="other", run_at=after(60), payload={"other": 1})
        assert await store.enqueue_job(ALICE, again, after(9)) == first
        await take(store)
        before = await dump(store, ALICE)
        await store.enqueue_job(ALICE, again, after(9))
        assert await dump(store, ALICE) == before

    async def test_a_queued_job_with_the_same_key_is_postponed(self, store: Store) -> None:
        delay = timedelta(seconds=100)
        for number, seconds in enumerate((10, 30, 20)):
            new = job(f"j{number}", key="k", run_at=after(seconds), payload={"n": number}, max_delay=delay)
            await store.enqueue_job(ALICE, new, START)
        queued = await store.get_job(ALICE, "j0")
        assert (queued.run_at, queued.payload) == (after(30), {"n": 2})
        assert ids_of(await store.list_jobs(ALICE, JobQuery())) == ["j0"]

    async def test_a_job_is_never_postponed_past_its_longest_delay(self, store: Store) -> None:
        delay = timedelta(seconds=100)
        for number, seconds in enumerate((10, 90, 500)):
            new = job(f"j{number}", key="k", run_at=after(seconds), max_delay=delay)
            await store.enqueue_job(ALICE, new, after(seconds - 10))
        assert (await store.get_job(ALICE, "j0")).run_at == after(100)

    async def test_a_running_job_does_not_swallow_the_next_of_its_key(self, store: Store) -> None:
        await enqueue(store, "j1", key="k")
        await take(store)
        await enqueue(store, "j2", key="k")
        assert ids_of(await store.list_jobs(ALICE, JobQuery(state="queued"))) == ["j2"]

    async def test_jobs_are_listed_by_filter_the_last_queued_first(self, store: Store) -> None:
        await enqueue(store, "j1", "j2", conversation_id="c1")
        await take(store, limit=1)
        await enqueue(store, "j3", conversation_id="c2")
        assert ids_of(await store.list_jobs(ALICE, JobQuery())) == ["j3", "j2", "j1"]
        assert ids_of(await store.list_jobs(ALICE, JobQuery(state="queued"))) == ["j3", "j2"]
        assert ids_of(await store.list_jobs(ALICE, JobQuery(conversation_id="c1"))) == ["j2", "j1"]
        assert ids_of(await store.list_jobs(ALICE, JobQuery(state="running", conversation_id="c2"))) == []

    async def test_jobs_are_listed_in_pages(self, store: Store) -> None:
        await enqueue(store, "j1", "j2", "j3")
        first = await store.list_jobs(ALICE, JobQuery(limit=2))
        second = await store.list_jobs(ALICE, JobQuery(limit=2, before_id=first[-1].id))
        assert ids_of((*first, *second)) == ["j3", "j2", "j1"]
        with raises(InvalidCursorError):
            await store.list_jobs(ALICE, JobQuery(before_id="nothing"))

    async def test_jobs_done_before_a_time_are_forgotten_and_counted(self, store: Store) -> None:
        await enqueue(store, "early", "late", "running", "dead")
        held = {one.job.id: one.claim for one in await take(store)}
        await enqueue(store, "queued")
        await store.complete_job(ALICE, held["early"], after(1))
        await store.complete_job(ALICE, held["late"], after(2))
        await store.fail_job(ALICE, held["dead"], failure())
        assert await store.forget_jobs(BOB, after(2)) == 0
        assert await store.forget_jobs(ALICE, after(2)) == 1
        assert await store.forget_jobs(ALICE, after(2)) == 0
        assert ids_of(await store.list_jobs(ALICE, JobQuery())) == ["queued", "dead", "running", "late"]

    async def test_a_missing_job_is_not_found(self, store: Store) -> None:
        with raises(JobNotFoundError):
            await store.get_job(ALICE, "j1")
        with raises(JobNotFoundError):
            await store.retry_job(ALICE, "j1", START)


class ClaimConformance:
    """Check what a store promises about doing jobs."""

    async def test_due_jobs_of_any_scope_are_taken_longest_due_first(self, store: Store) -> None:
        guide = Scope("other", "carol", "guide")
        await enqueue(store, "j1", run_at=after(-10))
        await enqueue(store, "j2", run_at=after(-30), scope=BOB)
        await enqueue(store, "j3", run_at=after(-20), scope=guide)
        await enqueue(store, "later", run_at=after(1))
        taken = await take(store)
        assert [(one.job.id, one.scope) for one in taken] == [("j2", BOB), ("j3", guide), ("j1", ALICE)]
        assert {one.job.state for one in taken} == {"running"}
        assert await store.get_job(BOB, "j2") == taken[0].job
        assert await take(store, worker="w2") == []

    async def test_a_claim_is_bounded_by_its_limit_and_its_kinds(self, store: Store) -> None:
        await enqueue(store, "j1", "j2", "j3")
        await enqueue(store, "j4", kind="summarise")
        assert [one.job.id for one in await take(store, kinds=("summarise", "title"))] == ["j4"]
        assert [one.job.id for one in await take(store, limit=2)] == ["j1", "j2"]
        assert [one.job.id for one in await take(store, kinds=("nothing",))] == []

    async def test_a_done_job_ends(self, store: Store) -> None:
        await enqueue(store, "j1")
        (taken,) = await take(store)
        ended = await store.complete_job(ALICE, taken.claim, after(1))
        assert (ended.state, ended.worker, ended.lease_until) == ("done", None, None)
        assert await store.get_job(ALICE, "j1") == ended
        assert await take(store, now=after(9999)) == []

    async def test_a_failed_job_is_queued_for_later(self, store: Store) -> None:
        await enqueue(store, "j1")
        (taken,) = await take(store)
        failed = await store.fail_job(ALICE, taken.claim, failure(after(50)))
        assert (failed.state, failed.run_at, failed.error) == ("queued", after(50), "the model is down")
        assert await take(store, now=after(49)) == []
        (again,) = await take(store, now=after(50))
        assert again.job.attempts == 2

    async def test_a_job_that_may_not_be_retried_dies(self, store: Store) -> None:
        assert (await dead(store, "j1")).state == "dead"
        assert await take(store, now=after(9999)) == []

    async def test_a_job_dies_with_its_last_attempt(self, store: Store) -> None:
        await enqueue(store, "j1", max_attempts=2)
        for state in ("queued", "dead"):
            (taken,) = await take(store, now=after(10))
            assert (await store.fail_job(ALICE, taken.claim, failure(after(5)))).state == state

    async def test_a_job_whose_worker_is_lost_is_taken_by_another(self, store: Store) -> None:
        await enqueue(store, "j1")
        (first,) = await take(store, lease=timedelta(seconds=60))
        assert await take(store, worker="w2", now=after(59)) == []
        (second,) = await take(store, worker="w2", now=after(60))
        assert (second.job.id, second.job.worker, second.job.attempts) == ("j1", "w2", 2)
        assert second.claim != first.claim

    async def test_a_job_that_used_up_its_attempts_dies_instead_of_being_taken(self, store: Store) -> None:
        await enqueue(store, "j1", max_attempts=1)
        await take(store, lease=timedelta(seconds=60))
        assert await take(store, now=after(60)) == []
        died = await store.get_job(ALICE, "j1")
        assert (died.state, died.worker) == ("dead", None)
        assert died.error

    async def test_the_next_job_is_taken_in_place_of_one_that_dies(self, store: Store) -> None:
        await enqueue(store, "j1", "j2", max_attempts=1)
        await enqueue(store, "j3", "j4", "j5", run_at=after(60))
        assert ids_of([one.job for one in await take(store, limit=2)]) == ["j1", "j2"]
        (taken,) = await take(store, now=after(60), limit=1)
        assert taken.job.id == "j3"
        assert [(await store.get_job(ALICE, job_id)).state for job_id in ("j1", "j2")] == ["dead", "dead"]
        assert ids_of([one.job for one in await take(store, now=after(60), limit=2)]) == ["j4", "j5"]

    async def test_a_claim_for_no_time_takes_each_job_once(self, store: Store) -> None:
        await enqueue(store, "j1", max_attempts=1, run_at=after(-9))
        await take(store, now=after(-9), lease=timedelta(0))
        await enqueue(store, "j2", "j3", run_at=after(-9))
        taken = await take(store, limit=2, lease=timedelta(0))
        assert [(one.job.id, one.job.attempts) for one in taken] == [("j2", 1), ("j3", 1)]

    async def test_an_attempt_that_does_not_count_is_given_back(self, store: Store) -> None:
        await enqueue(store, "j1", max_attempts=1)
        for number in range(3):
            (taken,) = await take(store, f"w{number}", now=after(number))
            assert taken.job.attempts == 1
            away = failure(after(number + 1), counts=False)
            back = await store.fail_job(ALICE, taken.claim, away)
            assert (back.state, back.attempts, back.run_at) == ("queued", 0, after(number + 1))
            assert (back.error, back.worker, back.lease_until) == ("the model is down", None, None)
            with raises(JobNotFoundError):
                await store.fail_job(ALICE, taken.claim, away)
        (taken,) = await take(store, now=after(9))
        assert (await store.fail_job(ALICE, taken.claim, failure(None, counts=False))).state == "dead"

    async def test_a_heartbeat_keeps_a_job(self, store: Store) -> None:
        await enqueue(store, "j1")
        (taken,) = await take(store, lease=timedelta(seconds=60))
        kept = await store.heartbeat_job(ALICE, taken.claim, after(120))
        assert kept.lease_until == after(120)
        assert await take(store, now=after(119)) == []
        assert len(await take(store, now=after(120))) == 1

    async def test_a_worker_that_lost_a_job_changes_nothing(self, store: Store) -> None:
        await enqueue(store, "j1")
        (lost,) = await take(store, lease=timedelta(seconds=60))
        await take(store, worker="w2", now=after(60))
        before = await dump(store, ALICE)
        for claim in (lost.claim, Claim("j1", "w1", 2), Claim("j1", "w2", 1), Claim("nothing", "w1", 1)):
            with raises(JobNotFoundError):
                await store.complete_job(ALICE, claim, after(61))
            with raises(JobNotFoundError):
                await store.fail_job(ALICE, claim, failure(after(90)))
            with raises(JobNotFoundError):
                await store.heartbeat_job(ALICE, claim, after(999))
        assert await dump(store, ALICE) == before

    async def test_a_failed_job_yields_to_a_queued_one_of_its_key(self, store: Store) -> None:
        await enqueue(store, "j1", key="k")
        (taken,) = await take(store)
        await enqueue(store, "j2", key="k")
        await store.fail_job(ALICE, taken.claim, failure(after(5)))
        assert [one.job.id for one in await take(store, now=after(10))] == ["j2"]

    async def test_a_dead_job_can_be_queued_again_with_all_its_attempts(self, store: Store) -> None:
        await dead(store, "j1")
        revived = await store.retry_job(ALICE, "j1", after(9))
        assert (revived.state, revived.attempts, revived.run_at) == ("queued", 0, after(9))
        (taken,) = await take(store, now=after(9))
        assert taken.job.attempts == 1

    async def test_only_a_dead_job_can_be_queued_again(self, store: Store) -> None:
        await dead(store, "j1", key="k")
        await enqueue(store, "j2", key="k")
        before = await dump(store, ALICE)
        for job_id in ("j1", "j2"):
            with raises(ConflictError):
                await store.retry_job(ALICE, job_id, after(9))
        assert await dump(store, ALICE) == before
