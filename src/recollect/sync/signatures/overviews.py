"""What `Overviews` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.scope import Scope
from recollect.service.overview import Overview


class BlockingOverviews(Protocol):
    """Look at everything of a user."""

    def look(self, scope: Scope, *, days: int = 90) -> Overview:
        """Return what there is now, and what became of memories on each of these days."""
