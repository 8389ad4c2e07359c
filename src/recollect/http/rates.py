"""How much one user may ask for: requests in a while, and streams at the same time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from recollect.domain.scope import Scope
from recollect.errors import RateLimitedError

#: Users whose recent requests are remembered; one who is forgotten begins afresh.
MOST_USERS = 10_000


class RateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one user on one server; 0 is no limit."""

    per_minute: int = 0
    streams: int = 0


class Rates:
    """Count what users do; a bucket that fills by the minute and holds one minute's requests."""

    def __init__(self, options: RateOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        #: What each user may still ask, and when that was so.
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()
        self._streams: dict[tuple[str, str], int] = {}

    def take(self, scope: Scope) -> None:
        """Count a request, or raise `RateLimitedError`."""
        most = self._options.per_minute
        if not most:
            return
        user, now = (scope.tenant, scope.user), self._clock()
        left, since = self._left.pop(user, (float(most), now))
        left = min(float(most), left + (now - since) * most / 60)
        self._left[user] = (max(0.0, left - 1), now)
        if len(self._left) > MOST_USERS:
            self._left.popitem(last=False)
        if left < 1:
            raise RateLimitedError(f"more than {most} requests a minute; wait a second, then go on")

    @contextmanager
    def streaming(self, scope: Scope) -> Iterator[None]:
        """Hold one of the user's streams, or raise `RateLimitedError`."""
        user = (scope.tenant, scope.user)
        open_now = self._streams.get(user, 0)
        if self._options.streams and open_now >= self._options.streams:
            raise RateLimitedError(f"more than {self._options.streams} streams at the same time; close one first")
        self._streams[user] = open_now + 1
        try:
            yield
        finally:
            self._streams[user] -= 1
            if not self._streams[user]:
                del self._streams[user]
