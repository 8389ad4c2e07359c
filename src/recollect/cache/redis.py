"""Windows held in a Redis that several servers share.

Once a write is acknowledged, no server gives out a window from before it, since a write fences its conversation off
before it begins, and takes the fence away before it is acknowledged.
A window is stored only by a change that no other change overlapped, and by a reader while no change was begun or
ended since it asked; so a crash, a flush or an eviction at any point costs a load and nothing else.
Times are compared by the Redis alone.

A Redis that fails is passed by, and no request fails with it.
What was written meanwhile is remembered and dropped there before this server uses it again, and no server that noticed
the outage believes anything stored before the end of it.
One case is left: a server cannot reach a Redis that others can, or fails alone for a moment.
The others then may give out windows from before its writes, until it reaches the Redis again, or for as long as a
window is believed without being compared with the database (`RedisLimits.max_age`), whichever is first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec

from recollect.cache.flights import Flight, Flights
from recollect.cache.payload import pack, unpack
from recollect.cache.redis_link import RedisLimits, RedisLink, script
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import CacheError
from recollect.ports.windows import Load


class _Place(msgspec.Struct, frozen=True):
    """Where a conversation is in the Redis; all keys of a user share a slot, so that a script may touch them."""

    #: None for all that a user has.
    conversation: str | None
    user: str
    index: str

    @property
    def keys(self) -> tuple[str, str, str]:
        return self.conversation or self.user, self.user, self.index


class _Answer(msgspec.Struct, frozen=True):
    """What the Redis said to a question for a window."""

    window: Window | None = None
    #: Who may store what it loads, if that is one of us.
    lease: str | None = None
    #: Whether the window must be compared with the database first.
    is_old: bool = False
    epoch: int = 0


class RedisChange:
    """A write under way."""

    __slots__ = ("_before", "after", "epoch", "token")

    def __init__(self, token: str) -> None:
        self.token = token
        self.epoch = -1
        self.after: Window | None = None
        self._before: Callable[[], Window | None] = _nothing

    @property
    def before(self) -> Window | None:
        """Return the window that was held when the change began, if any."""
        return self._before()

    def settle(self, after: Window) -> None:
        """Say what the window is once the write is durable."""
        self.after = after

    def held(self, before: Callable[[], Window | None], epoch: int) -> None:
        """Note that the Redis knows of the change, and what it held."""
        self._before, self.epoch = before, epoch


class RedisWindows:
    """Share windows between servers; a window is gone when nobody used it for `idle`."""

    def __init__(
        self,
        url: str,
        *,
        idle: timedelta,
        new_id: Callable[[], str],
        prefix: str = "recollect",
        limits: RedisLimits = RedisLimits(),  # noqa: B008  # frozen
    ) -> None:
        self._new_id = new_id
        self._prefix = prefix
        self._limits = limits
        self._idle = _ms(idle)
        self._link = RedisLink(url, limits, self._mend)
        #: Where writes ended that the Redis was not told of.
        self._suspects: dict[_Place, None] = {}
        self._asked: Flights[_Place, _Answer] = Flights()
        self._loaded: Flights[_Place, Window] = Flights()
        self._passed: Flights[_Place, Window] = Flights()
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def link(self) -> RedisLink:
        """Return the connection, to see how it is."""
        return self._link

    @property
    def is_up(self) -> bool:
        """Tell whether it is used, or passed by because it cannot be reached."""
        return self._link.is_up

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Return the window, loaded once however many ask at the same time; what `load` raises is raised to all."""
        place = self._place(scope, conversation_id)
        answer = _Answer()
        if self._link.is_trusted:
            answer = await self._asked.join(place, lambda _: self._ask(place, scope, conversation_id))
        if answer.window is not None and not answer.is_old:
            return answer.window
        if answer.lease is None:
            return await self._passed.join(place, lambda _: _load(load, None))
        if not self._loaded.has(place, answer.lease):
            self._loaded.detach(place)
        return await self._loaded.join(
            place, lambda flight: self._fill(place, scope, load, answer, flight), answer.lease
        )

    @asynccontextmanager
    async def changing(self, scope: Scope, conversation_id: str) -> AsyncIterator[RedisChange]:
        """Surround one write to a conversation; leave the block only when the write has ended, however it ended."""
        place = self._place(scope, conversation_id)
        change = RedisChange(self._new_id())
        try:
            await self._begin(place, scope, conversation_id, change)
            yield change
        finally:
            await self._finish(self._end(place, scope, change))

    @asynccontextmanager
    async def erasing(self, scope: Scope) -> AsyncIterator[None]:
        """Surround a write to many conversations of the scope's user; none of their windows is held after it."""
        place = self._place(scope, None)
        token = self._new_id()
        try:
            await self._erase(place, token, _ms(self._limits.fence))
            yield
        finally:
            await self._finish(self._erase(place, token, 0))

    async def drop(self, scope: Scope, conversation_id: str) -> None:
        """Forget a window that is not needed soon."""
        await self._forget(self._place(scope, conversation_id))

    async def close(self) -> None:
        """Wait for what is under way and close every connection."""
        for flights in (self._asked, self._loaded, self._passed):
            await flights.close()
        while self._ends:
            await asyncio.wait(self._ends)
        await self._link.close()

    async def _ask(self, place: _Place, scope: Scope, conversation_id: str) -> _Answer:
        token, epoch, limits = self._new_id(), self._link.epoch, self._limits
        args = (token, self._new_id(), self._idle, _ms(limits.lease), _ms(limits.max_age), self._link.trusted_since)
        try:
            kind, *values = await self._link.run(script("ask"), place.keys, args)
        except CacheError:
            return _Answer()
        value: bytes = (values[0] if values else None) or b""
        if epoch != self._link.epoch or kind == b"busy":
            return _Answer()
        if kind == b"held":
            lease = str(value, "ascii", "replace")
            return _Answer(lease=lease, epoch=epoch) if self._loaded.has(place, lease) else _Answer()
        window = unpack(scope, conversation_id, value) if value else None
        if kind == b"leased":
            return _Answer(window=window, lease=token, is_old=True, epoch=epoch)
        if window is None:
            await self._forget(place)
        return _Answer(window=window)

    async def _fill(self, place: _Place, scope: Scope, load: Load, answer: _Answer, flight: Flight[Window]) -> Window:
        flight.stamp = answer.lease
        loaded = await _load(load, answer.window)
        packed = b"" if loaded is answer.window else pack(scope, loaded)
        if packed is not None and answer.epoch == self._link.epoch:
            try:
                await self._link.run(
                    script("fill"), place.keys, (answer.lease or "", self._new_id(), self._idle, packed)
                )
            except CacheError:
                return loaded
        return loaded

    async def _begin(self, place: _Place, scope: Scope, conversation_id: str, change: RedisChange) -> None:
        epoch = self._link.epoch
        args = (change.token, self._new_id(), self._idle, _ms(self._limits.fence))
        try:
            held: bytes | None = await self._link.run(script("begin"), place.keys, args)
        except CacheError:
            return
        change.held(lambda: unpack(scope, conversation_id, held) if held else None, epoch)

    async def _end(self, place: _Place, scope: Scope, change: RedisChange) -> None:
        known = change.after is not None and change.epoch == self._link.epoch
        packed = pack(scope, change.after) if change.after is not None and known else None
        try:
            await self._link.run(script("end"), place.keys, (change.token, self._new_id(), self._idle, packed or b""))
        except CacheError as exc:
            self._suspect(place, exc)

    async def _erase(self, place: _Place, token: str, fence: int) -> None:
        try:
            await self._link.run(script("erase"), place.keys, (token, self._new_id(), self._idle, fence))
        except CacheError as exc:
            self._suspect(place, exc)

    def _suspect(self, place: _Place, reason: CacheError) -> None:
        """Remember where the Redis may hold something older than the database."""
        self._suspects[place] = None
        if len(self._suspects) > self._limits.max_suspects:
            # Its window is believed by others for a limited time, and by this server no longer.
            self._suspects.pop(next(iter(self._suspects)))
        if self._link.is_up:
            self._link.fail(reason)

    async def _mend(self) -> None:
        """Drop what was written meanwhile."""
        while self._suspects:
            some = list(islice(self._suspects, self._limits.connections))
            results = await asyncio.gather(*(self._mend_one(place) for place in some), return_exceptions=True)
            for failure in filter(None, results):
                raise failure

    async def _mend_one(self, place: _Place) -> None:
        # Another write that ends meanwhile makes it suspect again.
        self._suspects.pop(place, None)
        try:
            if place.conversation is None:
                await self._link.mended(script("erase"), place.keys, (self._new_id(), self._new_id(), self._idle, 0))
            else:
                await self._link.mended(script("drop"), place.keys, ())
        except CacheError:
            self._suspects[place] = None
            raise

    async def _forget(self, place: _Place) -> None:
        try:
            await self._link.run(script("drop"), place.keys, ())
        except CacheError:
            return

    async def _finish(self, end: Coroutine[Any, Any, None]) -> None:
        """End a change also when its caller is cancelled."""
        task = asyncio.create_task(end)
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)
        await asyncio.shield(task)

    def _place(self, scope: Scope, conversation_id: str | None) -> _Place:
        owner = f"{self._prefix}:{{{_digest(scope.tenant, scope.user)}}}"
        conversation = f"{owner}:{_digest(conversation_id)}" if conversation_id is not None else None
        return _Place(conversation, f"{owner}:user", f"{owner}:index")


async def _load(load: Load, known: Window | None) -> Window:
    window = await load(known.conversation.revision if known is not None else None) or known
    if window is None:
        raise AssertionError("a window is loaded unless its revision is known")
    return window


def _nothing() -> None:
    return None


def _digest(*parts: str) -> str:
    """Name what is meant without telling it; the lengths keep two lists apart whose texts run together."""
    text = b"".join(b"%d:%b" % (len(part), part) for part in (one.encode() for one in parts))
    return blake2b(text, digest_size=16).hexdigest()


def _ms(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)
