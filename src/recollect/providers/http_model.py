"""A chat model behind HTTP: attempts, deadlines, retries and the account of them.

How a request is written and a reply is read is its dialect's; this file knows no protocol.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from recollect.domain.checks import MAX_CONTENT
from recollect.errors import ProviderError, ProviderOutputError, ProviderRejectedError, ProviderUnavailableError
from recollect.ports.chat_model import ChatModel, Finished, ModelCounters, ModelEvent, ModelRequest, ModelState
from recollect.ports.clock import Clock
from recollect.providers.assembly import Assembly
from recollect.providers.dialect import Dialect
from recollect.providers.sse import ServerEvent
from recollect.providers.transport import AttemptFailedError, Limits, RefusedError, Transport
from recollect.providers.waiting import backoff, retry_after

T = TypeVar("T")
_log = logging.getLogger(__name__)
#: The most characters per token, on the average of a reply; one that has more ignores the limit it was given.
_TOKEN_CHARACTERS = 64
#: How long a server that said why the model stopped may take to end the stream.
_END_GRACE = 2.0
#: How long to wait for the last bytes of a reply, so that its connection can be used again.
_DRAIN = 0.05


def _now() -> datetime:
    return datetime.now(UTC)


class Chances(msgspec.Struct, frozen=True, kw_only=True):
    """The time and the chance that a model depends on, for tests to decide."""

    clock: Clock = _now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    #: Draws a number in [0, 1).
    draw: Callable[[], float] = random.random


class HttpChatModel(ChatModel):
    """Speak a dialect to a server; used from one event loop."""

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        transport: Transport,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        chances: Chances = Chances(),  # noqa: B008  # frozen
    ) -> None:
        self._name = name
        self._dialect = dialect
        self._transport = transport
        self._limits = limits
        self._chances = chances
        self._state = ModelState()

    @property
    def name(self) -> str:
        """Tell the name of the model."""
        return self._name

    @property
    def state(self) -> ModelState:
        """Tell what happened so far; without a breaker the circuit is always ready."""
        return self._state

    def is_available(self) -> bool:
        """Tell that a call would be tried."""
        return True

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the events of the reply."""
        return aclosing(self._events(request))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self._count(calls=1)
        until = asyncio.get_running_loop().time() + self._limits.total
        attempt = 0
        try:
            while True:
                assembly = Assembly(min(MAX_CONTENT, _TOKEN_CHARACTERS * request.max_output_tokens))
                try:
                    async with aclosing(self._attempt(request, assembly, until)) as events:
                        async for event in events:
                            if isinstance(event, Finished):
                                self._state = msgspec.structs.replace(self._state, retry_at=None)
                            yield event
                    return
                except (AttemptFailedError, RefusedError) as exc:
                    problem = exc
                # Outside of the handler, so that the words of a refusal do not hang on what is raised.
                if isinstance(problem, RefusedError):
                    self._relent(request, problem)
                else:
                    await self._wait(problem, assembly, attempt, until)
                    attempt += 1
        except ProviderError as exc:
            self._count(failures=1)
            self._state = msgspec.structs.replace(self._state, last_error=exc.code)
            raise

    async def _attempt(
        self, request: ModelRequest, assembly: Assembly, until: float
    ) -> AsyncGenerator[ModelEvent, None]:
        first = min(until, asyncio.get_running_loop().time() + self._limits.first_token)
        reader = self._dialect.reader(request, assembly)
        async with AsyncExitStack() as stack:
            opened = self._transport.open(self._dialect.call(request))
            response = await _by(first, stack.enter_async_context(opened))
            if response.is_whole:
                reader.read_whole(await _by(first, response.whole()))
            else:
                events = await stack.enter_async_context(aclosing(response.events()))
                seen = False
                while not assembly.ended:
                    event = await self._next(events, assembly, first, until)
                    if event is None:
                        break
                    seen = True
                    reader.read(event)
                    for ready in assembly.take():
                        yield ready
                _check_end(assembly, seen)
                await _drain(events)
        for ready in assembly.close():
            yield ready

    async def _next(
        self, events: AsyncIterator[ServerEvent], assembly: Assembly, first: float, until: float
    ) -> ServerEvent | None:
        """Return the next event, or None at the end; a lost connection is an end too once the model was done."""
        now = asyncio.get_running_loop().time()
        done = assembly.reason is not None
        when = min(until, now + (_END_GRACE if done else self._limits.idle)) if done or assembly.begun else first
        try:
            return await _by(when, anext(events, None))
        except AttemptFailedError:
            if done:
                return None
            raise

    def _relent(self, request: ModelRequest, refused: RefusedError) -> None:
        if not self._dialect.relent(request, refused.status, refused.said):
            hint = "check model.name, model.url and the key"
            raise ProviderRejectedError(f"{self._name}: {refused}; {hint}", status=refused.status)

    async def _wait(self, failure: AttemptFailedError, assembly: Assembly, attempt: int, until: float) -> None:
        """Wait before the next attempt, or raise if there is none."""
        now = self._chances.clock()
        asked = retry_after(failure.retry_after, now)
        if asked is not None:
            self._state = msgspec.structs.replace(self._state, retry_at=now + timedelta(seconds=asked))
        chance = self._chances.draw()
        seconds = backoff(attempt, chance) if asked is None else asked * (1 + chance / 10)
        left = until - asyncio.get_running_loop().time()
        over = attempt >= self._limits.max_retries or (asked or 0) > self._limits.max_wait or seconds >= left
        if assembly.begun or over:
            raise ProviderUnavailableError(f"{self._name}: {failure}") from failure
        self._count(retries=1)
        _log.info("%s: %s; trying again in %.1f s", self._name, failure, seconds)
        await self._chances.sleep(seconds)

    def _count(self, **more: int) -> None:
        counted = msgspec.structs.asdict(self._state.counters)
        counters = ModelCounters(**{name: value + more.get(name, 0) for name, value in counted.items()})
        self._state = msgspec.structs.replace(self._state, counters=counters)


async def _by(when: float, awaited: Awaitable[T]) -> T:
    """Wait for something until a time of the event loop."""
    try:
        async with asyncio.timeout_at(when):
            return await awaited
    except TimeoutError:
        raise AttemptFailedError("it did not answer in time") from None


def _check_end(assembly: Assembly, seen: bool) -> None:
    if assembly.ended or assembly.reason is not None:
        return
    if not seen:
        raise ProviderOutputError("the answer is no reply of the expected protocol; check model.url and model.kind")
    raise AttemptFailedError("the reply ended early")


async def _drain(events: AsyncIterator[ServerEvent]) -> None:
    """Read to the end of a finished reply if that takes no time; else its connection is closed."""
    try:
        async with asyncio.timeout(_DRAIN):
            await anext(events, None)
    except (TimeoutError, AttemptFailedError, ProviderOutputError):
        return
