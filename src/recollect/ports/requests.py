"""What the edge needs so that a retried request has one effect."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.scope import Scope


class RequestStore(Protocol):
    """Keep what was answered to requests that carry an idempotency key; every method is one transaction."""

    async def begin_request(self, scope: Scope, start: RequestStart) -> Answer | None:
        """Return the first answer, or None if this caller, and no other, does the work.

        Raise `RequestInFlightError` while another does it, `IdempotencyMismatchError` for other content,
        `ErasedError` if the answer was erased since.
        """

    async def finish_request(self, scope: Scope, answer: Answer, at: datetime) -> None:
        """Keep the answer for every retry; the first one stays."""

    async def abandon_request(self, scope: Scope, request: RequestKey) -> None:
        """Let this very request be tried again, unless it was answered; one with other content is left alone."""

    async def forget_requests(self, scope: Scope, before: datetime) -> int:
        """Delete the records of requests begun before this time and return how many."""
