"""What the service needs to know the time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tell the time; injected, so that tests decide it."""

    def __call__(self) -> datetime:
        """Return the present instant, aware, in UTC."""
