"""What `ReadinessCheck` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.service.readiness import Readiness


class BlockingReadinessCheck(Protocol):
    """Look at each part."""

    def look(self) -> Readiness:
        """Return how each part fares; it takes hardly longer than a second, whatever is away."""
