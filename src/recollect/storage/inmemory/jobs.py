"""Jobs in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recollect.domain import job as rule
from recollect.domain.job import Claim, ClaimedJob, ClaimRequest, Job, JobFailure, JobQuery, NewJob
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, InvalidCursorError, JobNotFoundError
from recollect.storage.inmemory.shelves import QueuedJob, Shelves, UserData


def find(data: UserData, job_id: str) -> Job:
    """Return the job or raise."""
    try:
        return data.jobs[job_id].job
    except KeyError:
        raise JobNotFoundError("there is no job with this id") from None


def store(data: UserData, job: Job) -> Job:
    """Write the job as it is now."""
    data.jobs[job.id] = replace(data.jobs[job.id], job=job)
    return job


def _queued(data: UserData, key: str | None) -> Job | None:
    """Return the queued job with this key."""
    for queued in data.jobs.values():
        if key is not None and queued.job.key == key and queued.job.state == "queued":
            return queued.job
    return None


def enqueue(data: UserData, scope: Scope, new: NewJob, at: datetime) -> Job:
    """Queue the job, or postpone the queued one with the same key."""
    if new.id in data.jobs:
        return data.jobs[new.id].job
    waiting = _queued(data, new.key)
    if waiting is not None:
        return store(data, rule.postponed(waiting, new, at))
    job = rule.job_from(new, at)
    data.jobs[job.id] = QueuedJob(scope.agent, data.next_number(), job)
    return job


def _held(data: UserData, claim: Claim) -> Job:
    """Return the job if this claim still holds it, or raise."""
    queued = data.jobs.get(claim.job_id)
    held = (claim.worker, claim.attempt)
    if queued is None or queued.job.state != "running" or (queued.job.worker, queued.job.attempts) != held:
        raise JobNotFoundError("this worker does not hold the job any more")
    return queued.job


def complete(data: UserData, claim: Claim, at: datetime) -> Job:
    """End a job that was done."""
    return store(data, rule.done(_held(data, claim), at))


def _due(job: Job, request: ClaimRequest) -> datetime | None:
    """Return since when the job waits to be taken, or None if it does not."""
    if request.kinds and job.kind not in request.kinds:
        return None
    since = {"queued": job.run_at, "running": job.lease_until}.get(job.state)
    return since if since is not None and since <= request.now else None


class Jobs(Shelves):
    """Keep jobs."""

    async def enqueue_job(self, scope: Scope, new: NewJob, at: datetime) -> Job:
        with self._writing(scope) as data:
            return enqueue(data, scope, new, at)

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        self._refuse_if_closed()
        due: list[tuple[datetime, int, Scope, Job]] = []
        for (tenant, user), data in self._users.items():
            for queued in data.jobs.values():
                since = _due(queued.job, request)
                if since is not None:
                    due.append((since, queued.number, Scope(tenant, user, queued.agent), queued.job))
        due.sort(key=lambda waiting: waiting[:2])
        taken: list[ClaimedJob] = []
        for _, _, scope, job in due:
            if len(taken) == request.limit:
                break
            with self._writing(scope) as data:
                mine = store(data, rule.claimed(job, request))
            if mine.state == "running":
                taken.append(ClaimedJob(scope, mine))
        return tuple(taken)

    async def complete_job(self, scope: Scope, claim: Claim, at: datetime) -> Job:
        with self._writing(scope) as data:
            return complete(data, claim, at)

    async def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        with self._writing(scope) as data:
            job = rule.failed(_held(data, claim), failure)
            if job.state == "queued" and _queued(data, job.key) is not None:
                job = rule.done(job, failure.at)
            return store(data, job)

    async def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
        with self._writing(scope) as data:
            return store(data, rule.prolonged(_held(data, claim), lease_until))

    async def get_job(self, scope: Scope, job_id: str) -> Job:
        return find(self._reading(scope), job_id)

    async def list_jobs(self, scope: Scope, query: JobQuery) -> tuple[Job, ...]:
        found = [queued.job for queued in reversed(self._reading(scope).jobs.values())]
        if query.before_id is not None:
            ids = [job.id for job in found]
            if query.before_id not in ids:
                raise InvalidCursorError("this page position is not known; start from the first page")
            found = found[ids.index(query.before_id) + 1 :]
        if query.state is not None:
            found = [job for job in found if job.state == query.state]
        if query.conversation_id is not None:
            found = [job for job in found if job.conversation_id == query.conversation_id]
        return tuple(found[: query.limit])

    async def retry_job(self, scope: Scope, job_id: str, at: datetime) -> Job:
        with self._writing(scope) as data:
            job = find(data, job_id)
            if job.state != "dead":
                raise ConflictError(f"only a dead job can be retried; this one is {job.state}")
            if _queued(data, job.key) is not None:
                raise ConflictError("a job for the same work is queued already")
            return store(data, rule.revived(job, at))

    async def forget_jobs(self, scope: Scope, before: datetime) -> int:
        with self._writing(scope) as data:
            jobs = [queued.job for queued in data.jobs.values()]
            old = [job.id for job in jobs if job.state == "done" and job.updated_at < before]
            for job_id in old:
                del data.jobs[job_id]
            return len(old)
