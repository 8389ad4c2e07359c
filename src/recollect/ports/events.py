"""What the service needs to tell a user's other sessions that something changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from recollect.domain.checks import check_id, check_optional_id, check_type
from recollect.domain.scope import Scope

#: The kind of an event that says that events were lost: look again at whatever you show.
OVERFLOW = "overflow"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something of a kind changed: its id, and whose it is, but never what it says."""

    kind: str
    scope: Scope
    #: None if the event is about no single thing.
    entity_id: str | None = None

    def __post_init__(self) -> None:
        check_id(self.kind, "event kind")
        check_type(self.scope, Scope, "scope")
        check_optional_id(self.entity_id, "entity id")


class Subscription(Protocol):
    """The events of one user from now on, read with `async for`; it ends when it or its source is closed."""

    def __aiter__(self) -> Subscription:
        """Return itself."""

    async def __anext__(self) -> Event:
        """Wait for the next event."""

    def close(self) -> None:
        """Stop receiving; whoever waits for the next event is told that there is none."""


class Events(Protocol):
    """Carry hints between the sessions of a user, on this server and on others.

    An event is a hint: it arrives at most once, perhaps not at all, and in the order of its publisher.
    It carries ids and no user text; who needs to be certain reads the store.
    A subscriber that is too slow loses the oldest events, and whoever loses events gets one of the kind `overflow`.
    Everything here is used from one event loop.
    """

    def publish(self, events: Iterable[Event]) -> None:
        """Send events to all subscribers of their users; call it after the commit.

        It never waits and never fails.
        """

    def subscribe(self, scope: Scope) -> Subscription:
        """Receive the events of the scope's tenant and user that are published from now on, whatever their agent."""

    async def close(self) -> None:
        """Send what was published, then end every subscription."""
