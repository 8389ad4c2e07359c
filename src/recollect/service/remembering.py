"""Trace what is done to memories, under the names that OpenTelemetry has for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from recollect.domain.memory import Memory
from recollect.ports.tracer import RECORD, RECORDS, Span, operation
from recollect.service.means import Means

Remembering = Literal["create_memory", "update_memory", "delete_memory"]


class _Able(Protocol):
    @property
    def _means(self) -> Means: ...


A = TypeVar("A", bound=_Able)
P = ParamSpec("P")
T = TypeVar("T")


def remembering(
    name: Remembering,
) -> Callable[[Callable[Concatenate[A, P], Awaitable[T]]], Callable[Concatenate[A, P], Coroutine[Any, Any, T]]]:
    """Trace a use case that returns the memories it concerned."""

    def traced(
        act: Callable[Concatenate[A, P], Awaitable[T]],
    ) -> Callable[Concatenate[A, P], Coroutine[Any, Any, T]]:
        @wraps(act)
        async def acting(self: A, /, *given: P.args, **named: P.kwargs) -> T:
            with operation(self._means.tracer, name) as span:
                done = await act(self, *given, **named)
                _tell(span, done)
                return done

        return acting

    return traced


def _tell(span: Span, done: object) -> None:
    """Name what was found; an id that somebody only asked for may be any text."""
    if isinstance(done, Memory):
        span.set(RECORD, done.id)
    span.set(RECORDS, len(done) if isinstance(done, tuple) else 1)
