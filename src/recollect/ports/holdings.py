"""What the overview needs of a store: how much it keeps of a user."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.holdings import Holdings, HoldingsQuery
from recollect.domain.scope import Scope


class HoldingsStore(Protocol):
    """Count what is kept of a user."""

    async def count_holdings(self, scope: Scope, query: HoldingsQuery) -> Holdings:
        """Count conversations, messages, memories, jobs and bytes of one user, on one snapshot.

        The cost depends on the user's own data, and not on the whole store.
        """
