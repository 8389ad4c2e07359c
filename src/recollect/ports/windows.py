"""What the store needs to answer for the newest part of a conversation without a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from recollect.domain.scope import Scope
from recollect.domain.window import Window

#: Read a window from the database, or return None if the conversation still has this revision.
Load = Callable[[int | None], Awaitable[Window | None]]


class Change(Protocol):
    """A write under way; say what the window is after it, and nothing if that is not known."""

    @property
    def before(self) -> Window | None:
        """Return the window that was held when the change began, if any."""

    def settle(self, after: Window) -> None:
        """Say what the window is once the write is durable."""


class WindowCache(Protocol):
    """Hold windows of conversations; never the only copy of anything.

    Once a write is acknowledged, no server that shares this cache gives out a window from before it.
    Whoever asks while a write is under way may get the window from before or after it.
    Nothing here fails or delays a request for long: a cache that cannot be reached, is slow or was emptied is passed
    by, and the window is loaded.
    Entries carry tenant and user; those that nobody uses are dropped after a while, and past the limit of the process,
    or of the server that holds them, the ones used longest ago.
    """

    @property
    def is_up(self) -> bool:
        """Tell whether it is used, or passed by because it cannot be reached."""

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Return the window, loaded once however many ask at the same time; what `load` raises is raised to all."""

    def changing(self, scope: Scope, conversation_id: str) -> AbstractAsyncContextManager[Change]:
        """Surround one write to a conversation; leave the block only when the write has ended, however it ended."""

    def erasing(self, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Surround a write to many conversations of the scope's user; none of their windows is held after it."""

    async def drop(self, scope: Scope, conversation_id: str) -> None:
        """Forget a window that is not needed soon."""

    async def close(self) -> None:
        """Release everything."""
