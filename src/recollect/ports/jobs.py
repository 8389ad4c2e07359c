"""What the workers need to share durable jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.job import Claim, ClaimedJob, ClaimRequest, Job, JobFailure, JobQuery, NewJob
from recollect.domain.scope import Scope


class JobStore(Protocol):
    """Keep jobs; every method is one transaction.

    One attempt of a job is held by one worker; what a worker does after losing it raises `JobNotFoundError`.
    """

    async def enqueue_job(self, scope: Scope, new: NewJob, at: datetime) -> Job:
        """Queue a job, or postpone the queued one with the same key; the same id again changes nothing."""

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        """Take due jobs, and jobs whose lease ran out, of any scope, longest due first.

        It takes no scope: it tells the scope to do each job in, and nothing else of it.
        A job that used up its attempts dies instead of being returned, and the next one due takes its place.
        """

    async def complete_job(self, scope: Scope, claim: Claim, at: datetime) -> Job:
        """End a job that was done."""

    async def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        """Queue a job again for later, or let it die if it may not be retried or used up its attempts.

        If another job with its key was queued meanwhile, that one stands for both, and this one ends.
        """

    async def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
        """Keep a job until this time."""

    async def get_job(self, scope: Scope, job_id: str) -> Job:
        """Return the job or raise `JobNotFoundError`."""

    async def list_jobs(self, scope: Scope, query: JobQuery) -> tuple[Job, ...]:
        """List jobs, the last queued first."""

    async def retry_job(self, scope: Scope, job_id: str, at: datetime) -> Job:
        """Queue a dead job again; any other raises `ConflictError`."""

    async def forget_jobs(self, scope: Scope, before: datetime) -> int:
        """Delete the jobs of the user that were done before this time, and return how many; dead ones stay."""
