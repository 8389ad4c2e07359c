"""Jobs: what becomes of one when it is queued again, taken, done, failed or revived."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.job import (
    ClaimedJob,
    Job,
    JobFailure,
    claimed,
    done,
    failed,
    job_from,
    postponed,
    prolonged,
    revived,
)
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError
from recollect.testing.clock import START
from recollect.testing.samples import after, claims, job

QUEUED = job_from(job("j1", key="k", payload={"n": 1}, max_attempts=2), START)


def failure(retry_at: datetime | None = None, *, counts: bool = True) -> JobFailure:
    return JobFailure(at=after(9), error="down", retry_at=retry_at, counts=counts)


def taken(before: Job = QUEUED, **more: Any) -> Job:
    return claimed(before, claims(**more))


def test_a_new_job_waits() -> None:
    assert (QUEUED.state, QUEUED.attempts, QUEUED.worker, QUEUED.lease_until) == ("queued", 0, None, None)


@pytest.mark.parametrize(
    ("asked", "longest", "expected"),
    [(5, 60, 5), (-5, 60, 0), (90, 60, 60), (90, 0, 0), (90, 10**9, 90)],
)
def test_the_same_work_again_waits_longer_but_not_for_ever(asked: float, longest: float, expected: float) -> None:
    again = job("j2", key="k", run_at=after(asked), payload={"n": 2}, max_delay=timedelta(seconds=longest))
    moved = postponed(QUEUED, again, after(1))
    assert (moved.id, moved.run_at, moved.payload) == ("j1", after(expected), {"n": 2})
    assert (moved.created_at, moved.updated_at) == (START, after(1))


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=6))
def test_however_often_it_is_postponed_a_job_moves_only_later_and_within_its_delay(
    again: list[tuple[int, int]],
) -> None:
    before = QUEUED
    for asked, longest in again:
        moved = postponed(before, job("j2", run_at=after(asked), max_delay=timedelta(seconds=longest)), after(0))
        assert before.run_at <= moved.run_at <= max(before.run_at, after(longest))
        before = moved


def test_a_worker_takes_a_job_for_the_length_of_its_lease() -> None:
    mine = taken(now=after(3), lease=timedelta(seconds=10))
    assert (mine.state, mine.attempts, mine.worker, mine.lease_until) == ("running", 1, "w1", after(13))
    claim = ClaimedJob(Scope(), mine).claim
    assert (claim.job_id, claim.worker, claim.attempt) == ("j1", "w1", 1)


def test_the_longest_lease_ends_with_the_calendar() -> None:
    assert taken(lease=timedelta.max).lease_until == datetime.max.replace(tzinfo=UTC)
    moved = postponed(QUEUED, job("j2", run_at=after(5), max_delay=timedelta.max), START)
    assert moved.run_at == after(5)


def test_a_job_that_used_up_its_attempts_dies_instead_of_being_taken() -> None:
    dead = taken(taken(taken()))
    assert (dead.state, dead.worker, dead.lease_until, dead.attempts) == ("dead", None, None, 2)
    assert dead.error == "the worker stopped in the last attempt"
    told = taken(msgspec.structs.replace(taken(taken()), error="down"))
    assert told.error == "down"


def test_a_failed_job_waits_for_its_next_attempt_while_it_has_one() -> None:
    again = failed(taken(), failure(after(30)))
    assert (again.state, again.run_at, again.error, again.worker) == ("queued", after(30), "down", None)
    last = failed(taken(taken()), failure(after(30)))
    assert (last.state, last.run_at, last.error) == ("dead", START, "down")


def test_a_job_that_may_not_be_retried_dies_at_once() -> None:
    assert failed(taken(), failure(None)).state == "dead"
    assert failed(taken(), failure(None, counts=False)).state == "dead"


def test_an_attempt_that_does_not_count_is_given_back_even_if_it_was_the_last() -> None:
    back = failed(taken(taken()), failure(after(30), counts=False))
    assert (back.state, back.attempts, back.run_at, back.error) == ("queued", 1, after(30), "down")


def test_a_done_job_forgets_its_error() -> None:
    ended = done(msgspec.structs.replace(taken(), error="down"), after(5))
    assert (ended.state, ended.error, ended.worker, ended.lease_until, ended.updated_at) == (
        *("done", None, None, None),
        after(5),
    )


def test_a_revived_job_has_all_its_attempts_again() -> None:
    back = revived(failed(taken(), failure(None)), after(50))
    assert (back.state, back.attempts, back.run_at) == ("queued", 0, after(50))


def test_a_heartbeat_moves_only_the_lease() -> None:
    kept = prolonged(taken(), after(99))
    assert kept == msgspec.structs.replace(taken(), lease_until=after(99))


def test_times_are_kept_in_utc() -> None:
    zone = timezone(timedelta(hours=2))
    local = START.astimezone(zone)
    stages = [job_from(job("j1", run_at=local), local)]
    stages.append(postponed(stages[-1], job("j2", run_at=local + timedelta(seconds=1)), local))
    stages.append(claimed(stages[-1], claims(now=local)))
    stages.append(prolonged(stages[-1], local))
    stages.append(failed(stages[-1], JobFailure(at=local, error="", retry_at=local)))
    stages += [done(stages[-1], local), revived(stages[-1], local)]
    for stage in stages:
        for time in (stage.run_at, stage.created_at, stage.updated_at, stage.lease_until or START):
            assert time.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": ""},
        {"key": ""},
        {"key": "x" * 256},
        {"payload": [1]},
        {"max_attempts": 0},
        {"max_attempts": 1_001},
        {"max_delay": 5},
        {"max_delay": timedelta(seconds=-1)},
    ],
)
def test_a_job_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        job("j1", **wrong)


@pytest.mark.parametrize("wrong", [{"lease": timedelta(-1)}, {"limit": 101}, {"limit": 0}, {"kinds": ["a"]}])
def test_a_claim_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        claims(**wrong)
