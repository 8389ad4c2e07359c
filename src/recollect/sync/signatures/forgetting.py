"""What `Forgetting` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.job import Job
from recollect.domain.memory import Memory
from recollect.domain.scope import Scope
from recollect.service.job_attempts import Handler


class BlockingForgetting(Protocol):
    """Archive what has faded."""

    def fade(self, scope: Scope, at: datetime | None = None) -> tuple[Memory, ...]:
        """Archive the memories that have faded by this time, and return them."""

    def looking(self, tidy: Handler) -> Handler:
        """Return a handler that also takes a first look at the memories of the user."""

    def fade_job(self, scope: Scope, job: Job) -> None:
        """Archive what had faded at the first look and has at this one."""
