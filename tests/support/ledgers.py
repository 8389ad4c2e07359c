"""What tests of the ledger share: what a call costs, and a store that can be told to take no entry."""

from __future__ import annotations

import asyncio

from recollect.domain.scope import Scope
from recollect.domain.turn import Usage
from recollect.domain.usage import Spent, UsageEntry
from recollect.storage.inmemory import InMemoryStore

#: What the scripted server says that a reply cost.
ONE = Usage(input_tokens=7, output_tokens=3)


def spent(calls: int) -> Spent:
    """Return what so many calls add up to."""
    return Spent(input_tokens=ONE.input_tokens * calls, output_tokens=ONE.output_tokens * calls, calls=calls)


class StubbornStore(InMemoryStore):
    """A store that takes no entry while it has an error, and waits before it does."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.asked = 0
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def record_usage(self, scope: Scope, entry: UsageEntry) -> None:
        self.asked += 1
        self.begun.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        await super().record_usage(scope, entry)
