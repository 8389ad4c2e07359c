"""Time that passes only when a test says so, for code that sleeps on an event loop."""

from __future__ import annotations

import asyncio
import heapq
from datetime import timedelta
from itertools import count

from recollect.testing.clock import FakeClock

#: How often everything that can run runs, before the test goes on.
ROUNDS = 60


class VirtualTime:
    """A clock and a sleep that agree, until a test sets the clock: a sleep takes as long as it takes."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._passed = timedelta(0)
        self._sleepers: list[tuple[timedelta, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has let so much time pass."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        until = self._passed + timedelta(seconds=seconds)
        heapq.heappush(self._sleepers, (until, next(self._numbers), future))
        await future

    async def settle(self) -> None:
        """Let everything run that needs no time to pass."""
        for _ in range(ROUNDS):
            while self._sleepers and self._sleepers[0][0] <= self._passed:
                future = heapq.heappop(self._sleepers)[2]
                if not future.done():
                    future.set_result(None)
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that is to happen meanwhile."""
        until = self._passed + timedelta(seconds=seconds)
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            # Those that are cancelled wake nobody, so no time need stop for them.
            if self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
                continue
            await self._pass(self._sleepers[0][0])
        await self._pass(until)

    async def _pass(self, until: timedelta) -> None:
        self.clock.advance(seconds=(until - self._passed).total_seconds())
        self._passed = until
        await self.settle()
