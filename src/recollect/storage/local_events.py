"""Events inside one process: all that SQLite needs, and the last step for Postgres."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from recollect.domain.scope import Scope
from recollect.ports.events import OVERFLOW, Event

#: How many events wait for a subscriber before the oldest are lost.
QUEUE = 256


class LocalSubscription:
    """The events of one user, kept in a queue with a bound."""

    def __init__(self, scope: Scope, leave: Callable[[LocalSubscription], None], size: int) -> None:
        self.scope = scope
        self._leave = leave
        self._size = size
        self._events: deque[Event] = deque()
        self._has_lost = False
        self._is_closed = False
        self._changed = asyncio.Event()

    def put(self, event: Event) -> None:
        """Queue an event, in the place of the oldest if there is no room."""
        if len(self._events) >= self._size:
            self._events.popleft()
            self._has_lost = True
        self._events.append(event)
        self._changed.set()

    def lose(self) -> None:
        """Say that events were lost on the way."""
        self._has_lost = True
        self._changed.set()

    def __aiter__(self) -> LocalSubscription:
        """Return itself."""
        return self

    async def __anext__(self) -> Event:
        """Wait for the next event; a loss is told before the events that came after it."""
        while True:
            if self._has_lost:
                self._has_lost = False
                return Event(kind=OVERFLOW, scope=self.scope)
            if self._events:
                return self._events.popleft()
            if self._is_closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        """End after the events that are queued."""
        self._is_closed = True
        self._changed.set()

    def close(self) -> None:
        """Stop receiving."""
        self._leave(self)
        self._events.clear()
        self._has_lost = False
        self.end()


class LocalEvents:
    """Hand events to the subscribers of this process."""

    def __init__(self, size: int = QUEUE) -> None:
        self._size = size
        self._subscriptions: dict[tuple[str, str], set[LocalSubscription]] = {}

    def publish(self, events: Iterable[Event]) -> None:
        """Queue the events for the subscribers of their users."""
        for event in events:
            for subscription in self._subscriptions.get((event.scope.tenant, event.scope.user), ()):
                subscription.put(event)

    def subscribe(self, scope: Scope) -> LocalSubscription:
        """Receive the events of the scope's tenant and user."""
        subscription = LocalSubscription(scope, self._leave, self._size)
        self._subscriptions.setdefault((scope.tenant, scope.user), set()).add(subscription)
        return subscription

    def _leave(self, subscription: LocalSubscription) -> None:
        key = (subscription.scope.tenant, subscription.scope.user)
        others = self._subscriptions.get(key, set())
        others.discard(subscription)
        if not others:
            self._subscriptions.pop(key, None)

    def lose(self) -> None:
        """Tell every subscriber that events were lost on the way."""
        for subscription in self._all():
            subscription.lose()

    def _all(self) -> list[LocalSubscription]:
        return [one for subscriptions in self._subscriptions.values() for one in subscriptions]

    async def close(self) -> None:
        """End every subscription."""
        for subscription in self._all():
            subscription.end()
        self._subscriptions.clear()
