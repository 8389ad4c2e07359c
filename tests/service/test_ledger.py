"""The cost ledger: every token that a model reads or writes is entered once, whatever becomes of the work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.job import Job
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Usage
from recollect.domain.usage import Spent, UsageQuery, UsageTotals
from recollect.errors import ErasedError, InvalidInputError, StorageUnavailableError
from recollect.ports.bill import Charge, charge, current_bill
from recollect.ports.chat_model import ChatModel
from recollect.ports.store import Store
from recollect.providers.choose import model_of
from recollect.providers.metered import MeteredModel
from recollect.service import ledger as ledgers
from recollect.service.ledger import Ledger
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.telemetry.prometheus import PrometheusMeter
from recollect.testing.clock import FakeClock, ids
from recollect.testing.models import ScriptedModelServer
from recollect.testing.models.conformance import asks
from recollect.testing.samples import ALICE, BOB, after, append, erasure, job, turn
from tests.support.ledgers import ONE, StubbornStore, spent
from tests.support.model_limits import USUAL, choice
from tests.support.worker_bench import Bench

pytestmark = pytest.mark.spec("B13")


def names(totals: UsageTotals) -> dict[str, list[str]]:
    """Return what is named by the totals."""
    return {
        part: [share.name for share in getattr(totals, part)]
        for part in ("by_kind", "by_model", "by_conversation", "by_job")
    }


@pytest.fixture(params=["inmemory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "inmemory":
        opened = InMemoryStore()
    elif request.param == "sqlite":
        opened = SqlStore(await SqliteDriver.open(tmp_path / "ledger.db"))
    else:
        opened = SqlStore(await PostgresDriver.open(request.getfixturevalue("postgres_url")))
    yield opened
    await opened.close()


@pytest.fixture
def ledger(store: Store) -> Ledger:
    return Ledger(store, clock=FakeClock(), new_id=ids("u").__next__)


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
def stubborn() -> StubbornStore:
    return StubbornStore()


@pytest.fixture
def patient(stubborn: StubbornStore) -> Ledger:
    return Ledger(stubborn, clock=FakeClock(), new_id=ids("u").__next__)


async def test_a_bill_enters_what_its_calls_cost(store: Store, ledger: Ledger, model: ChatModel) -> None:
    async with ledger.bill(ALICE, kind="summarise", conversation_id="c1", job_id="j1") as bill:
        for _ in range(3):
            await model.complete(asks())
        assert bill.spent("small") == Usage(input_tokens=21, output_tokens=9)
        assert await store.usage_totals(ALICE, UsageQuery()) == UsageTotals()
    totals = await ledger.totals(ALICE)
    assert totals.total == spent(3)
    assert names(totals) == {
        "by_kind": ["summarise"],
        "by_model": ["small"],
        "by_conversation": ["c1"],
        "by_job": ["j1"],
    }
    assert (await ledger.totals(ALICE, UsageQuery(until=after(0)))).total == Spent()
    assert (await ledger.totals(BOB)).total == Spent()


async def test_work_that_calls_no_model_enters_nothing(stubborn: StubbornStore, patient: Ledger) -> None:
    async with patient.bill(ALICE, kind="extract"):
        pass
    assert stubborn.asked == 0


async def test_bills_at_once_add_up_exactly(ledger: Ledger, model: ChatModel, count: Callable[[int, int], int]) -> None:
    bills = count(50, 500)

    async def work(number: int) -> int:
        scope, calls = (ALICE, BOB)[number % 2], 1 + number % 3
        place = {"conversation_id": f"c{number % 5}", "job_id": f"j{number}"}
        async with ledger.bill(scope, kind=("extract", "title")[number % 4 // 2], **place):
            await asyncio.gather(*(model.complete(asks(str(number))) for _ in range(calls)))
        return calls

    made = await asyncio.gather(*(work(number) for number in range(bills)))
    for first, scope in enumerate((ALICE, BOB)):
        totals = await ledger.totals(scope, UsageQuery(limit=1_000))
        mine = range(first, bills, 2)
        assert totals.total == spent(sum(made[number] for number in mine))
        assert {share.name: share.spent for share in totals.by_job} == {f"j{n}": spent(made[n]) for n in mine}
        for conversation in range(5):
            calls = sum(made[number] for number in mine if number % 5 == conversation)
            here = await ledger.totals(scope, UsageQuery(conversation_id=f"c{conversation}"))
            assert here.total == spent(calls)


async def test_work_that_fails_after_tokens_were_spent_is_entered_and_still_fails(
    patient: Ledger, model: ChatModel
) -> None:
    async def thrown_away(scope: Scope, given: Job) -> None:
        await model.complete(asks())
        raise ErasedError("what came of it cannot be kept")

    handler = patient.billed("extract", thrown_away)
    given = await InMemoryStore().enqueue_job(ALICE, job("j1", conversation_id="c1"), after(0))
    with pytest.raises(ErasedError):
        await handler(ALICE, given)
    totals = await patient.totals(ALICE)
    assert (totals.total, names(totals)["by_job"], names(totals)["by_conversation"]) == (spent(1), ["j1"], ["c1"])


async def test_the_attempts_of_a_job_add_up() -> None:
    bench = Bench()
    meter = PrometheusMeter()
    ledger = Ledger(bench.store, clock=bench.time.clock, new_id=ids("u").__next__)
    attempts: list[int] = []

    async def act(scope: Scope, given: Job) -> None:
        attempts.append(given.attempts)
        charge(current_bill(), "small", Charge(ONE))
        if given.attempts < 3:
            raise ConnectionError("what came of it cannot be sent")

    bench.acts = {"j1": ledger.billed("extract", act)}
    bench.worker = bench.hire(meter=meter)
    await bench.begin("j1", conversation_id="c1")
    while (await bench.job("j1")).state == "queued":
        await bench.time.advance(60)
    totals = await ledger.totals(ALICE)
    assert attempts == [1, 2, 3]
    assert (totals.total, totals.by_job[0].spent) == (spent(3), spent(3))
    shown = meter.render().decode()
    assert 'recollect_job_attempts_total{kind="extract",outcome="failed"} 2.0' in shown
    assert 'recollect_job_attempts_total{kind="extract",outcome="done"} 1.0' in shown
    assert 'recollect_job_duration_seconds_count{kind="extract"} 3.0' in shown
    assert "recollect_job_running 0.0" in shown
    await bench.close()


async def test_the_innermost_bill_pays(patient: Ledger, model: ChatModel) -> None:
    async with patient.bill(ALICE, kind="chat"):
        await model.complete(asks())
        async with patient.bill(BOB, kind="title"):
            await asyncio.create_task(model.complete(asks()))
        await model.complete(asks())
    assert current_bill() is None
    assert ((await patient.totals(ALICE)).total, (await patient.totals(BOB)).total) == (spent(2), spent(1))


async def test_a_call_that_outlives_its_bill_is_entered_by_itself(patient: Ledger) -> None:
    async with patient.bill(ALICE, kind="chat", conversation_id="c1") as bill:
        bill.add("small", Charge(ONE))
    for _ in range(2):
        bill.add("small", Charge(ONE))
    assert await patient.flush() == 0
    totals = await patient.totals(ALICE)
    assert (totals.total, totals.by_conversation[0].spent) == (spent(3), spent(3))


async def test_a_turn_and_its_bill_count_once(store: Store, ledger: Ledger, model: ChatModel) -> None:
    for turn_id, is_settled in (("t1", True), ("t2", False)):
        async with ledger.bill(ALICE, kind="chat", conversation_id="c1", turn_id=turn_id) as bill:
            await model.complete(asks())
            usage = bill.spent(model.name)
            assert usage == ONE
            record = turn(turn_id, append("c1", f"m-{turn_id}"), usage=usage, model=model.name)
            await store.record_turn(ALICE, record)
            if is_settled:
                bill.settle(model.name)
    totals = await ledger.totals(ALICE)
    assert (totals.total, names(totals)["by_kind"]) == (spent(2), ["chat"])


async def test_a_turn_that_cannot_be_kept_still_costs_what_it_cost(
    store: Store, ledger: Ledger, model: ChatModel
) -> None:
    await store.append(ALICE, append("c1", "m1"))
    await store.erase_conversation(ALICE, "c1", erasure())

    async def take_the_turn() -> None:
        async with ledger.bill(ALICE, kind="chat", conversation_id="c1", turn_id="t1"):
            await model.complete(asks())
            await store.record_turn(ALICE, turn("t1", append("c1", "m2"), usage=ONE, model=model.name))

    with pytest.raises(ErasedError):
        await take_the_turn()
    totals = await ledger.totals(ALICE)
    assert (totals.total, names(totals)["by_conversation"]) == (spent(1), [])


async def test_a_job_that_ends_after_its_conversation_was_erased_does_not_name_it(
    store: Store, ledger: Ledger, model: ChatModel
) -> None:
    await store.append(ALICE, append("c1", "m1"))
    async with ledger.bill(ALICE, kind="extract", conversation_id="c1", job_id="j1"):
        await model.complete(asks())
        await store.erase_conversation(ALICE, "c1", erasure())
    totals = await ledger.totals(ALICE)
    assert (totals.total, totals.by_conversation, totals.by_job) == (spent(1), (), ())


async def test_a_store_that_takes_no_entry_fails_no_work_and_gets_it_later(
    stubborn: StubbornStore, patient: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn.error = StorageUnavailableError("away")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            async with patient.bill(ALICE, kind="extract", conversation_id="secret place") as bill:
                bill.add("small", Charge(ONE))
    assert len(caplog.records) == 3
    assert "extract, small, 7 read, 3 written" in caplog.text
    assert "secret place" not in caplog.text
    assert await patient.flush() == 3
    assert await patient.totals(ALICE) == UsageTotals()
    stubborn.error = None
    async with patient.bill(BOB, kind="extract") as bill:
        bill.add("small", Charge(ONE))
    assert await patient.flush() == 0
    assert ((await patient.totals(ALICE)).total, (await patient.totals(BOB)).total) == (spent(3), spent(1))


async def test_what_waits_for_a_store_is_bounded_and_what_is_lost_is_told(
    stubborn: StubbornStore, patient: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledgers, "MAX_UNWRITTEN", 2)
    meter = PrometheusMeter()
    patient = Ledger(stubborn, clock=FakeClock(), new_id=ids("u").__next__, meter=meter)
    stubborn.error = StorageUnavailableError("away")
    for number in range(3):
        async with patient.bill(ALICE, kind="extract") as bill:
            bill.add(f"model-{number}", Charge(ONE))
    assert "recollect_usage_unwritten 2.0" in meter.render().decode()
    lost = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert ["model-0" in message for message in lost] == [True]
    stubborn.error = None
    assert await patient.flush() == 0
    assert names(await patient.totals(ALICE))["by_model"] == ["model-1", "model-2"]


@pytest.mark.parametrize("error", [InvalidInputError("refused"), RuntimeError("a defect")])
async def test_no_error_of_the_store_reaches_the_work(
    error: Exception, stubborn: StubbornStore, patient: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn.error = error
    async with patient.bill(ALICE, kind="extract") as bill:
        bill.add("small", Charge(ONE))
    assert await patient.flush() == 0
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_bill_is_entered_though_its_work_is_cancelled_while_it_is_written(
    stubborn: StubbornStore, patient: Ledger
) -> None:
    stubborn.gate.clear()

    async def work() -> None:
        async with patient.bill(ALICE, kind="extract") as bill:
            bill.add("small", Charge(ONE))

    working = asyncio.create_task(work())
    await stubborn.begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    stubborn.gate.set()
    assert await patient.flush() == 0
    assert (await patient.totals(ALICE)).total == spent(1)


async def test_a_kind_of_work_that_cannot_be_kept_is_refused_before_anything_is_spent(patient: Ledger) -> None:
    with pytest.raises(InvalidInputError):
        async with patient.bill(ALICE, kind=""):
            raise AssertionError("the work began")


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 500])
async def test_a_model_of_any_name_can_be_charged(name: str, patient: Ledger) -> None:
    async with patient.bill(ALICE, kind="extract") as bill:
        for _ in range(2):
            bill.add(name, Charge(Usage(input_tokens=2**62)))
        assert bill.spent(name) == Usage(input_tokens=2**62)
    totals = await patient.totals(ALICE)
    assert totals.total == Spent(input_tokens=2**62, calls=2)
    assert len(totals.by_model) == 1


async def test_what_the_ledger_holds_names_no_word_that_was_said(
    stubborn: StubbornStore, patient: Ledger, model: Any
) -> None:
    said = NewMessage(id="m1", role="user", content="canary", created_at=after(0))
    await stubborn.append(ALICE, append("c1", said))
    async with patient.bill(ALICE, kind="extract", conversation_id="c1"):
        await model.complete(asks("canary"))
    assert "canary" not in repr(await patient.totals(ALICE))
