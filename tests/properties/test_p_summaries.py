"""Summaries come when they are due and cover every message once: P3, P4, P7, P22, P24."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import strategies as st

from recollect.bootstrap import assemble
from recollect.domain.message import Message
from recollect.errors import ConflictError, InvalidMessageError, NotFoundError, ProviderOutputError
from recollect.history.extractive import AT_MOST
from recollect.history.plan import PlanSettings
from recollect.service.chat_request import ChatRequest
from recollect.settings import HistorySettings, Settings
from recollect.storage.store import SqlStore
from recollect.testing.samples import ids_of
from tests.support.compaction import Generator
from tests.support.drawn_messages import BAD_ANSWERS, Said, Speaker, by_place, fickle, histories, talks, waits_for
from tests.support.head_path import HeadPath
from tests.support.service_rig import C, Options, Place, Rig

# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")


def kept_after(uncovered: int, history: HistorySettings) -> int:
    """Return how many messages stay word for word, none of which calls a tool."""
    return history.keep_verbatim if uncovered > history.threshold else uncovered


@pytest.mark.spec("P3")
def test_p03_a_summary_is_written_once_there_are_more_messages_than_the_threshold(place: Place) -> None:
    async def example(drawn: tuple[HistorySettings, list[Any]]) -> None:
        history, pieces = drawn
        rig = place.rig(Options(history=history))
        speaker = Speaker()
        verbatim = total = 0
        for talk in pieces:
            messages = speaker.messages(talk)
            await rig.add(messages)
            total += len(messages)
            expected = kept_after(verbatim + len(messages), history)
            is_due = expected < verbatim + len(messages)
            verbatim = expected
            context = await rig.conversations.get_context(rig.scope, C)
            assert (len(context.recent), context.total) == (verbatim, total)
            assert sum(one.message_count for one in context.summaries) == total - verbatim
            assert not is_due or context.summaries[-1].last_seq == total - verbatim

    pieces = st.lists(talks(most=14, tools=False), min_size=1, max_size=4)
    place.check(example, st.tuples(histories(), pieces))


@pytest.mark.spec("P4")
def test_p04_the_newest_messages_stay_word_for_word(place: Place) -> None:
    async def example(drawn: tuple[HistorySettings, list[Any]]) -> None:
        history, pieces = drawn
        rig = place.rig(Options(history=history))
        speaker = Speaker()
        given: list[Any] = []
        summaries: tuple[Any, ...] = ()
        for talk in pieces:
            given += speaker.messages(talk)
            await rig.add(tuple(given[-sum(1 + one.answered for one in talk) :]))
            context = await rig.conversations.get_context(rig.scope, C)
            path = await rig.all_messages()
            assert len(context.recent) >= min(history.keep_verbatim, len(path))
            assert context.recent == path[-len(context.recent) :]
            assert [one.content for one in path] == [one.content for one in given]
            if context.summaries != summaries:
                check_only_pairs_are_added(path, len(context.recent), history)
            summaries = context.summaries

    place.check(example, st.tuples(histories(), st.lists(talks(most=10), min_size=1, max_size=4)))


def check_only_pairs_are_added(path: tuple[Message, ...], verbatim: int, history: HistorySettings) -> None:
    """Prove that no summary could have gone further without parting a call from its results."""
    start = len(path) - verbatim
    for cut in range(start + 1, len(path) - history.keep_verbatim + 1):
        assert waits_for(path[start:], cut - start, history.threshold)


@pytest.mark.spec("P7")
def test_p07_a_stored_summary_is_a_text_that_says_something_and_tells_what_it_covers(place: Place) -> None:
    async def example(drawn: tuple[Any, Any, int]) -> None:
        talk, answer, at_most = drawn
        rig = place.rig(Options(compaction={"at_most": at_most}), generators=(Generator(answer),))
        given = Speaker().messages(talk)
        await rig.conversations.add_messages(rig.scope, C, given)
        try:
            await rig.compactor.compact(rig.scope, C)
        except ProviderOutputError:
            assert await rig.store.active_summaries(rig.scope, C) == ()
            return
        stored = await rig.all_messages()
        for summary in await rig.store.active_summaries(rig.scope, C):
            assert type(summary.content) is str
            assert 1 <= len(summary.content) <= at_most
            assert summary.content == summary.content.strip()
            assert summary.content.strip()[:10] in answer
            assert "\0" not in summary.content
            assert summary.content.encode().decode() == summary.content
            covered = [one for one in stored if one.id in summary.message_ids]
            assert tuple(ids_of(covered)) == summary.message_ids
            assert [after.seq - before.seq for before, after in pairwise(covered)] == [1] * (len(covered) - 1)
            assert summary.message_count == len(covered)
            assert summary.start_at == min(one.created_at for one in covered)
            assert summary.end_at == max(one.created_at for one in covered)
            assert (summary.generator, summary.last_message_id) == ("test", covered[-1].id)
            page = await rig.conversations.get_messages(rig.scope, C, limit=1000)
            assert page.summaries == (summary,)

    talk = talks(least=11, most=25, tools=False)
    known = by_place([one for one in BAD_ANSWERS if isinstance(one, str | bytes | None)])
    answers = st.text(max_size=300) | st.text(st.characters(), max_size=50) | known | st.binary(max_size=5)
    place.check(example, st.tuples(talk, answers | st.integers() | st.lists(st.text()), st.integers(20, AT_MOST)))


@pytest.mark.spec("P22")
def test_p22_configured_numbers_are_used_instead_of_the_defaults(place: Place) -> None:
    async def example(drawn: tuple[int, int, int, float, int, int]) -> None:
        keep, more, size, hours, max_cached, count = drawn
        flags = {
            "history.threshold": keep + more,
            "history.keep_verbatim": keep,
            "history.when": "inline",
            "window.size": max(size, keep + more + 2),
            "sessions.timeout_hours": hours,
            "sessions.max_cached": max_cached,
            "storage.database": "sqlite:///unused",
        }
        settings = Settings.load(flags, {})
        assert settings.warnings == ()
        rig = place.rig(Options(max_cached=settings.sessions.max_cached, timeout=settings.sessions.timeout))
        service = assemble(SqlStore(place.driver, rig.cache, window_size=settings.window.size), settings, rig.clock)
        speaker = Speaker()
        verbatim = 0
        for _ in range(count):
            (message,) = speaker.messages([Said("user", "words")])
            await service.conversations.add_messages(rig.scope, C, (message,))
            verbatim = kept_after(verbatim + 1, settings.history)
            assert len((await service.conversations.get_context(rig.scope, C)).recent) == verbatim
        for number in range(max_cached + 2):
            await service.conversations.create(rig.scope, conversation_id=f"other-{number}")
            await service.conversations.get_context(rig.scope, f"other-{number}")
        assert len(rig.cache) == max_cached
        rig.clock.advance(hours=hours * 0.99)
        assert await service.lifecycle.cleanup_inactive(rig.scope) == ()
        rig.clock.advance(hours=hours * 0.02)
        assert len(await service.lifecycle.cleanup_inactive(rig.scope)) == max_cached + 3

    numbers = (st.integers(1, 12), st.integers(1, 6), st.integers(4, 40), st.floats(0.01, 1000), st.integers(1, 3))
    place.check(example, st.tuples(*numbers, st.integers(1, 20)))


Operation = tuple[str, int, Any]


@pytest.mark.spec("P24", "S3.5")
def test_p24_along_the_head_path_each_message_is_verbatim_or_under_one_summary(place: Place) -> None:
    async def example(drawn: tuple[PlanSettings, bool, Any, Any, list[Operation]]) -> None:
        plan, deletes, when, generator, operations = drawn
        history = HistorySettings(
            threshold=plan.threshold, keep_verbatim=plan.keep_verbatim, delete_originals=deletes, when=when
        )
        options = Options(history=history, window_size=4, compaction={"plan": plan})
        rig = place.rig(options, generators=(generator,))
        path = HeadPath()
        speaker = Speaker()
        for operation in operations:
            # Some cannot be done, such as taking back what nobody said, and then nothing is changed.
            with suppress(ConflictError, NotFoundError, InvalidMessageError):
                await do(rig, path, speaker, operation)
            if path.known:
                await path.check(rig)
        if path.known:
            generator.heal()
            rig.clock.advance(hours=1)
            await rig.drain()
            await rig.compactor.compact(rig.scope, C)
            await path.check(rig)
            window = await rig.store.get_window(rig.scope, C)
            # Nothing is left that neither a summary tells nor the window shows.
            assert window.uncovered == (await rig.store.get_backlog(rig.scope, C, 1000)).messages

    plans = st.builds(
        PlanSettings,
        threshold=st.integers(3, 5),
        keep_verbatim=st.integers(1, 2),
        batch=st.sampled_from((2, 3, 50)),
        most_summaries=st.integers(1, 3),
        fold=st.integers(2, 3),
    )
    kinds = (
        "add",
        "add",
        "add",
        "add",
        "turn",
        "edit",
        "undo",
        "select",
        "erase",
        "erase",
        "clear",
        "archive",
        "drain",
    )
    operations = st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 99), talks(most=6)), min_size=2, max_size=10)
    when = st.sampled_from(("background", "inline"))
    place.check(example, st.tuples(plans, st.booleans(), when, fickle, operations))


async def do(rig: Rig, path: HeadPath, speaker: Speaker, operation: Operation) -> None:
    """Do one thing that people do to a conversation, and follow it."""
    kind, number, talk = operation
    service, scope = rig.conversations, rig.scope
    stored = await rig.all_messages(all_branches=True) if path.known else ()
    chosen = stored[number % len(stored)].id if stored else "none"
    match kind:
        case "add":
            path.added((await service.add_messages(scope, C, speaker.messages(talk))).messages)
            await rig.drain()
        case "archive":
            messages = speaker.messages(talk)
            first = (await service.get(scope, C)).next_seq if path.known else 1
            await service.archive(scope, C, messages)
            path.continued(ids_of(messages), first)
        case "turn":
            reply = await rig.chat.turn(scope, ChatRequest(text="What now?", conversation_id=C))
            path.added((reply.user_message, reply.message))
        case "edit":
            path.added((await service.edit(scope, C, chosen, "another text")).messages)
        case "undo":
            path.head = (await service.undo(scope, C)).head_id
        case "select":
            path.head = (await service.select(scope, C, chosen)).head_id
        case "erase":
            await service.erase_message(scope, C, chosen)
            path.erased(chosen)
        case "clear":
            await service.clear_messages(scope, C)
            path.cleared()
        case _:
            rig.clock.advance(minutes=20)
            await rig.drain()
