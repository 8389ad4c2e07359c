"""What `Lifecycle` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.job import Job
from recollect.domain.scope import Scope
from recollect.service.lifecycle import Pruned


class BlockingLifecycle(Protocol):
    """Look after conversations by the time of their last activity, which only the server's clock sets."""

    def cleanup_inactive(self, scope: Scope) -> tuple[str, ...]:
        """Mark the user's conversations inactive that had no activity for the timeout; return their ids."""

    def prune(self, scope: Scope, *, dry_run: bool = False) -> Pruned:
        """Erase the user's conversations that had no activity for the retention; memories learned from them stay."""

    def tidy_job(self, scope: Scope, job: Job) -> None:
        """Look after the conversations of a user, and say when to look again."""
