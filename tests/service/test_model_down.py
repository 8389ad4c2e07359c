"""With the model down everything still works and nothing is lost; when it is back, what waits is done once."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from recollect.domain.conversation import ConversationQuery
from recollect.domain.page import SearchQuery
from recollect.domain.window import Window
from recollect.ports.chat_model import ModelState
from recollect.service.chat_request import ChatReply, ChatRequest, WritePolicy
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.testing.models import Fault, ScriptedReply
from recollect.testing.samples import ALICE, ids_of, message
from tests.support.model_service import GOOD, STEP, SUMMARY, Played, play

#: A server that is down as far as anyone can tell, but counts who tried.
DOWN = ScriptedReply(fault=Fault.HANG_UP)
CONVERSATIONS, TURNS = 20, 200
#: The longest that a job waits before it looks again whether the model is back, and the pause of the breaker.
LONGEST_WAIT = timedelta(minutes=10, seconds=30)


def state_of(played: Played) -> ModelState:
    assert played.service.model is not None
    return played.service.model.state


async def turn(played: Played, conversation_id: str, text: str, policy: WritePolicy | None = None) -> ChatReply:
    request = ChatRequest(text=text, conversation_id=conversation_id, write_policy=policy)
    return await played.service.chat.turn(ALICE, request)


@pytest.mark.spec("R13", "S1.11")
async def test_a_turn_makes_no_connection_while_the_circuit_is_open(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"model.breaker_failures": 3}) as played:
        server = played.server
        played.answer(DOWN)
        for number in range(3):
            await turn(played, "c1", f"Question {number}?")
        assert (state_of(played).circuit, server.accepted) == ("open", 3)
        for number in range(3, 43):
            reply = await turn(played, "c1", f"Question {number}?")
            assert (reply.message.status, reply.message.content) == ("failed", "")
        assert (server.accepted, server.connections) == (3, 0)
        assert (state_of(played).counters.calls, state_of(played).counters.refused) == (3, 40)
        assert [one.content for one in await played.messages() if one.role == "user"] == [
            f"Question {number}?" for number in range(43)
        ]

        # Every half minute one call finds out, and no other waits for it.
        for tried in range(4, 7):
            played.clock.advance(seconds=30)
            assert state_of(played).circuit == "half_open"
            for _ in range(2):
                assert (await turn(played, "c2", "Back?")).message.status == "failed"
            assert (state_of(played).circuit, server.accepted) == ("open", tried)
        played.answer(GOOD)
        played.clock.advance(seconds=30)
        assert (await turn(played, "c2", "Back?")).message.content == SUMMARY
        assert state_of(played).circuit == "ready"


@pytest.mark.spec("R13", "S3.6")
@pytest.mark.parametrize("summariser", ["auto", "model"])
async def test_after_an_hour_without_the_model_what_waited_is_done_once(summariser: str, tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"history.summariser": summariser}) as played:
        played.service.worker.start()
        played.answer(DOWN)
        said = await talk_for_an_hour(played)
        assert state_of(played).circuit in {"open", "half_open"}
        # Five failures, those under way with the fifth, and then one call per half minute.
        assert played.server.accepted == state_of(played).counters.calls <= 5 + 4 + 120
        waiting = await played.jobs()
        assert Counter((job.kind, job.state, job.attempts) for job in waiting) == {
            ("summarise", "queued", 0): CONVERSATIONS,
            ("title", "queued", 0): CONVERSATIONS,
        }
        assert any(job.error for job in waiting)
        assert played.service.worker.state.dead == 0

        played.answer(GOOD)
        back_at = played.clock()
        asked = played.summaries_asked
        done = await played.drained()
        assert played.clock() - back_at <= LONGEST_WAIT + STEP
        assert Counter((job.kind, job.state, job.error) for job in done) == {
            ("summarise", "done", None): CONVERSATIONS,
            ("title", "done", None): CONVERSATIONS,
        }
        assert played.summaries_asked - asked == CONVERSATIONS
        for conversation_id, names in said.items():
            (summary,) = await played.service.store.active_summaries(ALICE, conversation_id)
            assert (summary.content, summary.generator, summary.message_count) == (SUMMARY, "small@1", 14)
            assert await played.told(conversation_id) == ids_of(await played.messages(conversation_id)) == names
            conversation = await played.service.conversations.get(ALICE, conversation_id)
            assert (conversation.title, conversation.title_source) == (SUMMARY, "auto")
        assert (await turn(played, "c0", "And now?")).message.content == SUMMARY


async def talk_for_an_hour(played: Played) -> dict[str, list[str]]:
    """Take turns in many conversations, and return the ids of what is stored."""
    said: dict[str, list[str]] = {f"c{number}": [] for number in range(CONVERSATIONS)}
    begun = played.clock()
    for number in range(TURNS):
        conversation_id = f"c{number % CONVERSATIONS}"
        reply = await turn(played, conversation_id, f"Question {number}?")
        assert (reply.durability, reply.user_message.content) == ("durable", f"Question {number}?")
        assert (reply.message.status, reply.message.content) == ("failed", "")
        said[conversation_id] += [reply.user_message.id, reply.message.id]
        await played.pass_time(seconds=3600 / TURNS)
    assert played.clock() - begun == timedelta(hours=1)
    for conversation_id, names in said.items():
        assert ids_of(await played.messages(conversation_id)) == names
    return said


async def test_every_operation_succeeds_while_nothing_listens(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played, played.server.down():
        played.service.worker.start()
        conversations = played.service.conversations
        for policy in ("turn", "ahead", "client"):
            reply = await turn(played, f"by-{policy}", "I live in Lviv.", policy)
            assert (reply.message.status, reply.durability == "client") == ("failed", policy == "client")
        await conversations.add_messages(ALICE, "c1", [message(f"m{number}") for number in range(30)])
        await conversations.archive(ALICE, "c1", [message(f"m{number}") for number in range(25, 40)])
        context = await conversations.get_context(ALICE, "c1")
        assert (len(context.recent), context.total) == (40, 40)
        edited = await conversations.edit(ALICE, "c1", "m39", "something else")
        await conversations.select(ALICE, "c1", "m39")
        assert (await conversations.undo(ALICE, "c1")).head_id == "m38"
        assert edited.messages[0].parent_id == "m38"
        await conversations.update(ALICE, "c1", title="Mine", is_archived=True)
        assert len((await conversations.list(ALICE, ConversationQuery())).items) == 3
        hits = await played.service.store.search_messages(ALICE, SearchQuery(text="Lviv", limit=5))
        assert {hit.message.content for hit in hits} == {"I live in Lviv."}
        await conversations.erase_message(ALICE, "c1", "m3")
        assert (await conversations.clear_messages(ALICE, "c1")).erased.messages == 40
        await conversations.delete(ALICE, "c1")
        await played.tried()
        assert {job.state for job in await played.jobs()} <= {"queued", "done"}
        assert played.service.worker.state.dead == 0


async def test_inline_summaries_that_fail_are_written_with_the_next_message(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"history.when": "inline"}) as played:
        conversations = played.service.conversations
        names = [f"m{number}" for number in range(13)]
        async with played.server.down():
            await conversations.add_messages(ALICE, "c1", [message(name) for name in names[:12]])
            assert ids_of((await conversations.get_context(ALICE, "c1")).recent) == names[:12]
        played.answer(GOOD)
        await conversations.add_messages(ALICE, "c1", [message(names[12])])
        context = await conversations.get_context(ALICE, "c1")
        assert ([one.message_count for one in context.summaries], ids_of(context.recent)) == ([7], names[7:])
        assert played.summaries_asked == 1


async def test_a_title_of_a_person_outlives_an_outage(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        played.service.worker.start()
        played.answer(DOWN)
        for conversation_id in ("c1", "c2"):
            await turn(played, conversation_id, "What shall we drink?")
        await played.service.conversations.update(ALICE, "c1", title="Mine")
        played.answer(GOOD)
        await played.drained()
        found = [await played.service.conversations.get(ALICE, one) for one in ("c1", "c2")]
        assert [one.title for one in found] == ["Mine", SUMMARY]


@pytest.mark.spec("S3.6")
async def test_everything_works_without_any_model(tmp_path: Path) -> None:
    settings = Settings.load(
        {"storage.database": f"sqlite:///{tmp_path / 'r.db'}", "jobs.debounce_seconds": 0}, environ={}
    )
    async with await recollect.open(settings) as service:
        assert service.model is None
        ids = []
        for number in range(40):
            request = ChatRequest(text=f"Number {number}: we drank tea in Lviv.", conversation_id="c1")
            reply = await service.chat.turn(ALICE, request)
            assert (reply.message.status, bool(reply.message.content)) == ("complete", True)
            ids += [reply.user_message.id, reply.message.id]
        elsewhere = await service.chat.turn(ALICE, ChatRequest(text="Where did we drink tea?", conversation_id="c2"))
        assert elsewhere.recalled
    async with await recollect.open(settings) as service:
        window = await kept_short(service)
        assert [one for summary in window.summaries for one in summary.message_ids] + ids_of(window.uncovered) == ids
        assert {summary.generator for summary in window.summaries} == {"extractive"}
        assert (await service.conversations.get(ALICE, "c1")).title == "Number 0: we drank tea in Lviv."


async def kept_short(service: Recollect) -> Window:
    """Wait until the worker has nothing left to summarise."""
    while True:
        window = await service.store.get_window(ALICE, "c1")
        if len(window.uncovered) <= 10:
            return window
        await asyncio.sleep(0.005)
