"""Do work once for all who ask for it at the same time, and never give anyone an answer older than the question.

Whoever asks joins a flight that has not begun, or one that began earlier if its stamp proves that nothing happened
since.
Everybody else shares the flight after it, so that at most two are in the air for one key.
A flight is a task of its own: who stops waiting cancels nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Flight(Generic[T]):
    """One piece of work that several wait for."""

    __slots__ = ("begun", "detached", "stamp", "starts", "task")

    def __init__(self) -> None:
        #: Whether the work began; until then its answer is new for everyone.
        self.begun = False
        #: Whether something happened since, so that the answer is for those who wait already and for nobody else.
        self.detached = False
        #: What must not have changed for someone to join after the work began.
        self.stamp: object | None = None
        self.starts = asyncio.Event()
        self.task: asyncio.Task[T]


class Flights(Generic[K, T]):
    """The flights under way, by key."""

    def __init__(self) -> None:
        self._current: dict[K, Flight[T]] = {}
        self._queued: dict[K, Flight[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def join(self, key: K, work: Callable[[Flight[T]], Awaitable[T]], stamp: object | None = None) -> T:
        """Return what the work returns, begun after this call or proven by the stamp to be as good."""
        flight = self._current.get(key)
        if flight is None:
            flight = self._current[key] = self._started(key, work)
            flight.starts.set()
        elif flight.begun and (stamp is None or flight.stamp != stamp):
            flight = self._queued.get(key)
            if flight is None:
                flight = self._queued[key] = self._started(key, work)
        return await asyncio.shield(flight.task)

    def detach(self, key: K) -> None:
        """Let nobody join the flight that has begun; those who ask from now on get one of their own at once."""
        flight = self._current.get(key)
        if flight is not None and flight.begun:
            flight.detached = True
            self._leave(key, flight)

    def under_way(self) -> list[K]:
        """Name what somebody waits for."""
        return [*self._current]

    def has(self, key: K, stamp: object) -> bool:
        """Tell whether a flight with this stamp can be joined."""
        flight = self._current.get(key)
        return flight is not None and flight.stamp == stamp

    async def close(self) -> None:
        """Wait for all that is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _started(self, key: K, work: Callable[[Flight[T]], Awaitable[T]]) -> Flight[T]:
        flight: Flight[T] = Flight()
        flight.task = asyncio.create_task(self._fly(key, flight, work))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(self._landed)
        return flight

    async def _fly(self, key: K, flight: Flight[T], work: Callable[[Flight[T]], Awaitable[T]]) -> T:
        try:
            await flight.starts.wait()
            flight.begun = True
            return await work(flight)
        finally:
            self._leave(key, flight)

    def _leave(self, key: K, flight: Flight[T]) -> None:
        if self._current.get(key) is not flight:
            return
        following = self._queued.pop(key, None)
        if following is None:
            del self._current[key]
        else:
            self._current[key] = following
            following.starts.set()

    def _landed(self, task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Everyone who waited may be gone, and then nobody else looks at it.
            task.exception()
