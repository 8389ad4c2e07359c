"""Strategies name the work that messages make necessary and choose what stands in the prompt."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.domain.job import Job, JobQuery
from recollect.domain.message import NewMessage, ToolCall
from recollect.domain.window import Window
from recollect.errors import InvalidInputError, ProviderUnavailableError, SettingsError
from recollect.history.generators import ExtractiveGenerator, Generators
from recollect.history.strategies import open_strategy
from recollect.ports.store import Store
from recollect.ports.strategy import Compacted, Strategy, StrategyParts, Work
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.settings import HistorySettings
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.clock import START, FakeClock, ids
from recollect.testing.samples import ALICE, append, ids_of, message
from tests.meta.source_tree import ROOT
from tests.support.compaction import open_store

SUMMARISE = Work(kind="summarise")


@pytest.fixture(params=["inmemory", "sqlite"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened = await open_store(request.param)
    yield opened
    await opened.close()


def parts(store: Store, *, window_size: int = 20, steps: int = 50, **settings: Any) -> StrategyParts:
    history = HistorySettings(**settings)
    numbers = ids("new")
    compaction = Compactor(
        store,
        Generators(first=ExtractiveGenerator()),
        msgspec.structs.replace(CompactionSettings.of(history), steps=steps),
        clock=FakeClock(),
        new_id=lambda: next(numbers),
    )
    return StrategyParts(
        store=store,
        compaction=compaction,
        settings=history,
        clock=FakeClock(),
        new_id=lambda: next(numbers),
        window_size=window_size,
    )


async def add(store: Store, *messages: str | NewMessage) -> Window:
    await store.append(ALICE, append("c1", *messages))
    return await store.get_window(ALICE, "c1")


async def add_and_tell(strategy: Strategy, store: Store, *messages: str | NewMessage) -> Window:
    window = await add(store, *messages)
    await strategy.post_add_messages_hook(ALICE, "c1", len(messages), window.conversation.message_count)
    return await store.get_window(ALICE, "c1")


async def queued(store: Store) -> tuple[Job, ...]:
    return await store.list_jobs(ALICE, JobQuery(state="queued"))


def numbered(count: int, first: int = 1) -> list[str]:
    return [f"m{number}" for number in range(first, first + count)]


# Summarise


async def test_work_is_named_once_more_messages_than_the_threshold_are_not_covered(store: Store) -> None:
    strategy = open_strategy(parts(store))
    window = await add(store, *numbered(8))
    assert strategy.work(window, 2) == ()
    assert strategy.work(window, 3) == (SUMMARISE,)
    own = open_strategy(parts(store, threshold=20, keep_verbatim=3))
    assert own.work(window, 12) == ()
    assert own.work(window, 13) == (SUMMARISE,)


async def test_messages_under_a_summary_do_not_count(store: Store) -> None:
    given = parts(store)
    strategy = open_strategy(given)
    await add(store, *numbered(11))
    await given.compaction.compact(ALICE, "c1")
    window = await store.get_window(ALICE, "c1")
    assert strategy.work(window, 4) == ()
    assert strategy.work(window, 5) == (SUMMARISE,)
    assert ids_of(strategy.shown(window)) == numbered(6, first=6)


async def test_in_the_background_the_hook_does_nothing(store: Store) -> None:
    strategy = open_strategy(parts(store))
    window = await add_and_tell(strategy, store, *numbered(30))
    assert window.summaries == ()
    assert await queued(store) == ()


async def test_inline_the_summary_is_there_when_the_hook_returns(store: Store) -> None:
    strategy = open_strategy(parts(store, when="inline"))
    window = await add_and_tell(strategy, store, *numbered(11))
    assert strategy.work(window, 100) == ()
    assert len(window.summaries) == 1
    assert ids_of(strategy.shown(window)) == numbered(6, first=6)
    assert await queued(store) == ()


async def test_inline_a_job_does_what_is_too_much_for_one_call(store: Store) -> None:
    strategy = open_strategy(parts(store, when="inline", steps=2))
    window = await add_and_tell(strategy, store, *numbered(300))
    assert len(window.summaries) == 2
    assert [job.kind for job in await queued(store)] == ["summarise"]


async def test_what_fails_inline_is_raised_and_loses_nothing(store: Store) -> None:
    class Down:
        async def compact(self, scope: Any, conversation_id: str) -> Compacted:
            raise ProviderUnavailableError("down")

    strategy = open_strategy(msgspec.structs.replace(parts(store, when="inline"), compaction=Down()))
    with pytest.raises(ProviderUnavailableError):
        await add_and_tell(strategy, store, *numbered(11))
    assert ids_of(strategy.shown(await store.get_window(ALICE, "c1"))) == numbered(11)


@pytest.mark.parametrize("kind", ["", "x" * 101, "a\nb", None])
def test_work_is_of_a_kind_that_fits_a_key(kind: Any) -> None:
    with pytest.raises(InvalidInputError):
        Work(kind=kind)
    assert Work(kind="x" * 100).job("c" * 128, "job", START).key == f"{'x' * 100}:{'c' * 128}"


# Sliding and keep_all


@pytest.mark.parametrize("name", ["sliding", "keep_all"])
async def test_the_others_summarise_nothing(store: Store, name: str) -> None:
    strategy = open_strategy(parts(store, strategy=name))
    window = await add_and_tell(strategy, store, *numbered(100))
    assert strategy.work(window, 100) == ()
    assert await queued(store) == ()
    assert window.summaries == ()
    shown = numbered(20, first=81) if name == "sliding" else numbered(100)
    assert ids_of(strategy.shown(window)) == shown


@pytest.mark.parametrize("name", ["sliding", "keep_all"])
async def test_what_an_earlier_summary_covers_is_not_told_twice(store: Store, name: str) -> None:
    given = parts(store, strategy=name)
    await add(store, *numbered(30))
    await given.compaction.compact(ALICE, "c1")
    assert ids_of(open_strategy(given).shown(await store.get_window(ALICE, "c1"))) == numbered(6, first=25)


async def test_a_result_leaves_the_window_with_its_call(store: Store) -> None:
    calls = tuple(ToolCall(id=name, tool_name="search") for name in ("one", "two"))
    window = await add(
        store,
        "m1",
        message("call", "", role="assistant", tool_calls=calls),
        message("first", role="tool", tool_call_id="one"),
        message("second", role="tool", tool_call_id="two"),
        "m2",
    )
    for size, shown in [(4, ["call", "first", "second", "m2"]), (3, ["m2"]), (2, ["m2"]), (1, ["m2"])]:
        strategy = open_strategy(parts(store, strategy="sliding", window_size=size))
        assert ids_of(strategy.shown(window)) == shown


# Others


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the package that the documentation shows."""
    page = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    registered = re.findall(r'\[project\.entry-points\."(.+)"\]\n(.*?)```', page, re.DOTALL)
    ((group, line),) = registered
    (tmp_path / "my_strategies.py").write_text(code)
    metadata = tmp_path / "my_strategies-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-strategies\nVersion: 1.0\n")
    points = f"[{group}]\n{line.replace(chr(34), '')}broken = my_strategies:Nothing\ngone = no_such_package:It\n"
    points += "summarise = my_strategies:UserOnly\n"
    (metadata / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_strategies", None)


@pytest.mark.usefixtures("installed")
async def test_a_package_registers_a_strategy_as_the_documentation_shows(store: Store) -> None:
    strategy = open_strategy(parts(store, strategy="user_only", window_size=3))
    said = [message(f"m{at}", role="user" if at % 2 else "assistant") for at in range(1, 13)]
    window = await add_and_tell(strategy, store, *said)
    assert type(strategy).__name__ == "UserOnly"
    assert strategy.work(window, 100) == ()
    assert ids_of(strategy.shown(window)) == ["m7", "m9", "m11"]
    assert window.summaries == ()


@pytest.mark.usefixtures("installed")
def test_an_unknown_strategy_names_the_known_ones_and_how_to_register() -> None:
    with pytest.raises(SettingsError) as caught:
        open_strategy(parts(InMemoryStore(), strategy="magic"))
    for word in ("magic", "broken, gone, keep_all, sliding, summarise, user_only", "recollect.strategies"):
        assert word in str(caught.value)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["broken", "gone"])
def test_a_strategy_that_cannot_be_imported_is_a_wrong_setting(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        open_strategy(parts(InMemoryStore(), strategy=name))


@pytest.mark.usefixtures("installed")
def test_nobody_takes_the_name_of_a_strategy_of_ours() -> None:
    assert type(open_strategy(parts(InMemoryStore()))).__name__ == "SummariseStrategy"
