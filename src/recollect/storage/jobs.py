"""Jobs in SQL: each function is the work of one transaction, or a part of it."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from recollect.domain import job as rule
from recollect.domain.job import Claim, ClaimedJob, ClaimRequest, Job, JobFailure, JobQuery, NewJob
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, CorruptRecordError, InvalidCursorError, InvalidInputError, JobNotFoundError
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.knowledge_rows import job_from, job_values
from recollect.storage.rows import micros, scoped

#: Larger than any number a table gives.
LAST = 2**62


def enqueue(tx: Transaction, scope: Scope, new: NewJob, at: datetime) -> Job:
    """Queue the job, or postpone the queued one with the same key."""
    if new.key is not None:
        row = tx.one("queued_job", **scoped(scope), key=new.key)
        if row is not None and tx.one("job_number", **scoped(scope), id=new.id) is None:
            job = rule.postponed(job_from(scope, row), new, at)
            store(tx, scope, job)
            return job
    job = rule.job_from(new, at)
    if not tx.run("insert_job", **job_values(scope, job)):
        return find(tx, scope, new.id)
    return job


def find(tx: Transaction, scope: Scope, job_id: str) -> Job:
    """Return the job or raise."""
    row = tx.one("find_job", **scoped(scope), id=job_id)
    if row is None:
        raise JobNotFoundError("there is no job with this id")
    return job_from(scope, row)


def claim(tx: Transaction, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
    """Take due jobs for this worker; jobs that used up their attempts die instead, and the next ones are taken."""
    taken: list[ClaimedJob] = []
    seen: set[tuple[str, str, int]] = set()
    while len(taken) < request.limit:
        due = tx.all(
            "due_jobs",
            now=micros(request.now),
            any_kind=not request.kinds,
            ids=tx.ids(request.kinds),
            limit=request.limit,
        )
        # A lease of no time leaves a job due that was taken a moment ago.
        rows = {(tenant, user, number): tuple(rest) for _, number, tenant, user, *rest in due}
        fresh = [place for place in rows if place not in seen][: request.limit - len(taken)]
        taken += filter(None, (_take(tx, request, place, rows[place]) for place in fresh))
        seen.update(fresh)
        if len(due) < request.limit or not fresh:
            break
    return tuple(taken)


def _take(tx: Transaction, request: ClaimRequest, place: tuple[str, str, int], row: Row) -> ClaimedJob | None:
    """Take one due job, or let it die and return None."""
    tenant, user, number = place
    try:
        scope = Scope(tenant, user, row[0])
        tx.enter(scope)
        job = rule.claimed(job_from(scope, row[1:]), request)
    except (CorruptRecordError, InvalidInputError):
        # Due for ever, it would stand before all others; it stays damaged, so that nobody revives it.
        tx.run("kill_job", tenant=tenant, user=user, number=number)
        return None
    store(tx, scope, job)
    return ClaimedJob(scope, job) if job.state == "running" else None


def held(tx: Transaction, scope: Scope, claim: Claim) -> Job:
    """Return the job if this claim still holds it, or raise."""
    row = tx.one("lock_job", **scoped(scope), id=claim.job_id)
    job = None if row is None else job_from(scope, row)
    if job is None or (job.state, job.worker, job.attempts) != ("running", claim.worker, claim.attempt):
        raise JobNotFoundError("this worker does not hold the job any more")
    return job


def complete(tx: Transaction, scope: Scope, claim: Claim, at: datetime) -> Job:
    """End a job that was done."""
    job = rule.done(held(tx, scope, claim), at)
    store(tx, scope, job)
    return job


def fail(tx: Transaction, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
    """Queue a failed job again, or let it die.

    If another job with its key was queued meanwhile, that one stands for both.
    """
    job = rule.failed(held(tx, scope, claim), failure)
    if job.state == "queued" and job.key is not None and tx.one("queued_job", **scoped(scope), key=job.key):
        job = rule.done(job, failure.at)
    store(tx, scope, job)
    return job


def heartbeat(tx: Transaction, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
    """Keep a job for longer."""
    job = rule.prolonged(held(tx, scope, claim), lease_until)
    store(tx, scope, job)
    return job


def retry(tx: Transaction, scope: Scope, job_id: str, at: datetime) -> Job:
    """Queue a dead job again."""
    row = tx.one("lock_job", **scoped(scope), id=job_id)
    if row is None:
        raise JobNotFoundError("there is no job with this id")
    job = job_from(scope, row)
    if job.state != "dead":
        raise ConflictError(f"only a dead job can be retried; this one is {job.state}")
    if job.key is not None and tx.one("queued_job", **scoped(scope), key=job.key):
        raise ConflictError("a job for the same work is queued already")
    job = rule.revived(job, at)
    store(tx, scope, job)
    return job


def page(tx: Transaction, scope: Scope, query: JobQuery) -> Sound[Job]:
    """List jobs, newest first."""
    before = LAST
    if query.before_id is not None:
        row = tx.one("job_number", **scoped(scope), id=query.before_id)
        if row is None:
            raise InvalidCursorError("this page position is not known; start from the first page")
        before = row[0]
    found = tx.all(
        "page_jobs",
        **scoped(scope),
        before=before,
        state=query.state,
        conversation_id=query.conversation_id,
        limit=query.limit,
    )
    return sound(partial(job_from, scope), found)


def store(tx: Transaction, scope: Scope, job: Job) -> None:
    """Write the job as it is now."""
    values = job_values(scope, job)
    for fixed in ("agent", "kind", "conversation_id", "key", "max_attempts", "created_at"):
        del values[fixed]
    tx.run("update_job", **values)
