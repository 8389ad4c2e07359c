"""Whatever fails beside the store, nothing is lost and the talk goes on: P6, P17, P18, P21."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from recollect.bootstrap import new_id
from recollect.cache.redis import RedisWindows
from recollect.domain.message import Message
from recollect.errors import (
    CircuitOpenError,
    ProviderOutputError,
    ProviderUnavailableError,
    StorageError,
    StorageUnavailableError,
    StrategyError,
)
from recollect.history.generators import ExtractiveGenerator
from recollect.history.plan import PlanSettings, next_step
from recollect.service.chat_request import ChatRequest
from recollect.service.compaction import CompactionSettings
from recollect.settings import HistorySettings
from recollect.testing.samples import ids_of
from tests.support.compaction import Generator
from tests.support.drawn_messages import Speaker, bad_generators, by_place, histories, talks, texts
from tests.support.faulty_parts import FaultyResponder, FaultyStrategy, failing_store, warnings_logged
from tests.support.service_rig import C, Options, Place, Rig

# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")

SECRET = "the words of a person"
pieces = st.lists(talks(least=3, most=9), min_size=1, max_size=3)


def heal(generator: Generator) -> None:
    """Let a bad generator write."""
    generator.answer, generator.name, generator.available = "They talked.", "test", True


async def check_told(rig: Rig, given: list[str]) -> None:
    """Prove that every message is stored, and told once in the prompt."""
    context = await rig.conversations.get_context(rig.scope, C)
    assert ids_of(await rig.all_messages()) == given
    assert await rig.covered(context.summaries) + ids_of(context.recent) == given
    assert context.total == len(given)


async def is_due(rig: Rig) -> bool:
    """Tell whether something can be summarised: what completes a tool pair may leave too little."""
    backlog = await rig.store.get_backlog(rig.scope, C, 1_000)
    plan = CompactionSettings.of(rig.options.history).plan
    return (
        next_step(backlog.messages, backlog.summaries, plan, elsewhere=backlog.elsewhere, apart=backlog.apart)
        is not None
    )


@pytest.mark.spec("P6")
def test_p06_a_failed_summary_leaves_every_message_and_is_written_later(place: Place) -> None:
    async def example(drawn: tuple[HistorySettings, Generator, list[Any]]) -> None:
        history, generator, talked = drawn
        rig = place.rig(Options(history=history), generators=(generator,))
        speaker = Speaker()
        given: list[str] = []
        for talk in talked:
            messages = speaker.messages(talk)
            given += ids_of(messages)
            assert ids_of(await rig.add(messages)) == ids_of(messages)
            assert await rig.store.active_summaries(rig.scope, C) == ()
            await check_told(rig, given)
        waiting = [job for job in await rig.jobs() if job.state != "done"]
        assert [(job.kind, job.state) for job in waiting] == [("summarise", "queued")] * await is_due(rig)
        heal(generator)
        rig.clock.advance(hours=1)
        await rig.drain()
        await check_told(rig, given)
        assert all(job.state == "done" for job in await rig.jobs())

    place.check(example, st.tuples(histories(when="background"), bad_generators(), pieces))


@pytest.mark.spec("P17")
def test_p17_a_summary_that_fails_at_once_stops_nothing(place: Place) -> None:
    async def example(drawn: tuple[HistorySettings, bool, bool, Generator, list[Any]]) -> None:
        history, propagates, falls_back, generator, talked = drawn
        history = msgspec.structs.replace(history, propagate_errors=propagates)
        plan = PlanSettings(threshold=history.threshold, keep_verbatim=history.keep_verbatim, batch=4)
        generators = (generator, ExtractiveGenerator()) if falls_back else (generator,)
        rig = place.rig(Options(history=history, compaction={"plan": plan}), generators=generators)
        speaker = Speaker()
        given: list[str] = []
        for talk in talked:
            messages = speaker.messages(talk)
            given += ids_of(messages)
            try:
                await rig.conversations.add_messages(rig.scope, C, messages)
            except StrategyError:
                assert propagates
            await check_told(rig, given)
            context = await rig.conversations.get_context(rig.scope, C)
            assert falls_back or not context.summaries
            assert not falls_back or {one.generator for one in context.summaries} <= {"extractive"}
        try:
            reply = await rig.chat.turn(rig.scope, ChatRequest(text="And now?", conversation_id=C))
            given += [reply.user_message.id, reply.message.id]
        except StrategyError:
            assert propagates
            given = ids_of(await rig.all_messages())
            assert [one.content for one in (await rig.all_messages())[-2:-1]] == ["And now?"]
        await check_told(rig, given)

    values = st.tuples(histories(when="inline"), st.booleans(), st.booleans(), bad_generators(), pieces)
    place.check(example, values)


ERRORS: tuple[Exception, ...] = (
    StorageUnavailableError("away"),
    StorageError("broken"),
    ProviderUnavailableError("down"),
    StrategyError("no"),
    ZeroDivisionError(SECRET),
    KeyError(SECRET),
    TimeoutError(),
)
errors = st.sampled_from(ERRORS)
storage_errors: st.SearchStrategy[Exception] = st.sampled_from([one for one in ERRORS if isinstance(one, StorageError)])


@pytest.mark.spec("P18", "S3.6")
def test_p18_an_operation_that_fails_is_logged_and_the_next_one_is_done(place: Place) -> None:
    async def example(drawn: list[tuple[str, Exception, Exception, str]]) -> None:
        strategy: dict[str, Exception] = {}
        store: dict[str, Exception] = {}
        generator = Generator()
        history = HistorySettings(threshold=2, keep_verbatim=1)
        rig = place.rig(
            Options(history=history, recall=True),
            generators=(generator,),
            change_strategy=lambda one: FaultyStrategy(one, strategy),
            change_store=lambda one: failing_store(one, store),
        )
        given: list[str] = []
        for what, error, storage_error, text in [*drawn, ("nothing", ERRORS[0], ERRORS[0], "the end")]:
            strategy.update({what: error} if what in ("work", "hook", "shown") else {})
            store.update({what: storage_error} if what == "read_passages" else {})
            generator.answer = error if what == "job" else "They talked."
            with warnings_logged() as logged:
                reply = await rig.chat.turn(rig.scope, ChatRequest(text=text, conversation_id=C))
                outcomes = await rig.drain()
            assert reply.message.status == "complete"
            given += [reply.user_message.id, reply.message.id]
            assert not [line for line in logged if SECRET in line or (len(text) > 9 and text in line)]
            failed = "failed" in outcomes or what in ("hook", "read_passages") or (what == "shown" and len(given) > 2)
            assert bool(logged) >= failed
            strategy.clear()
            store.clear()
            rig.clock.advance(hours=1)
            await check_stored(rig, given)
        generator.answer = "They talked."
        await rig.drain()
        await check_told(rig, given)

    kinds = st.sampled_from(("work", "hook", "shown", "read_passages", "job", "nothing"))
    place.check(example, st.lists(st.tuples(kinds, errors, storage_errors, texts), min_size=1, max_size=3))


async def check_stored(rig: Rig, given: list[str]) -> None:
    assert ids_of(await rig.all_messages()) == given


#: What may come instead of a reply.
BAD_REPLIES: tuple[Any, ...] = (
    *(ProviderUnavailableError("down"), CircuitOpenError("open"), ProviderOutputError("no text")),
    *(ZeroDivisionError("a bug"), TimeoutError(), "", "  \n", "\0", "a\0b", "\udc80", "x" * 1_000_001, None, 7),
)


@pytest.mark.spec("P21", "S3.6")
def test_p21_with_everything_failing_chat_still_answers_and_stores(place: Place) -> None:
    async def example(
        drawn: tuple[Any, list[tuple[str, str]], set[str], list[Exception], Any, HistorySettings],
    ) -> None:
        answer, turns, parts, some, generator, history = drawn
        dead = RedisWindows("redis://127.0.0.1:1/0", idle=timedelta(hours=1), new_id=new_id)
        failing = dict(zip(("work", "hook", "shown"), some, strict=True)) if "strategy" in parts else {}
        store: dict[str, Exception] = {"read_passages": StorageUnavailableError("away")} if "recall" in parts else {}
        rig = place.rig(
            Options(history=history, recall=True),
            generators=(generator,) if "generator" in parts else (),
            responder=FaultyResponder(answer) if "model" in parts else None,
            change_strategy=lambda one: FaultyStrategy(one, failing),
            change_store=lambda one: failing_store(one, store),
            cache=dead if "cache" in parts else None,
        )
        try:
            said: list[Message] = []
            for policy, text in turns:
                request: Any = {"text": text, "conversation_id": C, "write_policy": policy}
                reply = await rig.chat.turn(rig.scope, ChatRequest(**request))
                assert reply.message.status == ("failed" if "model" in parts else "complete")
                assert (reply.user_message.content, reply.durability) == (text, "durable")
                said += [reply.user_message, reply.message]
            await rig.drain()
            assert await rig.all_messages() == tuple(said)
        finally:
            await dead.close()

    turns = st.lists(st.tuples(st.sampled_from(("turn", "ahead")), texts), min_size=1, max_size=3)
    parts = st.sets(st.sampled_from(("cache", "recall", "strategy", "generator", "model")))
    some = st.lists(errors, min_size=3, max_size=3)
    history = histories(threshold=2, keep_verbatim=1)
    place.check(example, st.tuples(by_place(BAD_REPLIES), turns, parts, some, bad_generators(), history))
