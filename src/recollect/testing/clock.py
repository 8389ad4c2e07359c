"""Time and ids that tests decide: nothing here reads a clock or draws a random number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

#: When every test begins.
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """A clock that stands still until it is told to move, in either direction.

    >>> clock = FakeClock()
    >>> clock.advance(hours=-2) < START
    True
    """

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def __call__(self) -> datetime:
        """Tell the time."""
        return self._now

    def advance(self, **by: float) -> datetime:
        """Move by a timedelta's arguments, `advance(days=365)`, and tell the new time."""
        self._now += timedelta(**by)
        return self._now


def ids(prefix: str = "id") -> Iterator[str]:
    """Give ids without end, in order.

    >>> next(ids("message"))
    'message-0001'
    """
    return (f"{prefix}-{number:04}" for number in count(1))
