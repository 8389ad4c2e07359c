"""A chat model that is not called while it keeps failing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing

import msgspec

from recollect.errors import CircuitOpenError, ProviderError, ProviderUnavailableError
from recollect.ports.chat_model import ChatModel, Finished, ModelCounters, ModelEvent, ModelRequest, ModelState
from recollect.providers.breaker import Breaker, Permit


class ResilientModel(ChatModel):
    """Put a breaker before any chat model.

    Only `ProviderUnavailableError` is a failure of the provider: one that refuses a request or writes nonsense
    is there, and one user's odd request must not take the model from all others.
    A cancelled call counts for nothing.
    """

    def __init__(self, inner: ChatModel, breaker: Breaker) -> None:
        self._inner = inner
        self._breaker = breaker
        self._calls = 0
        self._failures = 0
        self._refused = 0
        self._last_error: str | None = None

    @property
    def name(self) -> str:
        """Tell the name of the model."""
        return self._inner.name

    @property
    def state(self) -> ModelState:
        """Tell the state of the circuit and what happened so far."""
        inner = self._inner.state
        counters = ModelCounters(
            calls=self._calls, failures=self._failures, retries=inner.counters.retries, refused=self._refused
        )
        return msgspec.structs.replace(
            inner,
            circuit=self._breaker.circuit,
            since=self._breaker.since,
            retry_at=self._breaker.retry_at or inner.retry_at,
            last_error=self._last_error,
            counters=counters,
        )

    def is_available(self) -> bool:
        """Tell whether a call would go."""
        return self._breaker.allows() and self._inner.is_available()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the events of the reply, or raise `CircuitOpenError` at the first."""
        return aclosing(self._events(request))

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        permit = self._enter()
        try:
            async with self._inner.stream(request) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._breaker.succeeded(permit)
                    else:
                        self._breaker.answered(permit)
                    yield event
        except ProviderUnavailableError as exc:
            self._note(exc)
            self._breaker.failed(permit, self._inner.state.retry_at)
            raise
        except ProviderError as exc:
            self._note(exc)
            self._breaker.succeeded(permit)
            raise
        finally:
            self._breaker.abandoned(permit)

    def _enter(self) -> Permit:
        try:
            permit = self._breaker.enter()
        except CircuitOpenError:
            self._refused += 1
            raise
        self._calls += 1
        return permit

    def _note(self, error: ProviderError) -> None:
        self._failures += 1
        self._last_error = error.code
