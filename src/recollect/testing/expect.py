"""Expect errors without a test framework, so that the suites run under any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raises(*errors: type[BaseException]) -> Iterator[None]:
    """Fail unless the block raises one of these errors."""
    try:
        yield
    except errors:
        return
    raise AssertionError(f"nothing was raised instead of {' or '.join(error.__name__ for error in errors)}")
