"""Durable background work: written in the transaction that makes it necessary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_count,
    check_duration,
    check_id,
    check_ids,
    check_limit,
    check_object,
    check_one_of,
    check_optional_id,
    check_text,
    check_time,
    check_type,
    later,
)
from recollect.domain.scope import Scope
from recollect.errors import InvalidCursorError

JobState = Literal["queued", "running", "done", "dead"]

JOB_STATES: tuple[str, ...] = get_args(JobState)
MAX_ERROR = 20_000
#: What is left of an error that may have quoted what was erased.
ERASED = "erased"


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job to enqueue.

    Of the queued jobs with one `key` there is only one: enqueueing another moves it to the later time,
    but never past `max_delay` after the first.
    """

    id: str
    kind: str
    run_at: datetime
    conversation_id: str | None = None
    key: str | None = None
    payload: Mapping[str, Any] = {}
    max_attempts: int = 8
    max_delay: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        check_id(self.id, "job id")
        check_id(self.kind, "job kind")
        check_time(self.run_at, "run_at")
        check_optional_id(self.conversation_id, "conversation id")
        if self.key is not None:
            check_text(self.key, "job key", at_most=255, at_least=1)
        check_object(self.payload, "job payload")
        check_count(self.max_attempts, "max_attempts", at_least=1, at_most=1_000)
        check_duration(self.max_delay, "max_delay")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A stored job."""

    id: str
    kind: str
    conversation_id: str | None
    key: str | None
    payload: Mapping[str, Any]
    state: JobState
    attempts: int
    max_attempts: int
    run_at: datetime
    lease_until: datetime | None
    worker: str | None
    error: str | None
    created_at: datetime
    updated_at: datetime


class ClaimedJob(msgspec.Struct, frozen=True):
    """A job that one worker holds, and the scope to do it in."""

    scope: Scope
    job: Job

    @property
    def claim(self) -> Claim:
        """Prove that this worker holds the job in this attempt."""
        return Claim(self.job.id, self.job.worker or "", self.job.attempts)


class Claim(msgspec.Struct, frozen=True):
    """Which attempt of which job by which worker; a later attempt makes it void."""

    job_id: str
    worker: str
    attempt: int

    def __post_init__(self) -> None:
        check_id(self.job_id, "job id")
        check_id(self.worker, "worker")
        check_count(self.attempt, "attempt", at_least=1)


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for due jobs, and for jobs whose worker let its lease run out."""

    worker: str
    now: datetime
    lease: timedelta
    kinds: tuple[str, ...] = ()
    limit: int = 1

    def __post_init__(self) -> None:
        check_id(self.worker, "worker")
        check_time(self.now, "now")
        check_duration(self.lease, "lease")
        check_ids(self.kinds, "kinds", at_most=100)
        check_limit(self.limit, 100)


class JobFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed and when to try again; with no more attempts the job is dead.

    An attempt that does not count, since what it needs is away, is given back: the next one has its number again.
    So a worker that may repeat a call takes each job under a name of its own.
    """

    at: datetime
    error: str
    retry_at: datetime | None
    counts: bool = True

    def __post_init__(self) -> None:
        check_time(self.at, "at")
        check_text(self.error, "error", at_most=MAX_ERROR)
        if self.retry_at is not None:
            check_time(self.retry_at, "retry_at")
        check_type(self.counts, bool, "counts")


class JobQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to list, newest first."""

    limit: int = 50
    state: JobState | None = None
    conversation_id: str | None = None
    before_id: str | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if self.state is not None:
            check_one_of(self.state, JOB_STATES, "state")
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_id(self.before_id, "cursor", InvalidCursorError)


def job_from(new: NewJob, at: datetime) -> Job:
    """Return the queued job that this request makes."""
    at = as_utc(at)
    return Job(
        id=new.id,
        kind=new.kind,
        conversation_id=new.conversation_id,
        key=new.key,
        payload=new.payload,
        state="queued",
        attempts=0,
        max_attempts=new.max_attempts,
        run_at=as_utc(new.run_at),
        lease_until=None,
        worker=None,
        error=None,
        created_at=at,
        updated_at=at,
    )


def postponed(job: Job, again: NewJob, at: datetime) -> Job:
    """Return the queued job after another request with the same key."""
    run_at = max(job.run_at, min(as_utc(again.run_at), later(job.created_at, again.max_delay)))
    if job.created_at > as_utc(at):
        # It was queued by a clock that ran ahead, and must not wait for that time to come.
        run_at = min(job.run_at, as_utc(again.run_at))
    return msgspec.structs.replace(job, run_at=run_at, payload=again.payload, updated_at=as_utc(at))


def claimed(job: Job, request: ClaimRequest) -> Job:
    """Return the job as this worker takes it; a job that used up its attempts is dead instead."""
    now = as_utc(request.now)
    if job.attempts >= job.max_attempts:
        return msgspec.structs.replace(
            job,
            state="dead",
            lease_until=None,
            worker=None,
            error=job.error or "the worker stopped in the last attempt",
            updated_at=now,
        )
    return msgspec.structs.replace(
        job,
        state="running",
        attempts=job.attempts + 1,
        lease_until=later(now, request.lease),
        worker=request.worker,
        error=None if job.error == ERASED else job.error,
        updated_at=now,
    )


def failed(job: Job, failure: JobFailure) -> Job:
    """Return the job after a failed attempt; one that was under way during an erasure may quote what is gone."""
    again = failure.retry_at is not None and (job.attempts < job.max_attempts or not failure.counts)
    return msgspec.structs.replace(
        job,
        state="queued" if again else "dead",
        attempts=job.attempts - 1 if again and not failure.counts else job.attempts,
        run_at=as_utc(failure.retry_at) if again and failure.retry_at else job.run_at,
        lease_until=None,
        worker=None,
        error=ERASED if job.error == ERASED else failure.error,
        updated_at=as_utc(failure.at),
    )


def silenced(job: Job) -> Job:
    """Return the job without what it quotes; an attempt under way will not tell what went wrong, for it may quote."""
    return msgspec.structs.replace(job, error=ERASED) if job.error is not None or job.state == "running" else job


def done(job: Job, at: datetime) -> Job:
    """Return the job after its work was done."""
    return msgspec.structs.replace(job, state="done", lease_until=None, worker=None, error=None, updated_at=as_utc(at))


def revived(job: Job, at: datetime) -> Job:
    """Return a dead job as it is queued again, with all its attempts."""
    at = as_utc(at)
    return msgspec.structs.replace(job, state="queued", attempts=0, run_at=at, updated_at=at)


def prolonged(job: Job, lease_until: datetime) -> Job:
    """Return the job as its worker keeps it until this time."""
    return msgspec.structs.replace(job, lease_until=as_utc(lease_until))
