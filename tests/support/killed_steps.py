"""Count the steps of a process that keeps conversations short, and kill it at one of them.

A step is one statement of a transaction that writes, its commit, one read, or one call of a generator.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.ports.summary_generator import SummaryGenerator
from recollect.storage.driver import Driver, Transaction, Work

T = TypeVar("T")
Step = Callable[[str], None]


def say(text: str) -> None:
    """Write a line at once, so that a kill right after it loses nothing."""
    os.write(1, f"{text}\n".encode())


def die() -> None:
    """End this process as a power cut would: nothing is closed, given back or written."""
    os.kill(os.getpid(), signal.SIGKILL)


class Fuse:
    """Kill the process at a step, counted from one; 0 never does."""

    def __init__(self, at: int) -> None:
        self._left = at
        self._lock = threading.Lock()

    def step(self, name: str) -> None:
        """Say the name and die if this is the step."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                say(name)
                die()


class _Statements:
    """A transaction whose statements are steps."""

    def __init__(self, tx: Transaction, step: Step) -> None:
        self._tx = tx
        self._step = step
        self.salt = tx.salt

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)
        if name not in {"all", "one", "run", "insert"}:
            return method

        def call(query: str, /, **values: Any) -> Any:
            self._step(query)
            return method(query, **values)

        return call


class StepDriver:
    """A driver that counts what it does."""

    def __init__(self, driver: Driver, step: Step) -> None:
        self._driver = driver
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    async def read(self, scope: Scope, work: Work[T], *, quick: bool = False) -> T:
        """Count a read as one step."""
        self._step("a read")
        return await self._driver.read(scope, work, quick=quick)

    async def read_any(self, work: Work[T]) -> T:
        """Count a read as one step."""
        self._step("a read")
        return await self._driver.read_any(work)

    async def write(self, scope: Scope, work: Work[T]) -> T:
        """Count each statement and the commit."""
        return self._committed(await self._driver.write(scope, self._counted(work)))

    async def write_any(self, work: Work[T]) -> T:
        """Count each statement and the commit."""
        return self._committed(await self._driver.write_any(self._counted(work)))

    def _counted(self, work: Work[T]) -> Work[T]:
        def counted(tx: Transaction) -> T:
            statements: Any = _Statements(tx, self._step)
            done = work(statements)
            self._step("before the commit")
            return done

        return counted

    def _committed(self, done: T) -> T:
        self._step("after the commit")
        return done


class StepGenerator:
    """A generator whose calls are steps."""

    def __init__(self, inner: SummaryGenerator, step: Step) -> None:
        self._inner = inner
        self._step = step
        self.name = inner.name

    def is_available(self) -> bool:
        """Tell what the other says."""
        return self._inner.is_available()

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        """Count the call."""
        self._step("summarise")
        return await self._inner.summarise(messages, at_most=at_most)

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        """Count the call."""
        self._step("fold")
        return await self._inner.fold(summaries, at_most=at_most)
