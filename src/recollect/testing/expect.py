"""Expect errors without a test framework, so that the suites run under any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def raises(*errors: type[BaseException]) -> Iterator[None]:
    """Fail unless the block raises one of these errors."""
    try:
        yield
    except errors:
        return
    raise AssertionError(f"nothing was raised instead of {' or '.join(error.__name__ for error in errors)}")


async def outcome(call: Awaitable[T]) -> T | BaseException:
    """Return what came of a call: its result or the error that it raised."""
    (ended,) = await asyncio.gather(call, return_exceptions=True)
    return ended
