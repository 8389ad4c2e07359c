"""Jobs as their user sees them: listed, looked at, and queued again after they died."""

from __future__ import annotations

import msgspec

from recollect.domain.job import Job, JobQuery
from recollect.domain.scope import Scope
from recollect.ports.jobs import JobStore
from recollect.service.means import Means

#: The event that tells a user's sessions that a job was done, died, or waits for another attempt.
JOB_UPDATED = "job.updated"


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of jobs; `next` is None on the last."""

    items: tuple[Job, ...]
    next: str | None


class Jobs:
    """Show the work of a user, and revive what died."""

    def __init__(self, store: JobStore, means: Means) -> None:
        self._store = store
        self._means = means

    async def list(self, scope: Scope, query: JobQuery) -> JobPage:
        """List jobs, the last queued first."""
        found = await self._store.list_jobs(scope, query)
        if not found:
            return JobPage(items=(), next=None)
        # Damaged jobs are left out, so a short page may be followed by others.
        rest = msgspec.structs.replace(query, before_id=found[-1].id)
        return JobPage(items=found, next=found[-1].id if await self._store.list_jobs(scope, rest) else None)

    async def get(self, scope: Scope, job_id: str) -> Job:
        """Return the job or raise `JobNotFoundError`."""
        return await self._store.get_job(scope, job_id)

    async def retry(self, scope: Scope, job_id: str) -> Job:
        """Queue a dead job again with all its attempts; any other raises `ConflictError`."""
        job = await self._store.retry_job(scope, job_id, self._means.clock())
        self._means.wake(job.run_at)
        self._means.tell(scope, JOB_UPDATED, (job.id,))
        return job
