"""However the model misbehaves, chat goes on, nothing is lost, and each failure can be seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from recollect.domain.job import JobQuery
from recollect.providers.responder import MAX_ROUNDS
from recollect.service.chat_request import ChatRequest
from recollect.testing.models import Fault, ScriptedReply, WireProtocol
from recollect.testing.models.conformance import ENDLESS, PARIS, REJECTED, SLOW, UNAVAILABLE, UNUSABLE, USABLE
from recollect.testing.samples import ALICE, ids_of, message
from tests.support.model_service import GOOD, HURRIED, SUMMARY, Played, play

#: The faults that only a limit ends.
LIMITED = (*SLOW, *ENDLESS)
#: The faults of tool calls that nobody asked for.
CALLS = (Fault.PARTIAL_CALL, Fault.DUPLICATE_CALL, Fault.CALLS_WITHOUT_ID)
#: The faults in spite of which there is text, though not the text that was wanted.
TEXT = tuple(fault for fault in USABLE if fault is not Fault.REFUSAL)
#: Those among them whose text can become a summary.
ODD = tuple(fault for fault in TEXT if fault not in CALLS)


def test_every_fault_is_of_a_known_sort() -> None:
    assert {*UNAVAILABLE, *LIMITED, *REJECTED, *UNUSABLE, *USABLE} == set(Fault)


def limits(fault: Fault) -> dict[str, Any]:
    """Return the settings with which the fault is met soon."""
    return HURRIED if fault in LIMITED else {}


async def on_every_protocol(
    fault: Fault, folder: Path, check: Callable[[Played, Fault], Awaitable[None]], more: dict[str, Any]
) -> None:
    """Check all protocols at the same time, for it is mostly waiting."""

    async def one(kind: WireProtocol) -> None:
        async with play(folder / f"{kind}.db", limits(fault) | more, kind) as played:
            played.answer(ScriptedReply(fault=fault, tool_calls=(PARIS,) if fault in CALLS else ()))
            await check(played, fault)

    for end in await asyncio.gather(*(one(kind) for kind in get_args(WireProtocol)), return_exceptions=True):
        if end is not None:
            raise end


# Chat


@pytest.mark.parametrize("fault", Fault)
async def test_a_turn_is_stored_whatever_the_model_does(fault: Fault, tmp_path: Path) -> None:
    await on_every_protocol(fault, tmp_path, check_turn, {})


async def check_turn(played: Played, fault: Fault) -> None:
    chat, model = played.service.chat, played.service.model
    assert model is not None
    reply = await chat.turn(ALICE, ChatRequest(text="I like tea.", conversation_id="c1", key="once"))
    asked, *rounds, answered = await played.messages()
    assert (asked, answered) == (reply.user_message, reply.message)
    # A call of a tool that nobody offered is answered by saying so, and the model goes on.
    assert all(fault in CALLS and "there is no tool" in one.content for one in rounds if one.role == "tool")
    assert (asked.role, asked.content, asked.status) == ("user", "I like tea.", "complete")
    assert (answered.role, answered.metadata["responder"]) == ("assistant", "small")
    assert answered.metadata.get("is_cut", False) == (fault is Fault.TRUNCATED_JSON)
    if fault in TEXT:
        assert answered.status == "complete"
        assert answered.content.strip()
    elif fault is not Fault.REFUSAL:
        assert answered.status == "failed"
        assert reply.failure is not None
        assert model.state.last_error is not None
    if fault is Fault.DISCONNECT:
        assert answered.content == "Hello"
    asked_without_tools = fault in REJECTED and reply.failure is not None and "HTTP 400" in reply.failure.detail
    calls = min(1 + asked_without_tools + sum(one.role == "assistant" for one in rounds), MAX_ROUNDS)
    assert len(played.server.seen) == calls
    # A retry of the same request gets the same answer and asks nobody.
    again = await chat.turn(ALICE, ChatRequest(text="I like tea.", conversation_id="c1", key="once"))
    assert (again.message, len(played.server.seen)) == (reply.message, calls)

    played.answer(ScriptedReply(echo=True))
    after = await chat.turn(ALICE, ChatRequest(text="What do I like?", conversation_id="c1"))
    request = played.server.seen[-1].request
    assert request is not None
    assert "I like tea." in "\n".join(shown.text for shown in request.messages)
    assert len(await played.messages()) == 4 + len(rounds)
    if fault not in LIMITED:
        assert (after.message.status, after.message.content) == ("complete", "What do I like?")


async def test_a_failed_reply_keeps_the_window_and_the_recall_as_they_were(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        for text, reply in (("I like tea.", GOOD), ("Hello?", ScriptedReply(fault=Fault.OVERLOADED))):
            played.answer(reply)
            await played.service.chat.turn(ALICE, ChatRequest(text=text, conversation_id="c1"))
        context = await played.service.conversations.get_context(ALICE, "c1")
        assert [(one.content, one.status) for one in context.recent] == [
            ("I like tea.", "complete"),
            (SUMMARY, "complete"),
            ("Hello?", "complete"),
            ("", "failed"),
        ]
        elsewhere = await played.service.chat.turn(ALICE, ChatRequest(text="Do I like tea?", conversation_id="c2"))
        recalled = [one.message.content for one in elsewhere.recalled if one.message is not None]
        assert recalled[0] == "I like tea."


# Summaries


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in ODD])
async def test_a_summary_that_fails_waits_visibly_and_loses_nothing(fault: Fault, tmp_path: Path) -> None:
    await on_every_protocol(
        fault, tmp_path, check_failing_summary, {"history.delete_originals": True, "memory.enabled": False}
    )


async def check_failing_summary(played: Played, fault: Fault) -> None:
    service, model = played.service, played.service.model
    assert model is not None
    names = await add(played, 12)
    service.worker.start()
    by_kind = {job.kind: job for job in await played.tried()}
    waiting = by_kind["summarise"]
    assert (waiting.state, bool(waiting.error)) == ("queued", True)
    assert waiting.run_at > played.clock()
    # What is away comes back; what is wrong may stay so, and is not tried for ever.
    if fault not in ENDLESS:
        assert waiting.attempts == (0 if fault in UNAVAILABLE + SLOW else 1)
    assert ids_of(await played.messages()) == names
    assert await service.store.active_summaries(ALICE, "c1") == ()
    assert ids_of((await service.conversations.get_context(ALICE, "c1")).recent) == names
    assert service.worker.state.failed >= 1
    assert service.worker.state.last_error is not None
    if fault not in USABLE:
        assert model.state.last_error is not None

    played.answer(GOOD)
    assert {job.state for job in await played.drained()} == {"done"}
    (summary,) = await service.store.active_summaries(ALICE, "c1")
    assert (summary.content, summary.generator) == (SUMMARY, "small@1")
    assert await played.told() == names
    assert ids_of(await played.messages()) == names[6:]


@pytest.mark.parametrize("fault", ODD)
async def test_text_that_is_odd_becomes_a_summary_of_sound_text_and_the_originals_stay(
    fault: Fault, tmp_path: Path
) -> None:
    await on_every_protocol(fault, tmp_path, check_odd_summary, {})


async def check_odd_summary(played: Played, fault: Fault) -> None:
    names = await add(played, 12)
    played.service.worker.start()
    assert {job.state for job in await played.tried()} == {"done"}
    (summary,) = await played.service.store.active_summaries(ALICE, "c1")
    assert summary.content.strip()
    assert "\0" not in summary.content
    assert summary.content.encode().decode() == summary.content
    assert await played.told() == names
    assert ids_of(await played.messages()) == names
    assert played.summaries_asked == 1, fault


@pytest.mark.parametrize("fault", [Fault.EMPTY, Fault.GARBAGE, Fault.REFUSAL, Fault.UNAUTHORISED])
async def test_a_summary_that_can_never_be_written_ends_as_a_dead_job_and_the_next_message_tries_anew(
    fault: Fault, tmp_path: Path
) -> None:
    async with play(tmp_path / "r.db", {"history.delete_originals": True, "memory.enabled": False}) as played:
        store = played.service.store
        names = await add(played, 12)
        played.answer(ScriptedReply(fault=fault))
        played.service.worker.start()
        await played.drained()
        dead = {job.kind: job for job in await store.list_jobs(ALICE, JobQuery(state="dead"))}
        assert (dead["summarise"].attempts, played.summaries_asked) == (8, 8)
        assert dead["summarise"].error
        assert played.service.worker.state.dead == len(dead)
        assert await played.told() == ids_of(await played.messages()) == names
        reply = await played.service.chat.turn(ALICE, ChatRequest(text="Still there?", conversation_id="c1"))
        names += [reply.user_message.id, reply.message.id]
        assert reply.user_message.content == "Still there?"

        played.answer(GOOD)
        await played.drained()
        assert await played.told() == names
        assert ids_of(await played.messages()) == names[-6:]
        assert dead["summarise"] in await played.jobs()


@pytest.mark.parametrize("fault", [Fault.OVERLOADED, Fault.EMPTY, Fault.SILENT, Fault.REFUSAL])
async def test_where_too_much_waits_the_built_in_generator_keeps_the_prompt_short(fault: Fault, tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", limits(fault)) as played:
        names = await add(played, 70)
        played.answer(ScriptedReply(fault=fault))
        played.service.worker.start()
        await played.tried()
        (summary,) = await played.service.store.active_summaries(ALICE, "c1")
        assert (summary.generator, summary.message_count) == ("extractive", 50)
        assert await played.told() == ids_of(await played.messages()) == names
        assert [job.state for job in await played.jobs(["summarise"])] == ["queued"]

        played.answer(GOOD)
        await played.drained()
        _, second = await played.service.store.active_summaries(ALICE, "c1")
        assert (second.generator, second.message_count) == ("small@1", 14)
        assert await played.told() == names


async def add(played: Played, many: int) -> list[str]:
    """Add messages to one conversation, and return their ids."""
    messages = [message(f"m{number}", f"Number {number}: we drank tea in Lviv.") for number in range(many)]
    await played.service.conversations.add_messages(ALICE, "c1", messages)
    return ids_of(messages)
