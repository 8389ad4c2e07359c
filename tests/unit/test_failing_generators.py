"""A generator that fails, lies or hangs changes nothing, and is waited for only as long as the prompt stays short."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import (
    CircuitOpenError,
    ConflictError,
    ProviderError,
    ProviderOutputError,
    ProviderUnavailableError,
)
from recollect.history.extractive import AT_MOST
from recollect.history.generators import ExtractiveGenerator
from recollect.history.plan import PlanSettings
from recollect.ports.store import Store
from recollect.testing.samples import ALICE, append, message
from tests.support.compaction import Generator, add, compactor, open_store, told, verbatim

SECRET = "the words of a person"


@pytest.fixture(params=["inmemory", "sqlite"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened = await open_store(request.param)
    yield opened
    await opened.close()


async def never() -> str:
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


async def deaf() -> str:
    """Go on although it is told to stop."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "too late"


async def gives_up() -> str:
    raise asyncio.CancelledError


BAD: dict[str, Any] = {
    "unavailable": ProviderUnavailableError("no"),
    "our other error": ConflictError("no"),
    "any error": ZeroDivisionError(SECRET),
    "blank": "  \n",
    "nothing": None,
    "bytes": b"text",
    "NUL": "a\0b",
    "surrogate": "\udc80",
    "enormous": SECRET * 100_000,
    "hangs": never,
    "deaf": deaf,
    "gives up": gives_up,
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD.keys())
async def test_a_bad_generator_changes_nothing_and_says_so(
    store: Store, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    names = await add(store, 20)
    before = await store.get_window(ALICE, "c1")
    lying = compactor(store, Generator(answer), time_limit=timedelta(milliseconds=20))
    with caplog.at_level(logging.INFO), pytest.raises(ProviderError) as caught:
        await lying.compact(ALICE, "c1")
    assert await store.get_window(ALICE, "c1") == before
    assert await told(store) == names
    assert SECRET not in str(caught.value)
    assert len(caplog.records) == 1
    assert SECRET not in caplog.text
    assert len(asyncio.all_tasks()) == 1
    assert (await compactor(store).compact(ALICE, "c1")).summaries == 1


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", None, 7])
async def test_a_generator_whose_name_cannot_be_kept_writes_nothing(store: Store, name: Any) -> None:
    await add(store, 20)
    with pytest.raises(ProviderOutputError):
        await compactor(store, Generator(name=name)).compact(ALICE, "c1")
    assert await store.active_summaries(ALICE, "c1") == ()


async def test_a_generator_that_is_not_available_is_not_called(store: Store) -> None:
    await add(store, 20)
    away = Generator()
    away.available = False
    with pytest.raises(CircuitOpenError):
        await compactor(store, away).compact(ALICE, "c1")
    assert away.asked == 0


async def test_a_long_summary_is_cut(store: Store) -> None:
    await store.append(ALICE, append("c1", *[message(f"m{at}", "A sentence of words. " * 50) for at in range(12)]))
    await compactor(store, Generator("A sentence of words. " * 90)).compact(ALICE, "c1")
    (summary,) = await store.active_summaries(ALICE, "c1")
    assert len(summary.content) <= AT_MOST
    assert summary.content.endswith("of words.")


async def test_a_failing_model_is_waited_for_until_too_much_waits(store: Store) -> None:
    plan = PlanSettings()
    model = Generator(ProviderUnavailableError("down"))
    both = compactor(store, model, ExtractiveGenerator())
    names = await add(store, plan.threshold + plan.batch)
    with pytest.raises(ProviderUnavailableError):
        await both.compact(ALICE, "c1")
    assert await verbatim(store) == names
    names += await add(store, 1, first=len(names) + 1)
    with pytest.raises(ProviderUnavailableError):
        await both.compact(ALICE, "c1")
    (summary,) = await store.active_summaries(ALICE, "c1")
    assert (summary.generator, summary.message_count) == ("extractive", plan.batch)
    assert len(await verbatim(store)) == plan.threshold + 1
    model.answer = "They talked."
    await both.compact(ALICE, "c1")
    assert [one.generator for one in await store.active_summaries(ALICE, "c1")] == ["extractive", "test"]
    assert await told(store) == names


async def test_the_context_stays_bounded_with_the_model_down_for_ever(store: Store) -> None:
    plan = PlanSettings(threshold=4, keep_verbatim=2, batch=5, most_summaries=3, fold=2)
    down = Generator(ProviderUnavailableError("down"))
    both = compactor(store, down, ExtractiveGenerator(), plan=plan)
    names: list[str] = []
    for _ in range(150):
        names += await add(store, 2, first=len(names) + 1)
        try:
            await both.compact(ALICE, "c1")
        except ProviderUnavailableError:
            window = await store.get_window(ALICE, "c1")
            assert len(window.uncovered) <= plan.threshold + plan.batch
            assert len(window.summaries) <= plan.most_summaries + 1
    assert await told(store) == names
    down.answer = "They talked."
    await both.compact(ALICE, "c1")
    window = await store.get_window(ALICE, "c1")
    assert (len(window.uncovered), len(window.summaries)) == (2, 3)
    assert await told(store) == names


async def test_without_a_fallback_everything_waits(store: Store) -> None:
    names = await add(store, 200)
    with pytest.raises(ProviderUnavailableError):
        await compactor(store, Generator(ProviderUnavailableError("down"))).compact(ALICE, "c1")
    assert await verbatim(store) == names


async def test_a_fallback_that_fails_too_changes_nothing(store: Store) -> None:
    names = await add(store, 200)
    with pytest.raises(ProviderOutputError):
        await compactor(store, Generator(ProviderUnavailableError("down")), Generator("")).compact(ALICE, "c1")
    assert await verbatim(store) == names
