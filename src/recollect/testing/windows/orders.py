"""Orders of steps drawn at random: the test that a cache which gives out old windows does not pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from recollect.testing.samples import ALICE
from recollect.testing.windows.rig import CacheServer, Outcome, Pause, Stepped, WindowRig


class Interleaving:
    """Servers that read and write in an order drawn at random, each stopped at every point."""

    ids = ("c1", "c2")

    def __init__(self, rig: WindowRig, servers: list[CacheServer], random: Random) -> None:
        self._rig = rig
        self._servers = servers
        self._random = random
        self._calls: list[Stepped] = []
        self._crashed: list[Stepped] = []

    async def run(self, steps: int) -> None:
        """Take steps, then let all end and look at what every server gives out."""
        for name in self.ids:
            await self._servers[0].write(ALICE, name)
        for _ in range(steps):
            self._step()
            if self._rig.troubles and self._random.random() < 0.03:
                await self._random.choice(self._rig.troubles)()
            await self._rig.settle()
            self._check()
        await self._end()

    def _step(self) -> None:
        waiting = [call for call in self._calls if call.point is not None]
        chance = self._random.random()
        if not waiting or (chance < 0.4 and len(self._calls) < 8):
            self._calls.append(Stepped(self._drawn()))
        elif chance < 0.92:
            self._random.choice(waiting).go()
        elif chance < 0.96:
            self._random.choice(waiting).task.cancel()
        elif writes := [call for call in waiting if call.point in {"begun", "committed"}]:
            self._crashed.append(self._random.choice(writes))
            self._calls.remove(self._crashed[-1])

    def _drawn(self) -> Callable[[Pause], Awaitable[object]]:
        server, name = self._random.choice(self._servers), self._random.choice(self.ids)
        chance = self._random.random()
        if chance < 0.5:
            return lambda pause: server.get(ALICE, name, pause)
        if chance < 0.94:
            outcome: Outcome = self._random.choice(("settled", "settled", "settled", "unsettled", "failed"))
            return lambda pause: server.write(ALICE, name, outcome, pause)
        return lambda pause: server.write_to_all(ALICE, pause)

    def _check(self) -> None:
        for call in [call for call in self._calls if call.is_over]:
            self._calls.remove(call)
            if not call.task.cancelled():
                call.task.result()

    async def _end(self) -> None:
        while self._calls:
            for call in self._calls:
                call.go()
            await self._rig.settle()
            self._check()
        for server in self._servers:
            for name in self.ids:
                window = await server.get(ALICE, name)
                assert window.conversation.revision <= self._rig.database.revision(ALICE, name)
        for call in self._crashed:
            call.task.cancel()
        await asyncio.gather(*(call.task for call in self._crashed), return_exceptions=True)


async def interleave(rig: WindowRig, random: Random, *, servers: int, steps: int) -> None:
    """Check one order of steps of some servers: what was acknowledged is given out to all who ask after it."""
    await Interleaving(rig, [await rig.server() for _ in range(servers)], random).run(steps)
