"""What `Events` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from recollect.domain.scope import Scope
from recollect.ports.events import Event, Subscription


class BlockingEvents(Protocol):
    """Carry hints between the sessions of a user, on this server and on others."""

    def publish(self, events: Iterable[Event]) -> None:
        """Send events to all subscribers of their users; call it after the commit."""

    def subscribe(self, scope: Scope) -> Subscription:
        """Receive the events of the scope's tenant and user that are published from now on, whatever their agent."""

    def close(self) -> None:
        """Send what was published, then end every subscription."""
