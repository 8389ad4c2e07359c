"""What the ledger needs to keep account of what models cost."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.scope import Scope
from recollect.domain.usage import UsageEntry, UsageQuery, UsageTotals


class UsageStore(Protocol):
    """Keep what each piece of work spent on each model; every method is one transaction.

    A turn enters its own usage in its own transaction.
    Erasing a conversation keeps the counts and takes its id, and those of its jobs, from them.
    """

    async def record_usage(self, scope: Scope, entry: UsageEntry) -> None:
        """Enter what was spent; the same id again changes nothing.

        What was spent on a conversation that was erased meanwhile is entered without naming it.
        """

    async def usage_totals(self, scope: Scope, query: UsageQuery) -> UsageTotals:
        """Add up what was spent, exactly; a damaged entry is told and not counted."""
