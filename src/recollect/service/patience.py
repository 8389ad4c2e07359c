"""Wait, and ask a store again that does not answer; one warning per outage."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from recollect.errors import RecollectError, StorageLockedError, StorageUnavailableError
from recollect.ports.clock import Clock
from recollect.service.job_failures import Backoff

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")

#: Waits while the store does not answer.
OUTAGE = Backoff(first=timedelta(seconds=0.5), longest=timedelta(seconds=10))

_log = logging.getLogger(__name__)


class Pace:
    """The clock, how to wait, and chance to spread waits apart; tests decide all three."""

    def __init__(
        self, clock: Clock, *, sleep: Sleep = asyncio.sleep, chance: Callable[[], float] = random.random
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self.chance = chance

    async def pause(self, event: asyncio.Event, wait: timedelta) -> None:
        """Wait for the event, at most this long."""
        waiting = asyncio.ensure_future(event.wait())
        try:
            await self.wait_for(waiting, wait)
        finally:
            waiting.cancel()

    async def wait_for(self, future: asyncio.Future[Any], wait: timedelta) -> None:
        """Wait until this is done, at most this long, and leave it as it is."""
        alarm = asyncio.ensure_future(self.sleep(max(wait.total_seconds(), 0.0)))
        try:
            await asyncio.wait({alarm, future}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()


class Patience:
    """Call a store that may be away; any other error is the caller's."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        #: Since when the store does not answer.
        self.down_since: datetime | None = None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Return what the store answers, or None if it does not."""
        try:
            answer = await call()
        except (StorageUnavailableError, StorageLockedError) as exc:
            if self.down_since is None:
                self.down_since = self._pace.clock()
                _log.warning("the store does not answer, jobs wait: %s", exc.code)
            return None
        except RecollectError:
            self._is_back()
            raise
        self._is_back()
        return answer

    async def insist(self, call: Callable[[], Awaitable[T]], until: asyncio.Event) -> T | None:
        """Ask until the store answers, or return None once the event is set."""
        failures = 0
        while (answer := await self.ask(call)) is None and not until.is_set():
            failures += 1
            await self._pace.pause(until, OUTAGE.after_attempt(failures, self._pace.chance()))
        return answer

    def _is_back(self) -> None:
        if self.down_since is not None:
            self.down_since = None
            _log.info("the store answers again")
