"""A model behind a breaker: what counts as a failure, what does not, and what is shown of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import datetime, timedelta

import msgspec
import pytest

from recollect.errors import (
    CircuitOpenError,
    ProviderError,
    ProviderOutputError,
    ProviderRejectedError,
    ProviderUnavailableError,
)
from recollect.ports.chat_model import ChatModel, Finished, ModelEvent, ModelRequest, ModelState, TextDelta
from recollect.providers.breaker import Breaker, BreakerLimits
from recollect.providers.resilient import ResilientModel
from recollect.testing.clock import FakeClock
from recollect.testing.models.conformance import asks


class Puppet(ChatModel):
    """A model that does what the test says."""

    def __init__(self) -> None:
        self.fails: type[ProviderError] | None = None
        self.fails_late = False
        self.pause: datetime | None = None
        self.calls = 0
        self.begin, self.go_on = asyncio.Event(), asyncio.Event()
        self.begin.set()
        self.go_on.set()
        self.closed = False

    @property
    def name(self) -> str:
        return "puppet"

    @property
    def state(self) -> ModelState:
        return ModelState(retry_at=self.pause)

    def is_available(self) -> bool:
        return not self.closed

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events())

    async def _events(self) -> AsyncGenerator[ModelEvent, None]:
        self.calls += 1
        if self.fails and not self.fails_late:
            raise self.fails("as told")
        await self.begin.wait()
        yield TextDelta("yes")
        await self.go_on.wait()
        if self.fails:
            raise self.fails("as told")
        yield Finished("stop")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
def model(puppet: Puppet, clock: FakeClock) -> ResilientModel:
    return ResilientModel(puppet, Breaker("puppet", clock, BreakerLimits(failures=3)))


async def fail(model: ResilientModel, puppet: Puppet, error: type[ProviderError], times: int) -> None:
    puppet.fails = error
    for _ in range(times):
        with pytest.raises(error):
            await model.complete(asks())
    puppet.fails = None


@pytest.mark.parametrize("late", [False, True])
async def test_a_model_that_fails_is_not_called_and_comes_back(
    model: ResilientModel, puppet: Puppet, clock: FakeClock, late: bool
) -> None:
    puppet.fails_late = late
    await fail(model, puppet, ProviderUnavailableError, 3)
    assert model.state.circuit == "open"
    with pytest.raises(CircuitOpenError):
        await model.complete(asks())
    assert (puppet.calls, model.is_available()) == (3, False)
    clock.advance(seconds=30)
    assert (await model.complete(asks())).text == "yes"
    assert model.is_available()


@pytest.mark.parametrize("error", [ProviderRejectedError, ProviderOutputError])
async def test_a_model_that_answers_is_there_whatever_it_says(
    model: ResilientModel, puppet: Puppet, error: type[ProviderError]
) -> None:
    await fail(model, puppet, ProviderUnavailableError, 2)
    await fail(model, puppet, error, 10)
    await fail(model, puppet, ProviderUnavailableError, 2)
    assert model.is_available()
    assert model.state.last_error == "provider_unavailable"


async def test_one_call_at_a_time_tries_and_its_first_token_lets_others_in(
    model: ResilientModel, puppet: Puppet, clock: FakeClock
) -> None:
    await fail(model, puppet, ProviderUnavailableError, 3)
    clock.advance(seconds=30)
    puppet.go_on.clear()
    async with model.stream(asks()) as trying:
        circuits: list[str] = [model.state.circuit]
        assert await anext(aiter(trying)) == TextDelta("yes")
        assert [*circuits, model.state.circuit] == ["half_open", "ready"]
        puppet.go_on.set()
        assert (await model.complete(asks())).text == "yes"


async def test_of_a_crowd_one_tries(model: ResilientModel, puppet: Puppet, clock: FakeClock) -> None:
    await fail(model, puppet, ProviderUnavailableError, 3)
    clock.advance(seconds=30)
    puppet.fails = ProviderUnavailableError
    results = await asyncio.gather(*(model.complete(asks()) for _ in range(50)), return_exceptions=True)
    assert [type(result) for result in results].count(CircuitOpenError) == 49
    assert puppet.calls == 4


@pytest.mark.parametrize("answered", [False, True])
async def test_a_cancelled_call_counts_for_nothing(
    model: ResilientModel, puppet: Puppet, clock: FakeClock, answered: bool
) -> None:
    await fail(model, puppet, ProviderUnavailableError, 3)
    clock.advance(seconds=30)
    held = puppet.go_on if answered else puppet.begin
    held.clear()
    task = asyncio.create_task(model.complete(asks()))
    await asyncio.sleep(0)
    assert puppet.calls == 4
    task.cancel()
    await asyncio.wait([task])
    assert model.is_available()
    held.set()
    assert (await model.complete(asks())).text == "yes"


async def test_a_model_that_asks_for_a_pause_gets_it(model: ResilientModel, puppet: Puppet, clock: FakeClock) -> None:
    puppet.pause = clock() + timedelta(seconds=100)
    await fail(model, puppet, ProviderUnavailableError, 1)
    assert (model.state.circuit, model.state.retry_at) == ("open", puppet.pause)


async def test_the_state_says_what_happened(model: ResilientModel, puppet: Puppet) -> None:
    await model.complete(asks())
    await fail(model, puppet, ProviderUnavailableError, 3)
    with pytest.raises(CircuitOpenError):
        await model.complete(asks())
    counted = msgspec.structs.asdict(model.state.counters)
    assert counted == {"calls": 4, "failures": 3, "retries": 0, "refused": 1}
    assert (model.name, model.state.last_error) == ("puppet", "provider_unavailable")


async def test_closing_closes_the_model(model: ResilientModel, puppet: Puppet) -> None:
    await model.close()
    assert (puppet.closed, model.is_available()) == (True, False)
