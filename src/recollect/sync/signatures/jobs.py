"""What `Jobs` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.job import Job, JobQuery
from recollect.domain.scope import Scope
from recollect.service.jobs import JobPage


class BlockingJobs(Protocol):
    """Show the work of a user, and revive what died."""

    def list(self, scope: Scope, query: JobQuery) -> JobPage:
        """List jobs, the last queued first."""

    def get(self, scope: Scope, job_id: str) -> Job:
        """Return the job or raise `JobNotFoundError`."""

    def retry(self, scope: Scope, job_id: str) -> Job:
        """Queue a dead job again with all its attempts; any other raises `ConflictError`."""
