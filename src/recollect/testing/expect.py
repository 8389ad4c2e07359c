"""Expect errors without a test framework, so that the suites run under any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class Raises:
    """A block that must raise one of some errors."""

    def __init__(self, errors: tuple[type[BaseException], ...]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is None:
            names = " or ".join(expected.__name__ for expected in self._errors)
            raise AssertionError(f"nothing was raised instead of {names}")
        return issubclass(kind, self._errors)


def raises(*errors: type[BaseException]) -> Raises:
    """Fail unless the block raises one of these errors."""
    return Raises(errors)


async def outcome(call: Awaitable[T]) -> T | BaseException:
    """Return what came of a call: its result or the error that it raised."""
    (ended,) = await asyncio.gather(call, return_exceptions=True)
    return ended
