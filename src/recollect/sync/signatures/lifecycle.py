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
        """Look for conversations of a user that became idle, and look again while one is active."""

    def expire_job(self, scope: Scope, job: Job) -> None:
        """Look for conversations that are too old; if there are any, have a second look before they are erased."""

    def prune_job(self, scope: Scope, job: Job) -> None:
        """Erase what was too old at the first look and is at this one: a clock that was wrong once erases nothing."""
