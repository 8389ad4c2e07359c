"""Wait for work that somebody may end early, and for work that nobody may."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event | None) -> T | None:
    """Return what the work returns, or None if it was stopped before its end."""
    if stop is None:
        return await work
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def to_its_end(write: asyncio.Task[T]) -> T:
    """Wait for a write also when cancelled: until it ends nobody knows whether its key may be used again."""
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        await asyncio.wait({write})
        raise
