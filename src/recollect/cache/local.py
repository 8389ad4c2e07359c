"""Windows held in this process.

Writes of this process pass through here; a mark tells of the writes of others, and where there is none every window is
compared with the database before it is given out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from recollect.cache.flights import Flight, Flights
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.ports.clock import Clock
from recollect.ports.windows import Load

#: Tenant, user and conversation id.
_Key = tuple[str, str, str]
_User = tuple[str, str]


class _Entry:
    """A window, and what is known about its being current."""

    __slots__ = ("mark", "used_at", "window")

    def __init__(self, window: Window, mark: object | None, used_at: datetime) -> None:
        self.window = window
        #: The mark under which it was current, taken before it was read.
        self.mark = mark
        self.used_at = used_at


class _Writes:
    """The changes of one conversation that overlap, from when the first begins until the last ends."""

    __slots__ = ("best", "count", "known", "mark")

    def __init__(self, mark: object | None) -> None:
        self.mark = mark
        self.count = 0
        #: Whether each that ended said what the window is after it.
        self.known = True
        self.best: Window | None = None


class LocalChange:
    """A write under way."""

    __slots__ = ("_before", "after")

    def __init__(self, before: Window | None) -> None:
        self._before = before
        self.after: Window | None = None

    @property
    def before(self) -> Window | None:
        """Return the window that was held when the change began, if any."""
        return self._before

    def settle(self, after: Window) -> None:
        """Say what the window is once the write is durable."""
        self.after = after


class LocalWindows:
    """Hold the windows of the conversations that were used last.

    `mark` returns a value that changes whenever another process or connection may have written, or None if that cannot
    be told; it is called for every window and must be quick. `settled_mark` is asked where it returns None.
    """

    def __init__(
        self,
        *,
        mark: Callable[[], object | None],
        clock: Clock,
        max_conversations: int,
        idle: timedelta,
        settled_mark: Callable[[], Awaitable[object | None]] | None = None,
    ) -> None:
        self._mark = mark
        self._settled_mark = settled_mark
        self._clock = clock
        self._max = max_conversations
        self._idle = idle
        #: In the order of their use.
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._of_user: dict[_User, set[_Key]] = {}
        self._writes: dict[_Key, _Writes] = {}
        self._flights: Flights[_Key, Window] = Flights()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_up(self) -> bool:
        """Tell that it is used: it is in this process."""
        return True

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Return the window, loaded once however many ask at the same time; what `load` raises is raised to all."""
        key = _key(scope, conversation_id)
        mark = await self._marked()
        entry = self._used(key)
        if entry is not None and mark is not None and entry.mark == mark:
            return entry.window
        return await self._flights.join(key, lambda flight: self._load(key, load, flight), mark)

    async def _marked(self) -> object | None:
        mark = self._mark()
        if mark is None and self._settled_mark is not None:
            return await self._settled_mark()
        return mark

    @asynccontextmanager
    async def changing(self, scope: Scope, conversation_id: str) -> AsyncIterator[LocalChange]:
        """Surround one write to a conversation; leave the block only when the write has ended, however it ended."""
        key = _key(scope, conversation_id)
        mark = await self._marked()
        writes = self._writes.get(key)
        if writes is None:
            writes = self._writes[key] = _Writes(mark)
        writes.count += 1
        entry = self._entries.get(key)
        change = LocalChange(entry.window if entry else None)
        try:
            yield change
        finally:
            self._end(key, writes, change.after)

    @asynccontextmanager
    async def erasing(self, scope: Scope) -> AsyncIterator[None]:
        """Surround a write to many conversations of the scope's user; none of their windows is held after it."""
        user = (scope.tenant, scope.user)
        try:
            yield
        finally:
            for key in [*self._of_user.get(user, ())]:
                self._forget(key)
            for key in self._flights.under_way():
                if key[:2] == user:
                    self._flights.detach(key)
            for key, writes in self._writes.items():
                if key[:2] == user:
                    writes.known = False

    async def drop(self, scope: Scope, conversation_id: str) -> None:
        """Forget a window that is not needed soon."""
        key = _key(scope, conversation_id)
        self._flights.detach(key)
        self._forget(key)

    async def close(self) -> None:
        """Wait for what is being loaded and forget everything."""
        await self._flights.close()
        self._entries.clear()
        self._of_user.clear()

    async def _load(self, key: _Key, load: Load, flight: Flight[Window]) -> Window:
        mark = flight.stamp = self._mark()
        entry = self._used(key)
        window = await load(entry.window.conversation.revision if entry else None)
        if window is None:
            if entry is None:
                raise AssertionError("a window is loaded unless its revision is known")
            window = entry.window
        if not flight.detached:
            self._keep(key, window, mark)
        return window

    def _end(self, key: _Key, writes: _Writes, after: Window | None) -> None:
        """End a change: nobody who asks from now on may see what was read before."""
        self._flights.detach(key)
        self._forget(key)
        if after is None:
            writes.known = False
        elif writes.best is None or after.conversation.revision > writes.best.conversation.revision:
            writes.best = after
        writes.count -= 1
        if writes.count == 0:
            del self._writes[key]
            if writes.known and writes.best is not None:
                self._keep(key, writes.best, writes.mark)

    def _used(self, key: _Key) -> _Entry | None:
        """Return what is held, unless nobody used it for too long, and make it the newest."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._clock()
        if now - entry.used_at > self._idle:
            self._forget(key)
            return None
        entry.used_at = now
        self._entries.move_to_end(key)
        return entry

    def _keep(self, key: _Key, window: Window, mark: object | None) -> None:
        now = self._clock()
        entry = self._entries.get(key)
        if entry is None or entry.window.conversation.revision <= window.conversation.revision:
            self._entries[key] = _Entry(window, mark, now)
            self._entries.move_to_end(key)
            self._of_user.setdefault(key[:2], set()).add(key)
        while self._entries:
            oldest, entry = next(iter(self._entries.items()))
            if len(self._entries) <= self._max and now - entry.used_at <= self._idle:
                break
            self._forget(oldest)

    def _forget(self, key: _Key) -> None:
        if self._entries.pop(key, None) is None:
            return
        user = key[:2]
        keys = self._of_user[user]
        keys.discard(key)
        if not keys:
            del self._of_user[user]


def _key(scope: Scope, conversation_id: str) -> _Key:
    return scope.tenant, scope.user, conversation_id
