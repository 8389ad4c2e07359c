"""What a model is given in a chat turn: the stable beginning, the recall at the end, and what is left without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.message import ToolCall
from recollect.domain.note_tool import NOTE_TOOL
from recollect.errors import ProviderUnavailableError, StorageUnavailableError
from recollect.ports.chat_model import ModelRequest
from recollect.recall.passages import PassageIndex
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Statement
from recollect.service.notes import NoteRequest
from recollect.service.recollect import Recollect
from recollect.service.tools import SEARCH_TOOL
from recollect.testing.samples import ALICE, message
from tests.support.learning import tell
from tests.support.model_service import GOOD, SUMMARY, Played, play


async def turn(played: Played, text: str, conversation_id: str = "c1") -> ModelRequest:
    """Take a turn and return what the model was asked."""
    played.answer(GOOD)
    reply = await played.service.chat.turn(ALICE, ChatRequest(text=text, conversation_id=conversation_id))
    assert reply.message.status == "complete"
    request = played.server.seen[-1].request
    assert request is not None
    return request


async def pin(played: Played, content: str) -> str:
    played.clock.advance(seconds=1)
    return (await played.service.memories.add(ALICE, Statement(content=content, is_pinned=True))).id


@pytest.mark.spec("S4.5")
@pytest.mark.spec("S2.7")
async def test_the_system_text_tells_what_is_pinned_then_the_notes_then_the_summary(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"context.system": "You are kind."}) as played:
        service = played.service
        for content in ("Is called Ada", "Lives in Oslo"):
            await pin(played, content)
        await service.memories.add(ALICE, Statement(content="Likes green tea"))
        await service.notes.apply(ALICE, NoteRequest(operation="overwrite", content="# Plan\nBe brief."))
        await service.conversations.add_messages(
            ALICE, "c1", [message(f"m{number}", f"Number {number}.") for number in range(12)]
        )
        played.answer(GOOD)
        service.worker.start()
        await played.tried()
        request = await turn(played, "Which tea do I like?")
        assert request.system == (
            "You are kind.\n\n"
            "## What You Know About the User\n- Is called Ada\n- Lives in Oslo\n\n"
            "## Your Long-Term Memory Notes\n<long_term_memory_notes>\n# Plan\nBe brief.\n</long_term_memory_notes>\n\n"
            f"## Conversation Summary\n{SUMMARY}"
        )
        *earlier, asked = request.messages
        assert (asked.role, asked.text) == ("user", "Which tea do I like?")
        tail = earlier[0]
        assert tail.text.startswith("<recalled>\n")
        assert "## What You Know About the User\n- Likes green tea" in tail.text
        assert [one.text for one in earlier[1:]] == [f"Number {number}." for number in range(6, 12)]


@pytest.mark.spec("S2.7")
async def test_a_template_says_where_the_notes_stand(tmp_path: Path) -> None:
    template = "You are kind.\n{long_term_memory_notes}\nThat is all."
    async with play(tmp_path / "r.db", {"context.system": template}) as played:
        assert (await turn(played, "Hello")).system == "You are kind.\n(no notes yet)\nThat is all."
        await played.service.notes.apply(ALICE, NoteRequest(operation="append", content="Be brief."))
        assert (await turn(played, "Hello")).system == (
            "You are kind.\n<long_term_memory_notes>\nBe brief.\n</long_term_memory_notes>\nThat is all."
        )


@pytest.mark.spec("B8")
async def test_the_beginning_stays_the_same_byte_for_byte_while_nothing_in_it_changed(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"context.system": "You are kind.", "history.threshold": 100}) as played:
        service = played.service
        await pin(played, "Is called Ada")
        await service.memories.add(ALICE, Statement(content="Likes green tea"))
        questions = ["Which tea do I like?", "Tell me a joke.", "什么茶？", "tea " * 300, "Who am I?"]
        systems = [(await turn(played, text)).system for text in questions]
        # A memory that is learned or recalled, and the time, do not show at the beginning.
        await service.memories.add(ALICE, Statement(content="Has a dog"))
        played.clock.advance(days=3)
        systems.append((await turn(played, "Do I have a dog?")).system)
        systems.append((await turn(played, "And elsewhere?", "c2")).system)
        assert len(set(systems)) == 1
        await pin(played, "Lives in Oslo")
        assert (await turn(played, "Where?")).system == f"{systems[0]}- Lives in Oslo\n"


@pytest.mark.spec("B8")
async def test_a_budget_is_kept_and_every_item_says_why_it_is_there(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"context.budget": 300, "history.threshold": 100}) as played:
        for number in range(40):
            await tell(played.service, ALICE, f"I like tea number {number}, and that is a long story about tea.")
        await pin(played, "Is called Ada")
        context = await played.service.contexts.preview(ALICE, "c1", query="Which tea do I like?")
        assert (context.budget, context.over, context.tokens <= 300) == (300, 0, True)
        items = [item for block in context.blocks for item in block.items]
        assert all(item.why for item in items)
        assert all(one.why for one in context.left_out)
        assert {block.kind for block in context.blocks} >= {"pinned", "window", "message"}
        assert "recalled" not in context.prompt


async def test_the_turn_tells_which_memories_it_used_and_their_use_is_counted_with_it(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        service = played.service
        pinned = await pin(played, "Is called Ada")
        tea = (await service.memories.add(ALICE, Statement(content="Likes green tea"))).id
        other = (await service.memories.add(ALICE, Statement(content="Fears heights"))).id
        played.clock.advance(hours=1)
        await turn(played, "Which green tea do I like?")
        (taken,) = await service.store.list_turns(ALICE, "c1")
        assert taken.memory_ids[:2] == (pinned, tea)
        counts = {one: (await service.memories.get(ALICE, one)).access_count for one in (pinned, tea, other)}
        assert counts == {one: int(one in taken.memory_ids) for one in counts}
        assert (await service.memories.get(ALICE, tea)).last_accessed_at == played.clock()
        # A turn that is not stored counts nothing.
        await service.chat.turn(ALICE, ChatRequest(text="Which green tea?", write_policy="client"))
        assert (await service.memories.get(ALICE, tea)).access_count == 1


@pytest.mark.parametrize("has_tools", [False, True])
async def test_a_model_that_is_offered_no_tools_is_told_of_calls_in_words(tmp_path: Path, has_tools: bool) -> None:
    async with play(tmp_path / "r.db", {"memory.enabled": has_tools}) as played:
        call = ToolCall(id="call", tool_name="weather", input={"city": "Oslo"})
        await played.service.conversations.add_messages(
            ALICE,
            "c1",
            [
                message("m1", "Will it rain?"),
                message("m2", "Let me look.", role="assistant", tool_calls=(call,)),
                message("m3", "Rain at noon", role="tool", tool_call_id="call"),
            ],
        )
        request = await turn(played, "So?")
        assert {tool.name for tool in request.tools} == ({NOTE_TOOL, SEARCH_TOOL} if has_tools else set())
        calls = [call.tool_name for one in request.messages for call in one.tool_calls]
        results = [one.text for one in request.messages if one.role == "tool"]
        assert (calls, results) == ((["weather"], ["Rain at noon"]) if has_tools else ([], []))
        told = "\n".join(one.text for one in request.messages)
        assert ('[called weather {"city":"Oslo"}]' in told) == (not has_tools)
        assert "Rain at noon" in told


# Memory that fails


Failing = Callable[..., Awaitable[None]]


def failing(error: Exception) -> Failing:
    async def fail(*_given: Any, **_named: Any) -> None:
        raise error

    return fail


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_given: Any, **_named: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize("error", [StorageUnavailableError("away"), ZeroDivisionError(), OSError("disk")])
@pytest.mark.parametrize("part", ["pinned", "search", "known", "notes", "question", "index", "everything"])
async def test_whatever_fails_in_memory_leaves_chat_working(
    part: str, error: Exception, service: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.memories.add(ALICE, Statement(content="Likes green tea", is_pinned=True))
    fail, recall = failing(error), service.recall
    if part in {"pinned", "everything"}:
        monkeypatch.setattr(recall, "pinned", fail)
    if part in {"search", "everything"}:
        monkeypatch.setattr(recall, "search", fail)
    if part in {"known", "everything"}:
        monkeypatch.setattr(service.store, "read_memories", fail)
    if part in {"notes", "everything"}:
        monkeypatch.setattr(service.store, "get_note", fail)
    if part in {"question", "everything"}:
        monkeypatch.setattr(recall._embedding, "question", fail)
    if part in {"index", "everything"}:
        monkeypatch.setattr(PassageIndex, "search", raising(error))
    reply = await service.chat.turn(ALICE, ChatRequest(text="Which tea do I like?", conversation_id="c1"))
    assert (reply.user_message.content, reply.message.status) == ("Which tea do I like?", "complete")
    assert len((await service.conversations.get_messages(ALICE, "c1")).messages) == 2


async def test_an_embedder_that_fails_leaves_chat_working(service: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.embedder, "embed", failing(ProviderUnavailableError("away")))
    reply = await service.chat.turn(ALICE, ChatRequest(text="Which tea do I like?", conversation_id="c1"))
    assert (reply.user_message.content, reply.message.status) == ("Which tea do I like?", "complete")


async def test_what_is_pinned_is_told_although_recall_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        await pin(played, "Is called Ada")
        monkeypatch.setattr(played.service.recall, "search", failing(ZeroDivisionError()))
        assert "- Is called Ada" in ((await turn(played, "Who am I?")).system or "")
