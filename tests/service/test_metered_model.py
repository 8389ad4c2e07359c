"""A metered model: whatever becomes of a reply, over real HTTP, what it cost is on the bill."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import get_args

import pytest

from recollect.domain.turn import Usage
from recollect.domain.usage import Spent, UsageTotals
from recollect.errors import ProviderUnavailableError
from recollect.ports.chat_model import ChatModel, TextDelta
from recollect.providers.breaker import Breaker
from recollect.providers.choose import model_of
from recollect.providers.embeddings import HttpEmbedder, RemoteModel
from recollect.providers.metered import MeteredModel
from recollect.providers.transport import Transport
from recollect.service.ledger import Ledger
from recollect.storage.inmemory import InMemoryStore
from recollect.telemetry.prometheus import PrometheusMeter
from recollect.testing.clock import FakeClock, ids
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply, WireProtocol
from recollect.testing.models.conformance import asks
from recollect.testing.models.vectors import VECTOR_DIMENSIONS
from recollect.testing.samples import ALICE
from tests.support.ledgers import ONE, spent
from tests.support.model_limits import HURRIED, USUAL, choice

pytestmark = pytest.mark.spec("B13")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as started:
        yield started
    assert started.errors == []


@pytest.fixture
async def model(server: ScriptedModelServer) -> AsyncIterator[ChatModel]:
    metered = MeteredModel(model_of(choice("openai", server), USUAL))
    yield metered
    await metered.close()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(InMemoryStore(), clock=FakeClock(), new_id=ids("u").__next__)


@pytest.mark.parametrize("kind", get_args(WireProtocol))
@pytest.mark.parametrize("whole", [False, True])
async def test_what_the_server_counts_is_what_is_entered(
    kind: WireProtocol, whole: bool, ledger: Ledger, server: ScriptedModelServer
) -> None:
    # What Anthropic's stream read is told at its begin, before the script is.
    told = [Usage(input_tokens=7, output_tokens=number**2 + 1) for number in range(5)]
    model = MeteredModel(model_of(choice(kind, server), USUAL))
    server.script(*(ScriptedReply(usage=usage, whole=whole) for usage in told))
    async with ledger.bill(ALICE, kind="extract"):
        replies = [await model.complete(asks()) for _ in told]
    await model.close()
    total = (await ledger.totals(ALICE)).total
    assert [reply.usage for reply in replies] == told
    assert (total.input_tokens, total.output_tokens) == (35, sum(usage.output_tokens for usage in told))
    assert (total.calls, total.estimated) == (5, 0)


async def test_a_reply_that_is_cut_is_entered_as_far_as_it_came(
    ledger: Ledger, model: ChatModel, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(text=("one two three four",), fault=Fault.DISCONNECT))
    with pytest.raises(ProviderUnavailableError):
        async with ledger.bill(ALICE, kind="title"):
            await model.complete(asks("a question of some words", system="You name conversations."))
    total = (await ledger.totals(ALICE)).total
    assert (total.calls, total.estimated) == (1, 1)
    assert 5 <= total.input_tokens <= 40
    assert 4 <= total.output_tokens <= 20


async def test_a_reply_that_nobody_waited_for_is_entered_as_far_as_it_came(
    ledger: Ledger, model: ChatModel, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(fault=Fault.STALL))
    shown = asyncio.Event()

    async def work() -> None:
        async with ledger.bill(ALICE, kind="extract"), model.stream(asks()) as events:
            async for event in events:
                assert isinstance(event, TextDelta)
                shown.set()

    working = asyncio.create_task(work())
    await shown.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    total = (await ledger.totals(ALICE)).total
    assert (total.calls, total.estimated, total.output_tokens > 0) == (1, 1, True)


async def test_what_a_server_does_not_count_is_estimated(
    ledger: Ledger, model: ChatModel, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(usage=None), ScriptedReply())
    async with ledger.bill(ALICE, kind="extract"):
        await model.complete(asks())
        await model.complete(asks())
    total = (await ledger.totals(ALICE)).total
    assert (total.calls, total.estimated) == (2, 1)
    assert total.input_tokens > ONE.input_tokens
    assert total.output_tokens > ONE.output_tokens


async def test_a_call_that_never_began_costs_nothing(
    ledger: Ledger, model: ChatModel, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(fault=Fault.SERVER_ERROR))
    with pytest.raises(ProviderUnavailableError):
        async with ledger.bill(ALICE, kind="extract"):
            await model.complete(asks())
    assert await ledger.totals(ALICE) == UsageTotals()


async def test_each_model_of_a_piece_of_work_has_an_entry(ledger: Ledger, server: ScriptedModelServer) -> None:
    remote = RemoteModel(name="vectors", dimensions=VECTOR_DIMENSIONS, batch=2)
    embedder = HttpEmbedder(remote, Transport(f"{server.url}/v1", {}, HURRIED), HURRIED, Breaker("v", FakeClock()))
    model = MeteredModel(model_of(choice("openai", server), USUAL))
    async with ledger.bill(ALICE, kind="extract", job_id="j1"):
        await model.complete(asks())
        await embedder.embed(["tea", "coffee", "milk"])
    server.script(ScriptedReply(usage=None))
    async with ledger.bill(ALICE, kind="embed"):
        await embedder.embed(["tea with milk"])
    await embedder.close()
    await model.close()
    totals = await ledger.totals(ALICE)
    by_model = {share.name: share.spent for share in totals.by_model}
    assert by_model["small"] == spent(1)
    assert (by_model["vectors"].calls, by_model["vectors"].estimated, by_model["vectors"].output_tokens) == (3, 1, 0)
    assert totals.by_job[0].spent == Spent(input_tokens=21, output_tokens=3, calls=3)


async def test_a_call_on_no_bill_is_told(model: ChatModel, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await model.complete(asks("canary"))
    assert [record.getMessage() for record in caplog.records] == [
        "a call of small is on no bill: 7 tokens read, 3 written"
    ]


async def test_calls_are_counted_by_how_they_ended(server: ScriptedModelServer) -> None:
    meter = PrometheusMeter()
    model = MeteredModel(model_of(choice("openai", server), USUAL), meter)
    server.script(ScriptedReply(), ScriptedReply(fault=Fault.SERVER_ERROR), ScriptedReply(fault=Fault.STALL))
    await model.complete(asks())
    with pytest.raises(ProviderUnavailableError):
        await model.complete(asks())
    async with model.stream(asks()) as events:
        await anext(events)
    await model.close()
    shown = meter.render().decode()
    for outcome in ("done", "failed", "cancelled"):
        assert f'recollect_model_calls_total{{outcome="{outcome}"}} 1.0' in shown
    assert "recollect_model_duration_seconds_count 3.0" in shown
    assert "recollect_model_circuit 0.0" in shown
