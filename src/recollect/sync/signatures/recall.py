"""What `Recall` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.context import Recalled
from recollect.domain.memory import Memory
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope


class BlockingRecall(Protocol):
    """Answer questions from what is remembered; only the user's own data is touched."""

    def search(self, scope: Scope, request: RecallRequest) -> tuple[Recalled, ...]:
        """Return what answers the question, the best first, each with why; secrets in it are redacted."""

    def known(self, scope: Scope) -> tuple[Memory, ...]:
        """Return every memory of the user that is not deleted, past values too."""

    def pinned(self, scope: Scope) -> tuple[Memory, ...]:
        """Return what is always told, the oldest first."""
