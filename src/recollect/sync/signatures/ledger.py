"""What `Ledger` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from recollect.domain.scope import Scope
from recollect.domain.usage import UsageQuery, UsageTotals
from recollect.ports.bill import Bill
from recollect.service.job_attempts import Handler


class BlockingLedger(Protocol):
    """Open bills, and enter what they come to."""

    def covering(
        self, scope: Scope, *, kind: str, conversation_id: str | None = None
    ) -> AbstractAsyncContextManager[Bill | None]:
        """Open a bill unless the block is part of work that has one."""

    def billed(self, kind: str, handler: Handler) -> Handler:
        """Return the handler with a bill around each attempt of its jobs."""

    def totals(self, scope: Scope, query: UsageQuery | None = None) -> UsageTotals:
        """Add up what the user's models cost, at the prices of the settings unless the query has others."""

    def flush(self) -> int:
        """Wait for entries under way, try once more what the store did not take, and return how many are left."""
