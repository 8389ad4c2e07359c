"""Keep cached windows true: every write to a conversation runs inside a change of its window."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.ports.windows import Load, WindowCache

T = TypeVar("T")
#: What the window is after a write, by the one before it and by what the write returned; None if that is not known.
After = Callable[[Window | None, T], Window | None]


def unknown_window(window: Window | None, result: object) -> None:
    """Say that a write leaves no window that is known."""


class WindowKeeper:
    """Read windows from a cache, if there is one, and tell it of every write."""

    def __init__(self, cache: WindowCache | None) -> None:
        self._cache = cache
        #: Held here so that a write whose caller is gone comes to its end.
        self._changes: set[asyncio.Task[Any]] = set()

    @property
    def is_up(self) -> bool:
        """Tell whether the cache is used, if there is one."""
        return self._cache is None or self._cache.is_up

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Return the window of a conversation."""
        if self._cache is not None:
            return await self._cache.get(scope, conversation_id, load)
        window = await load(None)
        if window is None:
            raise AssertionError("a window is loaded unless its revision is known")
        return window

    async def change(self, scope: Scope, conversation_id: str, write: Callable[[], Awaitable[T]], after: After[T]) -> T:
        """Write to one conversation."""
        if self._cache is None:
            return await write()
        return await self._whole(self._changed(self._cache, scope, conversation_id, write, after))

    async def change_many(self, scope: Scope, write: Callable[[], Awaitable[T]]) -> T:
        """Write to several conversations of a user; none of them is cached after it."""
        if self._cache is None:
            return await write()
        return await self._whole(self._dropped(self._cache, scope, write))

    async def close(self) -> None:
        """Wait for what is under way, then close the cache."""
        await asyncio.gather(*self._changes, return_exceptions=True)
        if self._cache is not None:
            await self._cache.close()

    async def _changed(
        self, cache: WindowCache, scope: Scope, conversation_id: str, write: Callable[[], Awaitable[T]], after: After[T]
    ) -> T:
        async with cache.changing(scope, conversation_id) as change:
            result = await write()
            window = after(change.before, result)
            if window is not None:
                change.settle(window)
            return result

    async def _dropped(self, cache: WindowCache, scope: Scope, write: Callable[[], Awaitable[T]]) -> T:
        async with cache.erasing(scope):
            return await write()

    async def _whole(self, change: Coroutine[Any, Any, T]) -> T:
        """Let a change end also when its caller is cancelled: until then nobody knows what the window is."""
        task = asyncio.create_task(change)
        self._changes.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._changes.discard(task)
        if not task.cancelled():
            task.exception()
