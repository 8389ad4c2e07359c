"""What the service needs to count what it does; the names are part of the product.

A name is one of a closed list, so that a misspelt one fails the type checker and not an operator.
What tells the same thing apart is a word of ours, such as a kind of job: never an id, and never anything that was said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

#: Attempts at extraction, those that succeeded and failed, memories that were saved, and those given for a question;
#: what was proposed and rejected, by reason; attempts of jobs, by kind and outcome; calls of the model, by outcome;
#: the tokens that it read and wrote; requests over HTTP, by route and status.
CounterName = Literal[
    "memory.extraction.count",
    "memory.extraction.success",
    "memory.extraction.errors",
    "memory.saved.count",
    "memory.retrieved.count",
    "memory.rejected.count",
    "recollect.job.attempts",
    "recollect.model.calls",
    "recollect.model.input_tokens",
    "recollect.model.output_tokens",
    "recollect.http.requests",
]
#: How long recalling, a call of the model, an attempt of a job, by kind, and a request over HTTP, by route, took.
TimerName = Literal[
    "recollect.recall.duration", "recollect.model.duration", "recollect.job.duration", "recollect.http.duration"
]
#: Whether the model's circuit is ready (0), half open (1) or open (2); jobs under way;
#: entries of the ledger that the store has not taken yet.
GaugeName = Literal["recollect.model.circuit", "recollect.job.running", "recollect.usage.unwritten"]


class Meter(Protocol):
    """Count; it never fails and never waits."""

    def add(
        self,
        name: CounterName,
        amount: int = 1,
        *,
        reason: str | None = None,
        kind: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """Let a counter grow; the words tell kinds of the same thing apart."""

    def observe(self, name: TimerName, seconds: float, *, kind: str | None = None) -> None:
        """Note how long something took."""

    def gauge(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Let a value be read whenever somebody looks; a second reader takes the place of the first."""


class NoMeter:
    """Count nothing."""

    def add(
        self,
        name: CounterName,
        amount: int = 1,
        *,
        reason: str | None = None,
        kind: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """Do nothing."""

    def observe(self, name: TimerName, seconds: float, *, kind: str | None = None) -> None:
        """Do nothing."""

    def gauge(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Do nothing."""


@contextmanager
def timed(meter: Meter, name: TimerName, *, kind: str | None = None) -> Iterator[None]:
    """Note how long the block takes, however it ends."""
    began = time.perf_counter()
    try:
        yield
    finally:
        meter.observe(name, time.perf_counter() - began, kind=kind)
