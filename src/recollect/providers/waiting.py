"""Decide how long to wait before the next attempt; reads no clock and draws no random number."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST = 0.5
_LONGEST = 8.0
_DAY = 86_400.0


def backoff(attempt: int, chance: float) -> float:
    """Return seconds that double with each attempt, from the 0th; `chance` in [0, 1) spreads callers apart.

    >>> [backoff(attempt, 0.5) for attempt in (0, 1, 2, 9)]
    [0.375, 0.75, 1.5, 6.0]
    """
    return float(min(_FIRST * 2**attempt, _LONGEST)) * (0.5 + chance / 2)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, at most a day, or None if it makes no sense.

    >>> retry_after("1.5", datetime.now(UTC))
    1.5
    """
    if header is None or len(header) > 100:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header, now)
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _DAY)


def _until(date: str, now: datetime) -> float:
    try:
        when = parsedate_to_datetime(date)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    except (ValueError, OverflowError):
        return math.nan
