"""Every protocol keeps the promises of a chat model, over real HTTP, whatever the server does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import time
import traceback
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, get_args

import msgspec
import pytest

from recollect.errors import (
    CircuitOpenError,
    ProviderError,
    ProviderOutputError,
    ProviderRejectedError,
    ProviderUnavailableError,
)
from recollect.ports.chat_model import ModelCounters, TextDelta
from recollect.providers.breaker import Breaker, BreakerLimits
from recollect.providers.choose import Choice, model_of
from recollect.providers.http_model import Chances, HttpChatModel
from recollect.providers.resilient import ResilientModel
from recollect.testing.clock import FakeClock
from recollect.testing.models import (
    ChatModelConformance,
    Fault,
    ModelRig,
    ScriptedModelServer,
    ScriptedReply,
    WireProtocol,
)
from recollect.testing.models.conformance import SECONDS, SLOW, asks
from tests.support.model_limits import HURRIED, KEY, USUAL, choice

SECRET_WORDS = "my own words"


@pytest.fixture(params=get_args(WireProtocol))
def kind(request: pytest.FixtureRequest) -> WireProtocol:
    chosen: WireProtocol = request.param
    return chosen


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as started:
        yield started
    assert started.errors == []


@pytest.fixture
async def rig(kind: WireProtocol, server: ScriptedModelServer) -> AsyncIterator[ModelRig]:
    chosen = choice(kind, server)
    given = ModelRig(server=server, model=model_of(chosen, USUAL), hurried=model_of(chosen, HURRIED))
    yield given
    await given.model.close()
    await given.hurried.close()


class TestChatModel(ChatModelConformance):
    """Run the public suite on all three protocols."""


class Waits:
    """Count the pauses between attempts instead of taking them."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def patient(
    kind: WireProtocol, server: ScriptedModelServer, clock: FakeClock, waits: Waits
) -> AsyncIterator[HttpChatModel]:
    """Give a model that tries three times and waits in no time."""
    limits = msgspec.structs.replace(USUAL, max_retries=2)
    model = model_of(choice(kind, server), limits, Chances(clock=clock, sleep=waits, draw=lambda: 0.5))
    yield model
    await model.close()


def faults(*kinds: Fault, **more: Any) -> list[ScriptedReply]:
    return [ScriptedReply(fault=fault, **more) for fault in kinds]


async def test_an_attempt_is_repeated_while_no_token_has_come(
    patient: HttpChatModel, server: ScriptedModelServer, waits: Waits
) -> None:
    for fault in (Fault.SERVER_ERROR, Fault.OVERLOADED, Fault.RATE_LIMITED, Fault.HANG_UP, Fault.ERROR_EVENT):
        server.seen.clear()
        server.script(*faults(fault, fault), ScriptedReply())
        assert (await patient.complete(asks())).text == "Hello, world"
        assert len(server.seen) == 3
    assert waits.seconds == [0.375, 0.75] * 5
    assert patient.state.counters == ModelCounters(calls=5, retries=10)


async def test_attempts_are_counted_and_end(patient: HttpChatModel, server: ScriptedModelServer, waits: Waits) -> None:
    server.script(*faults(*[Fault.OVERLOADED] * 9))
    with pytest.raises(ProviderUnavailableError, match="HTTP 503"):
        await patient.complete(asks())
    assert (len(server.seen), len(waits.seconds)) == (3, 2)
    assert patient.state.counters == ModelCounters(calls=1, failures=1, retries=2)


@pytest.mark.parametrize("fault", [Fault.DISCONNECT, Fault.CUT_SHORT])
async def test_nothing_is_repeated_after_the_first_token(
    fault: Fault, patient: HttpChatModel, server: ScriptedModelServer
) -> None:
    server.script(*faults(fault))
    async with patient.stream(asks()) as events:
        assert await anext(aiter(events)) == TextDelta("Hello")
        with pytest.raises(ProviderUnavailableError):
            await anext(aiter(events))
    assert len(server.seen) == 1


@pytest.mark.parametrize("fault", [Fault.REJECTED, Fault.UNAUTHORISED, Fault.REDIRECT, Fault.EMPTY, Fault.GARBAGE])
async def test_what_would_not_help_is_not_tried_again(
    fault: Fault, patient: HttpChatModel, server: ScriptedModelServer
) -> None:
    server.script(*faults(fault))
    with pytest.raises(ProviderError):
        await patient.complete(asks())
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3 * 1.05), ("0", 0), ("Thu, 01 Jan 2026 12:00:08 GMT", 8 * 1.05), ("-5", 0), ("soon", 0.375)],
)
async def test_the_provider_says_how_long_to_wait(
    header: str, seconds: float, patient: HttpChatModel, server: ScriptedModelServer, waits: Waits
) -> None:
    server.script(*faults(Fault.RATE_LIMITED, retry_after=header))
    assert (await patient.complete(asks("again"))).text == "again"
    assert waits.seconds == [pytest.approx(seconds)]
    assert patient.state.retry_at is None


async def test_a_wait_that_is_too_long_is_left_to_the_caller(
    patient: HttpChatModel, server: ScriptedModelServer, clock: FakeClock, waits: Waits
) -> None:
    server.script(*faults(Fault.RATE_LIMITED, retry_after="120"))
    with pytest.raises(ProviderUnavailableError, match="HTTP 429"):
        await patient.complete(asks())
    assert (len(server.seen), waits.seconds) == (1, [])
    assert patient.state.retry_at == clock() + timedelta(seconds=120)


async def test_a_late_first_token_is_waited_for(kind: WireProtocol, server: ScriptedModelServer) -> None:
    model = model_of(choice(kind, server), USUAL)
    server.script(ScriptedReply(delay=0.3))
    assert (await model.complete(asks())).text == "Hello, world"
    await model.close()


async def test_a_server_that_takes_no_connection_is_given_up(kind: WireProtocol) -> None:
    with socket.socket() as deaf, contextlib.ExitStack() as stack:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        # The queue of connections that nobody accepts is full after these.
        for _ in range(3):
            queued = stack.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        limits = msgspec.structs.replace(USUAL, connect=0.1)
        model = model_of(Choice(kind=kind, url=url, name="small", key=None), limits)
        with pytest.raises(ProviderUnavailableError, match="did not accept a connection in time"):
            await model.complete(asks())
        await model.close()


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        ("first_token", Fault.SILENT),
        ("first_token", Fault.LATE),
        ("first_token", Fault.DRIP),
        ("idle", Fault.STALL),
        ("total", Fault.SILENT),
        ("total", Fault.LATE),
        ("total", Fault.STALL),
        ("total", Fault.TRICKLE),
    ],
)
async def test_each_limit_of_time_holds_by_itself(
    limit: str, fault: Fault, kind: WireProtocol, server: ScriptedModelServer
) -> None:
    model = model_of(choice(kind, server), msgspec.structs.replace(USUAL, **{limit: 0.2}))
    server.script(*faults(fault))
    began = time.monotonic()
    with pytest.raises(ProviderUnavailableError, match="did not answer in time"):
        await model.complete(asks())
    assert time.monotonic() - began < SECONDS
    await model.close()


async def test_the_time_of_all_attempts_is_bounded(kind: WireProtocol, server: ScriptedModelServer) -> None:
    model = model_of(choice(kind, server), msgspec.structs.replace(USUAL, max_retries=10, total=0.5, first_token=0.1))
    server.script(*faults(*[Fault.SILENT] * 11))
    with pytest.raises(ProviderUnavailableError):
        await model.complete(asks())
    assert len(server.seen) < 5
    await model.close()


async def test_nothing_compressed_is_asked_for_or_unpacked(kind: WireProtocol, server: ScriptedModelServer) -> None:
    model = model_of(choice(kind, server), USUAL)
    server.script(*faults(Fault.COMPRESSED))
    with pytest.raises(ProviderOutputError, match="compressed"):
        await model.complete(asks())
    assert server.seen[0].headers["accept-encoding"] == "identity"
    await model.close()


async def test_a_redirect_takes_the_key_nowhere(kind: WireProtocol, server: ScriptedModelServer) -> None:
    model = model_of(choice(kind, server), USUAL)
    server.script(*faults(Fault.REDIRECT))
    with pytest.raises(ProviderRejectedError, match="redirects are not followed"):
        await model.complete(asks())
    assert len(server.seen) == 1
    await model.close()


async def test_the_key_is_sent_and_never_shown(
    kind: WireProtocol, server: ScriptedModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chosen = choice(kind, server)
    model, hurried = model_of(chosen, USUAL), model_of(chosen, HURRIED)
    shown = [repr(chosen), repr(model), str(model.state)]
    for fault in Fault:
        server.script(ScriptedReply(fault=fault, said=f"Bad key {KEY}: you said {SECRET_WORDS}"))
        try:
            await (hurried if fault in SLOW else model).complete(asks(SECRET_WORDS))
        except ProviderError:
            shown.append(traceback.format_exc())
    assert all(KEY in str(seen.headers) for seen in server.seen)
    shown += [record.getMessage() for record in caplog.records]
    assert not [text for text in shown if KEY in text or SECRET_WORDS in text]
    await model.close()
    await hurried.close()


async def test_a_connection_is_used_again(kind: WireProtocol, server: ScriptedModelServer) -> None:
    model = model_of(choice(kind, server), USUAL)
    for _ in range(10):
        await model.complete(asks())
    assert (len(server.seen), server.accepted) == (10, 1)
    await model.close()


async def test_a_storm_of_cancelled_calls_leaks_nothing_and_mixes_nothing(
    rig: ModelRig, count: Callable[[int, int], int], seed: int
) -> None:
    model, server = rig.model, rig.server
    asked = [f"question {number:06}" for number in range(count(1_000, 10_000))]
    server.script(*storm(random.Random(seed), len(asked)))
    foreign: list[str] = []
    begun = 0

    async def ask(text: str) -> None:
        nonlocal begun
        said = ""
        async with model.stream(asks(text)) as events:
            async for event in events:
                begun += not said
                said += event.text if isinstance(event, TextDelta) else ""
                if said not in {"", text}:
                    foreign.append(said)

    for start in range(0, len(asked), 50):
        tasks = [asyncio.create_task(ask(text)) for text in asked[start : start + 50]]
        # From before they begin until most have a token.
        for _ in range(start // 5 % 200):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
    server.script()
    replies = await asyncio.gather(*(model.complete(asks(text)) for text in asked[:100]))
    assert [reply.text for reply in replies] == asked[:100]
    assert foreign == []
    # Calls were cancelled at every stage: before the server saw them, before a token, and after one.
    assert begun < len(server.seen) - 100 < len(asked)
    assert begun > 0
    await model.close()
    await asyncio.wait_for(server.all_closed(), SECONDS)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def storm(chance: random.Random, size: int) -> list[ScriptedReply]:
    """Return replies that are the user's own words, some of them late or without an end."""
    kinds = [
        ScriptedReply(echo=True),
        ScriptedReply(echo=True, delay=0.01),
        *faults(Fault.SILENT, Fault.STALL, echo=True),
    ]
    return chance.choices(kinds, k=size)


async def test_an_open_circuit_takes_no_time_and_closes_again(kind: WireProtocol, server: ScriptedModelServer) -> None:
    clock = FakeClock()
    model = ResilientModel(model_of(choice(kind, server), USUAL), Breaker("small", clock, BreakerLimits(failures=3)))
    server.script(*faults(*[Fault.OVERLOADED] * 3))
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError):
            await model.complete(asks())
    assert (model.state.circuit, model.is_available()) == ("open", False)
    began = time.perf_counter()
    for _ in range(100):
        with pytest.raises(CircuitOpenError):
            await model.complete(asks())
    assert (time.perf_counter() - began) / 100 < 0.005
    assert len(server.seen) == 3
    clock.advance(seconds=30)
    assert (model.state.circuit, model.is_available()) == ("half_open", True)
    assert (await model.complete(asks("back?"))).text == "back?"
    assert (model.state.circuit, model.state.counters.refused) == ("ready", 100)
    await model.close()
