"""Conversations for applications: every operation, and what a failing strategy does to none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from recollect.domain.conversation import ConversationQuery, ConversationSearch
from recollect.domain.job import JobQuery
from recollect.domain.message import Message, NewMessage
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import (
    ConflictError,
    ConversationNotFoundError,
    ErasedError,
    InvalidMessageError,
    MessageNotFoundError,
    StaleVersionError,
    StrategyError,
)
from recollect.ports.strategy import Work
from recollect.service.conversations import Conversations
from recollect.service.keeping import EXTRACT, TIDY, Keeper, KeeperOptions
from recollect.service.recollect import Recollect
from recollect.testing.clock import START, FakeClock, ids
from recollect.testing.samples import ALICE, BOB, append, ids_of, message


def said(first: int, last: int) -> list[NewMessage]:
    return [message(f"m{number}") for number in range(first, last + 1)]


async def queued(service: Recollect, scope: Scope = ALICE) -> list[tuple[str, str | None]]:
    jobs = await service.store.list_jobs(scope, JobQuery(state="queued"))
    return sorted((job.kind, job.conversation_id) for job in jobs if job.kind != EXTRACT)


async def run_jobs(service: Recollect) -> None:
    """Let a worker do every job that is due."""
    service.worker.start()
    while any(kind != "tidy" for kind, _ in await unfinished(service)):  # noqa: ASYNC110  # a job's end is only stored
        await asyncio.sleep(0.01)
    await service.worker.stop()


async def unfinished(service: Recollect) -> list[tuple[str, str | None]]:
    jobs = await service.store.list_jobs(ALICE, JobQuery())
    return [(job.kind, job.conversation_id) for job in jobs if job.state in ("queued", "running")]


# Messages


@pytest.mark.spec("S0.1")
async def test_messages_are_added_read_and_cleared(service: Recollect) -> None:
    talk = service.conversations
    added = await talk.add_messages(ALICE, "c1", said(1, 3))
    assert ids_of(added.messages) == ["m1", "m2", "m3"]
    assert ids_of((await talk.get_messages(ALICE, "c1", limit=2)).messages) == ["m2", "m3"]
    assert ids_of((await talk.get_messages(ALICE, "c1", before="m3", limit=1)).messages) == ["m2"]
    assert ids_of((await talk.get_messages(ALICE, "c1", after="m1")).messages) == ["m2", "m3"]
    receipt = await talk.clear_messages(ALICE, "c1")
    assert receipt.erased.messages == 3
    assert (await talk.get_messages(ALICE, "c1")).messages == ()


@pytest.mark.spec("S0.8")
async def test_clearing_nothing_is_not_found(service: Recollect) -> None:
    with pytest.raises(ConversationNotFoundError):
        await service.conversations.clear_messages(ALICE, "c1")
    await service.conversations.create(ALICE, conversation_id="c1")
    with pytest.raises(ConversationNotFoundError, match="nothing to clear"):
        await service.conversations.clear_messages(ALICE, "c1")


async def test_a_conversation_is_not_created_by_an_add_that_may_not(service: Recollect) -> None:
    with pytest.raises(ConversationNotFoundError):
        await service.conversations.add_messages(ALICE, "c1", said(1, 1), create=False)


@pytest.mark.spec("S0.7")
async def test_wrong_input_says_what_is_wrong_and_stores_nothing(service: Recollect) -> None:
    with pytest.raises(InvalidMessageError, match="parent_id names no message"):
        await service.conversations.add_messages(ALICE, "c1", [message("m1", parent_id="nobody")])
    with pytest.raises(ConversationNotFoundError):
        await service.conversations.get(ALICE, "c1")


@pytest.mark.spec("S0.2")
async def test_a_page_has_the_summaries_in_place(make: Callable[..., Recollect]) -> None:
    service = make(history__when="inline")
    await service.conversations.add_messages(ALICE, "c1", said(1, 11))
    page = await service.conversations.get_messages(ALICE, "c1")
    (summary,) = page.summaries
    assert ids_of(page.in_place()) == [
        "m1",
        "m2",
        "m3",
        "m4",
        "m5",
        summary.message_id,
        *[f"m{n}" for n in range(6, 12)],
    ]


@pytest.mark.spec("S0.4")
async def test_a_summary_message_leads_to_what_it_covers(make: Callable[..., Recollect]) -> None:
    service = make(history__when="inline")
    await service.conversations.add_messages(ALICE, "c1", said(1, 11))
    (shown,) = [m for m in (await service.conversations.get_messages(ALICE, "c1")).in_place() if m.role == "summary"]
    (stored,) = await service.store.expand_summary(ALICE, "c1", shown.metadata["summary_metadata_id"])
    assert (stored.message_id, stored.content) == (shown.id, shown.content)
    assert stored.message_ids == ("m1", "m2", "m3", "m4", "m5")
    assert (stored.start_at, stored.end_at) == (START, START)


@pytest.mark.spec("S0.5")
async def test_originals_are_deleted_only_if_the_settings_say_so(make: Callable[..., Recollect]) -> None:
    service = make(history__when="inline", history__delete_originals=True, memory__enabled=False)
    await service.conversations.add_messages(ALICE, "c1", said(1, 11))
    assert ids_of((await service.conversations.get_messages(ALICE, "c1")).messages) == [f"m{n}" for n in range(6, 12)]
    context = await service.conversations.get_context(ALICE, "c1")
    assert (len(context.summaries), ids_of(context.recent)) == (1, [f"m{n}" for n in range(6, 12)])


async def test_erasing_a_message_of_a_summary_has_the_rest_summarised_again(make: Callable[..., Recollect]) -> None:
    service = make()
    await service.conversations.add_messages(ALICE, "c1", said(1, 24))
    await run_jobs(service)
    covered = (await service.conversations.get_context(ALICE, "c1")).summaries[0].message_ids
    await service.conversations.erase_message(ALICE, "c1", covered[0])
    assert ("summarise", "c1") in await queued(service)
    await run_jobs(make())
    context = await service.conversations.get_context(ALICE, "c1")
    assert sum(summary.message_count for summary in context.summaries) + len(context.recent) == 23


# Archiving


async def test_a_batch_is_archived_once_however_often_it_comes(service: Recollect) -> None:
    first = await service.conversations.archive(ALICE, "c1", said(1, 3), batch_id="b1")
    again = await service.conversations.archive(ALICE, "c1", said(1, 3))
    overlap = await service.conversations.archive(ALICE, "c1", said(2, 5))
    assert first == again
    assert (first.archived, overlap.archived, overlap.duplicates) == (3, 2, 2)
    assert first.archived_at == START
    assert (await service.conversations.get_context(ALICE, "c1")).total == 5


async def test_a_long_batch_is_summarised_in_the_background(service: Recollect) -> None:
    await service.conversations.archive(ALICE, "c1", said(1, 30))
    assert ("summarise", "c1") in await queued(service)
    await run_jobs(service)
    context = await service.conversations.get_context(ALICE, "c1")
    assert (len(context.recent), context.total) == (6, 30)


# Strategies


class Watching:
    """A strategy that notes what it is told, and fails on request."""

    def __init__(self, error: Exception | None = None) -> None:
        self.told: list[tuple[str, int, int]] = []
        self.error = error

    def work(self, window: Window, added: int) -> tuple[Work, ...]:
        return ()

    async def post_add_messages_hook(self, scope: Scope, conversation_id: str, added: int, total: int) -> None:
        self.told.append((conversation_id, added, total))
        if self.error is not None:
            raise self.error

    def shown(self, window: Window) -> tuple[Message, ...]:
        return window.messages


def watched(service: Recollect, strategy: Watching, clock: FakeClock, *, propagate: bool = False) -> Conversations:
    make_id = ids("made")
    options = KeeperOptions(propagate_errors=propagate)
    keeper = Keeper(service.store, strategy, clock=clock, new_id=make_id.__next__, options=options)
    return Conversations(service.store, keeper, clock=clock, new_id=make_id.__next__)


@pytest.mark.spec("S0.3")
async def test_the_strategy_is_told_how_many_were_added_and_how_many_there_are(
    service: Recollect, clock: FakeClock
) -> None:
    strategy = Watching()
    talk = watched(service, strategy, clock)
    await talk.add_messages(ALICE, "c1", said(1, 2))
    await talk.add_messages(ALICE, "c1", said(2, 3))
    await talk.add_messages(ALICE, "c1", said(1, 3))
    await talk.archive(ALICE, "c1", said(3, 7))
    assert strategy.told == [("c1", 2, 2), ("c1", 1, 3), ("c1", 4, 7)]


@pytest.mark.spec("S0.6", "S0.9")
@pytest.mark.parametrize("error", [ValueError("bad"), ConflictError("bad")])
async def test_a_failing_strategy_is_logged_and_loses_nothing(
    service: Recollect, clock: FakeClock, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    await watched(service, Watching(error), clock).add_messages(ALICE, "c1", said(1, 2))
    assert "the strategy failed after 2 messages were added to c1" in caplog.text
    with pytest.raises(StrategyError, match="the messages are stored"):
        await watched(service, Watching(error), clock, propagate=True).add_messages(ALICE, "c1", said(3, 3))
    assert (await service.conversations.get(ALICE, "c1")).message_count == 3


async def test_the_job_is_queued_with_the_message_that_makes_it_necessary(service: Recollect) -> None:
    await service.conversations.add_messages(ALICE, "c1", said(1, 10))
    assert await queued(service) == [("tidy", None)]
    await service.conversations.add_messages(ALICE, "c1", said(11, 11))
    await service.conversations.add_messages(ALICE, "c1", said(12, 12))
    assert await queued(service) == [("summarise", "c1"), ("tidy", None)]


async def test_the_work_that_two_missed_is_queued_by_the_second(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", said(1, 9))
    seen = await service.store.get_window(ALICE, "c1")
    keeper_of = service.conversations._keeper
    await service.conversations.add_messages(ALICE, "c1", said(10, 10))
    assert [job.kind for job in keeper_of.jobs(seen, "c1", 1)] == [EXTRACT]
    appended = await service.store.append(ALICE, append("c1", "m11"))
    await keeper_of.added(ALICE, seen, appended)
    assert ("summarise", "c1") in await queued(service)


# Conversations


@pytest.mark.spec("S4.1")
async def test_conversations_are_created_listed_changed_and_deleted(service: Recollect, clock: FakeClock) -> None:
    talk = service.conversations
    made = await talk.create(ALICE, title="Mine", metadata={"k": 1})
    assert (made.title, made.title_source, made.metadata) == ("Mine", "user", {"k": 1})
    clock.advance(seconds=1)
    other = await talk.create(ALICE)
    assert ids_of((await talk.list(ALICE)).items) == [other.id, made.id]
    assert (await talk.current(ALICE)).id == other.id
    changed = await talk.update(ALICE, other.id, is_archived=True, title="Other")
    assert (changed.is_archived, changed.title, changed.version) == (True, "Other", 2)
    assert (await talk.current(ALICE)).id == made.id
    assert ids_of((await talk.list(ALICE, ConversationQuery(archived=True))).items) == [other.id]
    with pytest.raises(StaleVersionError):
        await talk.update(ALICE, other.id, title="Stale", expected_version=1)
    await talk.delete(ALICE, other.id)
    with pytest.raises(ConversationNotFoundError):
        await talk.get(ALICE, other.id)
    with pytest.raises(ErasedError):
        await talk.create(ALICE, conversation_id=other.id)


@pytest.mark.spec("S4.1")
async def test_conversations_are_found_by_title_and_by_what_was_said(service: Recollect, clock: FakeClock) -> None:
    talk = service.conversations
    await talk.add_messages(ALICE, "c1", [message("m1", "My cat sleeps all day")])
    clock.advance(seconds=1)
    await talk.create(ALICE, conversation_id="c2", title="Cat food")
    found = (await talk.search(ALICE, ConversationSearch(text="cat"))).items
    assert [(one.conversation.id, one.snippet) for one in found] == [("c2", None), ("c1", "My cat sleeps all day")]
    assert (await talk.search(BOB, ConversationSearch(text="cat"))).items == ()


async def test_the_current_conversation_is_created_if_there_is_none(service: Recollect) -> None:
    first = await service.conversations.current(ALICE)
    assert (await service.conversations.current(ALICE)).id == first.id
    assert (await service.conversations.current(BOB)).id != first.id


async def test_the_first_message_names_a_conversation_and_a_person_renames_it_for_good(service: Recollect) -> None:
    talk = service.conversations
    await talk.add_messages(ALICE, "c1", [message("m1", "Plan the garden")])
    assert (await talk.get(ALICE, "c1")).title == "Plan the garden"
    await talk.update(ALICE, "c1", title="Garden")
    await talk.add_messages(ALICE, "c1", [message("m2", "Something else")])
    assert (await talk.get(ALICE, "c1")).title == "Garden"


# Branches


async def test_an_edit_is_a_branch_and_what_was_said_stays(service: Recollect) -> None:
    talk = service.conversations
    await talk.add_messages(ALICE, "c1", said(1, 4))
    edited = (await talk.edit(ALICE, "c1", "m3", "What I meant")).messages[0]
    assert ids_of((await talk.get_messages(ALICE, "c1")).messages) == ["m1", "m2", edited.id]
    await talk.select(ALICE, "c1", "m4")
    assert ids_of((await talk.get_messages(ALICE, "c1")).messages) == ["m1", "m2", "m3", "m4"]
    with pytest.raises(MessageNotFoundError):
        await talk.edit(ALICE, "c1", "nothing", "words")
    with pytest.raises(MessageNotFoundError):
        await talk.select(ALICE, "c1", "nothing")


async def test_undo_goes_back_to_before_the_newest_question(service: Recollect) -> None:
    talk = service.conversations
    reply = message("m2", "An answer", role="assistant")
    await talk.add_messages(ALICE, "c1", [message("m1"), reply, message("m3"), message("m4", role="assistant")])
    assert (await talk.undo(ALICE, "c1")).head_id == "m2"
    assert (await talk.undo(ALICE, "c1")).head_id is None
    assert (await talk.get_context(ALICE, "c1")).recent == ()
    with pytest.raises(ConflictError, match="no user message"):
        await talk.undo(ALICE, "c1")
    await talk.add_messages(ALICE, "c1", [message("m5")])
    assert ids_of((await talk.get_context(ALICE, "c1")).recent) == ["m5"]
    await talk.select(ALICE, "c1", "m4")
    assert (await talk.get_context(ALICE, "c1")).total == 5


# The context


@pytest.mark.spec("S3.3")
@pytest.mark.parametrize(
    ("strategy", "summaries", "recent"), [("summarise", 1, 6), ("sliding", 0, 20), ("keep_all", 0, 25)]
)
async def test_the_strategy_decides_what_is_shown(
    make: Callable[..., Recollect], strategy: str, summaries: int, recent: int
) -> None:
    service = make(history__strategy=strategy, history__when="inline")
    await service.conversations.add_messages(ALICE, "c1", said(1, 25))
    context = await service.conversations.get_context(ALICE, "c1")
    assert (len(context.summaries), len(context.recent), context.total) == (summaries, recent, 25)


async def test_a_conversation_that_wakes_is_looked_after_again(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", said(1, 1))
    (tidy,) = [job for job in await service.store.list_jobs(ALICE, JobQuery()) if job.kind == TIDY]
    assert tidy.run_at == START + timedelta(hours=24)
