"""A conversation is kept short step by step, also when it is interrupted or others do the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.domain.conversation import ConversationChanges
from recollect.domain.job import NewJob
from recollect.domain.message import ToolCall
from recollect.domain.page import MessageQuery
from recollect.domain.summary import Summary
from recollect.domain.window import Backlog
from recollect.errors import ConflictError, ConversationNotFoundError, InvalidInputError, StorageUnavailableError
from recollect.history.extractive import AT_MOST
from recollect.history.generators import ExtractiveGenerator
from recollect.history.plan import PlanSettings
from recollect.ports.store import Store
from recollect.ports.strategy import Compacted, Work
from recollect.service.compaction import CompactionSettings
from recollect.settings import HistorySettings
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, append, claims, conversation, ids_of, message
from tests.support.compaction import Generator, add, compactor, open_store, told, verbatim


class Faulty:
    """A store that is interrupted at one of its calls, before or after the call did its work."""

    def __init__(self, store: Store, at: int, interrupt: Callable[[], Awaitable[None]], *, after: bool) -> None:
        self._store = store
        self._left = at
        self._interrupt = interrupt
        self._after = after
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def call(*given: Any, **named: Any) -> Any:
            self.calls.append(name)
            self._left -= 1
            if self._left == 0 and not self._after:
                await self._interrupt()
            result = await method(*given, **named)
            if self._left == 0 and self._after:
                await self._interrupt()
            return result

        return call


async def crash() -> None:
    raise StorageUnavailableError("pulled the plug")


async def cancel() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.fixture(params=["inmemory", "sqlite"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened = await open_store(request.param)
    yield opened
    await opened.close()


# What is due


async def test_nothing_happens_up_to_the_threshold_and_six_stay_after_it(store: Store) -> None:
    names = await add(store, 10)
    assert await compactor(store).compact(ALICE, "c1") == Compacted()
    names += await add(store, 1, first=11)
    done = await compactor(store).compact(ALICE, "c1")
    assert (done.summaries, done.folds, done.more) == (1, 0, False)
    assert await verbatim(store) == names[-6:]
    assert await told(store) == names
    (summary,) = await store.active_summaries(ALICE, "c1")
    assert (summary.content, summary.generator, summary.created_at) == ("They talked.", "test", START)
    assert (summary.start_at, summary.end_at, summary.message_ids) == (START, START, tuple(names[:5]))


async def test_the_settings_say_when_and_how_much(store: Store) -> None:
    settings = CompactionSettings.of(HistorySettings(threshold=4, keep_verbatim=2, delete_originals=True))
    names = await add(store, 5)
    done = await compactor(store, plan=settings.plan, delete_originals=settings.delete_originals).compact(ALICE, "c1")
    assert done.summaries == 1
    assert await verbatim(store) == names[-2:]
    page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
    assert ids_of(page.messages) == names[-2:]


async def test_originals_are_kept_unless_asked_for(store: Store) -> None:
    names = await add(store, 30)
    await compactor(store).compact(ALICE, "c1")
    page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
    assert ids_of(page.messages) == names


async def test_originals_of_a_branched_conversation_are_never_deleted(store: Store) -> None:
    names = await add(store, 12)
    await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, head_id="m11"))
    await store.append(ALICE, append("c1", "edited"))
    await compactor(store, delete_originals=True).compact(ALICE, "c1")
    assert await told(store) == [*names[:11], "edited"]
    for name in names:
        assert (await store.get_message(ALICE, "c1", name)).id == name


async def test_tool_calls_and_their_results_are_never_split(store: Store) -> None:
    for turn in range(12):
        calls = tuple(ToolCall(id=f"call{turn}-{number}", tool_name="search") for number in range(turn % 4))
        said = [message(f"u{turn}"), message(f"a{turn}", "" if calls else "ok", role="assistant", tool_calls=calls)]
        said += [message(f"t{turn}-{call.id}", role="tool", tool_call_id=call.id) for call in calls]
        await store.append(ALICE, append("c1", *said))
        await compactor(store).compact(ALICE, "c1")
    summaries = await store.active_summaries(ALICE, "c1")
    assert len(summaries) > 2
    for summary in summaries:
        for turn in range(12):
            results = [f"t{turn}-call{turn}-{number}" for number in range(turn % 4)]
            assert {one in summary.message_ids for one in results} <= {f"a{turn}" in summary.message_ids}


async def test_a_long_chain_of_tool_results_is_read_to_its_end(store: Store) -> None:
    calls = tuple(ToolCall(id=f"call{number}", tool_name="search") for number in range(100))
    said = [message("a", "", role="assistant", tool_calls=calls)]
    said += [message(f"t{number}", role="tool", tool_call_id=f"call{number}") for number in range(100)]
    said += [message(f"again{number}", role="tool", tool_call_id="call0") for number in range(60)]
    await store.append(ALICE, append("c1", *said, *[f"m{number}" for number in range(8)]))
    done = await compactor(store).compact(ALICE, "c1")
    assert done.summaries == 1
    assert await verbatim(store) == [f"m{number}" for number in range(8)]


async def test_a_missing_conversation_is_reported(store: Store) -> None:
    with pytest.raises(ConversationNotFoundError):
        await compactor(store).compact(ALICE, "nowhere")
    await store.create_conversation(ALICE, conversation())
    assert (await compactor(store).compact(ALICE, "c1")).summaries == 0


# Long conversations


async def test_a_long_conversation_becomes_a_bounded_context(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    total = count(5_000, 100_000)
    seen: list[Backlog] = []
    store = SqlStore(await SqliteDriver.open(tmp_path / "store.db"))
    names = await add(store, total)
    plan = PlanSettings()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def get_backlog(self, *given: Any) -> Backlog:
            seen.append(await store.get_backlog(*given))
            return seen[-1]

    patient = compactor(Watched(), ExtractiveGenerator(), steps=20)
    calls = 1
    while (done := await patient.compact(ALICE, "c1")).more:
        assert done.summaries + done.folds == 20
        calls += 1
    assert calls > total // plan.batch // 20
    assert max(len(backlog.messages) for backlog in seen) <= plan.threshold + 2 * plan.batch
    assert max(len(backlog.summaries) for backlog in seen) <= plan.most_summaries + 1
    window = await store.get_window(ALICE, "c1")
    assert ids_of(window.uncovered) == names[-6:]
    assert len(window.summaries) <= plan.most_summaries
    assert sum(len(summary.content) for summary in window.summaries) <= plan.most_summaries * AT_MOST
    assert await told(store) == names
    await store.close()


async def test_a_job_goes_on_until_all_is_done(store: Store) -> None:
    await add(store, 400)
    bounded = compactor(store, steps=3)
    rounds = 0
    await store.append(ALICE, append("c1", "last"))
    await store.enqueue_job(ALICE, first_job(), START)
    while claimed := await store.claim_jobs(claims(kinds=("summarise",))):
        for one in claimed:
            await bounded.summarise_job(one.scope, one.job)
            await store.complete_job(one.scope, one.claim, START)
            rounds += 1
    assert rounds == 3
    assert len(await verbatim(store)) == 6


async def test_a_slow_generator_ends_a_call_early_but_not_before_its_first_summary(store: Store) -> None:
    names = await add(store, 400)
    clock = FakeClock()

    async def slow() -> str:
        clock.advance(minutes=2)
        return "They talked."

    limited = compactor(store, Generator(slow), clock=clock, call_time=timedelta(minutes=3))
    assert await limited.compact(ALICE, "c1") == Compacted(summaries=2, more=True)
    hurried = compactor(store, Generator(slow), clock=clock, call_time=timedelta(0))
    assert await hurried.compact(ALICE, "c1") == Compacted(summaries=1, more=True)
    assert await told(store) == names


async def test_a_job_without_a_conversation_is_refused(store: Store) -> None:
    await store.enqueue_job(ALICE, msgspec.structs.replace(first_job(), conversation_id=None), START)
    (one,) = await store.claim_jobs(claims())
    with pytest.raises(InvalidInputError):
        await compactor(store).summarise_job(one.scope, one.job)


def first_job() -> NewJob:
    return Work(kind="summarise").job("c1", "job", START)


# Crashes and others


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("interrupt", [crash, cancel], ids=["crash", "cancel"])
@pytest.mark.parametrize("delete_originals", [False, True], ids=["kept", "deleted"])
async def test_an_interruption_at_any_step_leaves_each_message_told_once(
    store: Store, interrupt: Any, after: bool, delete_originals: bool
) -> None:
    plan = PlanSettings(threshold=4, keep_verbatim=2, batch=3, most_summaries=2, fold=2)
    options: dict[str, Any] = {"plan": plan, "delete_originals": delete_originals}
    names = await add(store, 24)
    interrupted = 0
    for at in range(1, 200):
        faulty = Faulty(store, at, interrupt, after=after)
        work = asyncio.create_task(compactor(faulty, Generator(f"Try {at}."), **options).compact(ALICE, "c1"))
        await asyncio.wait((work,))
        assert await told(store) == names
        if not work.cancelled() and work.exception() is None:
            break
        interrupted += 1
        names += await add(store, 3, first=len(names) + 1)
    assert interrupted > 8
    window = await store.get_window(ALICE, "c1")
    assert (len(window.uncovered), len(window.summaries)) == (2, 2)


async def test_a_cancelled_summary_stops_the_generator(store: Store) -> None:
    names = await add(store, 20)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
            return "They talked."
        finally:
            ended.set()

    work = asyncio.create_task(compactor(store, Generator(slow)).compact(ALICE, "c1"))
    await begun.wait()
    work.cancel()
    await asyncio.wait((work,))
    assert work.cancelled()
    assert ended.is_set()
    assert await verbatim(store) == names


@pytest.mark.parametrize("kind", ["inmemory", "sqlite", "postgres"])
async def test_two_workers_cover_no_message_twice(kind: str, request: pytest.FixtureRequest) -> None:
    store = await open_store(request.getfixturevalue("postgres_url") if kind == "postgres" else kind)
    names = await add(store, 300)
    met = asyncio.Barrier(2)
    left = 4

    async def together() -> str:
        nonlocal left
        if left:
            left -= 1
            await met.wait()
        return "They talked."

    workers = [compactor(store, Generator(together)) for _ in range(2)]
    done = await asyncio.gather(*(worker.compact(ALICE, "c1") for worker in workers), return_exceptions=True)
    # One may have come second so often that it left the rest to the other.
    assert sorted(type(one) is ConflictError for one in done) in ([False, False], [False, True])
    assert len(await verbatim(store)) == 6
    assert await told(store) == names
    await store.close()


class Contested:
    """A store in which others were faster, `conflicts` times before each summary that is stored."""

    def __init__(self, store: Store, conflicts: int) -> None:
        self._store = store
        self._conflicts = conflicts
        self.puts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def put_summary(self, *given: Any) -> Summary:
        self.puts += 1
        if self.puts % (self._conflicts + 1):
            raise ConflictError("summarised already")
        return await self._store.put_summary(*given)


async def test_a_conflict_is_planned_again(store: Store) -> None:
    names = await add(store, 300)
    contested = Contested(store, 2)
    assert await compactor(contested).compact(ALICE, "c1") == Compacted(summaries=6)
    assert contested.puts == 18
    assert await told(store) == names


async def test_whoever_only_meets_conflicts_leaves_it_to_the_others(store: Store) -> None:
    names = await add(store, 12)
    contested = Contested(store, 3)
    with pytest.raises(ConflictError):
        await compactor(contested).compact(ALICE, "c1")
    assert contested.puts == 3
    assert await verbatim(store) == names


async def test_messages_added_meanwhile_are_not_lost(store: Store) -> None:
    names = await add(store, 12)

    async def talk() -> str:
        names.extend(await add(store, 1, first=len(names) + 1))
        return "They talked."

    await compactor(store, Generator(talk)).compact(ALICE, "c1")
    assert await told(store) == names
