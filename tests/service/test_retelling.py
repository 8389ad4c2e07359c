"""What a model was told for a turn can be read again, as it was, and holds nothing of what was erased since."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from recollect.bootstrap import new_id
from recollect.domain.context import Context, ContextItem
from recollect.domain.context_record import packed_record
from recollect.domain.page import MessageQuery
from recollect.errors import ContextNotFoundError, MessageNotFoundError
from recollect.ports.responder import Question
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatReply, ChatRequest
from recollect.service.memories import Correction, Statement
from recollect.service.notes import NoteRequest
from recollect.service.preferences import PreferenceRequest
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, message
from tests.service.conftest import Make
from tests.service.test_chat import Scripted, chat_of

pytestmark = pytest.mark.spec("B8")


class Talk:
    """A conversation whose model is asked in this process, so that a test sees exactly what it was told."""

    def __init__(self, service: Recollect, clock: FakeClock, **options: Any) -> None:
        self.service = service
        self.model = Scripted()
        self._chat: Chat = chat_of(service, self.model, clock, **options)
        self._clock = clock

    async def say(self, text: str = "", **more: Any) -> ChatReply:
        self._clock.advance(seconds=1)
        return await self._chat.turn(ALICE, ChatRequest(text=text, **{"conversation_id": "c1", **more}))

    async def told(self, reply: ChatReply) -> Context:
        return await self.service.contexts.told(ALICE, reply.conversation_id, reply.message.id)

    @property
    def last(self) -> Question:
        return self.model.asked[-1]


async def know(service: Recollect, content: str, **more: Any) -> str:
    return (await service.memories.add(ALICE, Statement(content=content, **more))).id


async def prepared(service: Recollect, clock: FakeClock) -> Talk:
    """Return a conversation in whose prompts something of every kind stands."""
    await know(service, "Is called Ada", is_pinned=True)
    await know(service, "Likes green tea from Uji")
    await service.notes.apply(ALICE, NoteRequest(operation="overwrite", content="# Plan\nBe brief."))
    await service.preferences.change(ALICE, PreferenceRequest(instructions="Answer in verse."))
    elsewhere = [message("tea", "I bought a kettle for green tea in Uji.", name="Ada")]
    await service.conversations.add_messages(ALICE, "other", elsewhere)
    await service.conversations.add_messages(ALICE, "c1", [message(f"m{n}", f"Number {n}.") for n in range(3)])
    return Talk(service, clock)


def items(context: Context, kind: str) -> list[ContextItem]:
    return [item for block in context.blocks if block.kind == kind for item in block.items]


def states(context: Context) -> dict[str, set[str]]:
    return {block.kind: {item.state for item in block.items} for block in context.blocks}


async def test_every_turn_can_be_told_again_exactly(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    replies = [
        await talk.say("Which tea do I like, the one from Uji?"),
        await talk.say("And the kettle?", context={"page": "shop", "sum": 1.5}),
        await talk.say("", new_messages=(message("n1", "One more."), message("n2", "Which tea again?"))),
    ]
    first = replies[0]
    replies.append(await talk.say("", regenerate=first.message.id))
    replies.append(await talk.say("Say it otherwise", parent_id="m1"))
    for reply, asked in zip(replies, talk.model.asked, strict=True):
        assert await talk.told(reply) == asked.context
    whole = talk.model.asked[0].context
    kinds = ["system", "pinned", "notes", "memories", "passages", "window", "message"]
    assert [block.kind for block in whole.blocks] == kinds
    assert "words: tea" in items(whole, "memories")[0].why
    assert items(talk.model.asked[1].context, "given")


async def test_a_prompt_that_was_cut_is_cut_in_the_same_places(make: Make, clock: FakeClock) -> None:
    talk = await prepared(make(context__budget=330), clock)
    note = "\n".join(f"# Section {n}\nSomething to do with it." for n in range(9))
    await talk.service.notes.apply(ALICE, NoteRequest(operation="overwrite", content=note))
    long = " ".join(f"The tea of Uji was number {n}." for n in range(60))
    await talk.service.conversations.add_messages(ALICE, "other", [message("long", long)])
    reply = await talk.say("Which tea of Uji was number 3?")
    told = await talk.told(reply)
    assert told == talk.last.context
    assert told.left_out
    assert [item for block in told.blocks for item in block.items if item.kept is not None]


async def test_what_changed_since_is_told_as_it_was(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    reply = await talk.say("Which tea do I like?")
    asked = talk.last.context
    (pinned,) = items(asked, "pinned")
    await service.memories.change(ALICE, pinned.id, Correction(content="Is called Ada Lovelace"))
    await service.notes.apply(ALICE, NoteRequest(operation="overwrite", content="Be long."))
    assert await talk.told(reply) == asked


async def test_what_has_no_versions_says_that_it_changed(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    reply = await talk.say("Which tea do I like?", instructions="Only in this turn: be kind.")
    await service.preferences.change(ALICE, PreferenceRequest(instructions="Answer in prose."))
    told = await talk.told(reply)
    instructions = next(item for item in items(told, "system") if item.id == "instructions")
    assert (instructions.state, "prose" in instructions.text, "prose" in told.prompt) == ("changed", True, True)
    assert states(told)["system"] == {"changed"}
    assert states(told)["pinned"] == states(told)["window"] == {"same"}


async def test_of_what_was_erased_no_word_is_left(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    reply = await talk.say("Which green tea do I like, and whose kettle is it?")
    before = await talk.told(reply)
    (memory,), (passage,) = items(before, "memories"), items(before, "passages")
    await service.memories.erase(ALICE, memory.id)
    await service.conversations.erase_message(ALICE, "other", passage.id)
    await service.conversations.erase_message(ALICE, "c1", "m1")
    after = await talk.told(reply)
    gone = (*items(after, "memories"), *items(after, "passages"), items(after, "window")[1])
    assert {(item.text, item.state) for item in gone} == {("", "erased")}
    assert [item.tokens for item in gone] == [memory.tokens, passage.tokens, items(before, "window")[1].tokens]
    said = msgspec.json.encode(after).decode()
    for word in ("Uji", "bought", "Number 1."):
        assert word not in said
    assert "words: " not in gone[0].why
    assert (after.tokens, after.tail) == (before.tokens, "")
    assert [one.text for one in after.messages] == ["Number 0.", "Number 2.", before.messages[-1].text]
    assert after.prompt == before.prompt


async def test_a_question_that_was_erased_leaves_no_word_in_the_reasons(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    first = await talk.say("Which green tea do I like?")
    again = await talk.say("", regenerate=first.message.id)
    await service.conversations.erase_message(ALICE, "c1", first.user_message.id)
    told = await talk.told(again)
    assert [(item.text, item.state) for item in items(told, "message")] == [("", "erased")]
    assert "words of the question" in items(told, "memories")[0].why
    assert "Which" not in msgspec.json.encode(told).decode()
    with pytest.raises(ContextNotFoundError, match="a message of the turn was erased"):
        await talk.told(first)


async def test_a_message_without_a_turn_says_why_nothing_is_known(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    with pytest.raises(ContextNotFoundError, match="imported, archived by a client or added without a reply"):
        await service.contexts.told(ALICE, "c1", "m1")
    with pytest.raises(MessageNotFoundError):
        await service.contexts.told(ALICE, "c1", "nothing")
    unkept = await talk.say("Keep this to yourself", write_policy="client")
    with pytest.raises(MessageNotFoundError):
        await talk.told(unkept)


async def test_memories_told_come_with_the_messages_of_a_page(service: Recollect, clock: FakeClock) -> None:
    talk = await prepared(service, clock)
    reply = await talk.say("Which green tea do I like?")
    other = await talk.say("Thank you.", new_messages=(message("n1", "Said by a client.", role="assistant"),))
    page = await service.store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
    told = await service.contexts.memories_told(ALICE, "c1", page.messages)
    assert told.keys() == {reply.message.id, other.message.id}
    assert told[reply.message.id] == tuple(
        msgspec.structs.replace(one, score=0.0, memory=told[reply.message.id][at].memory)
        for at, one in enumerate(reply.memories)
    )
    used = [one.memory.id for one in reply.memories if one.memory is not None]
    assert [one.memory and one.memory.id for one in told[reply.message.id]] == used
    await service.memories.change(ALICE, used[0], Correction(content="Is called Ada Lovelace"))
    await service.memories.delete(ALICE, used[1])
    (left,) = (await service.contexts.memories_told(ALICE, "c1", page.messages))[reply.message.id]
    assert (left.memory and left.memory.content, left.why) == ("Is called Ada Lovelace", "pinned")
    assert await service.contexts.memories_told(ALICE, "other", ()) == {}


async def test_the_record_of_a_usual_turn_is_small(make: Make, clock: FakeClock) -> None:
    service = make(history__strategy="keep_all", memory__context_limit=5)
    for number in range(6):
        await know(service, f"Likes the green tea number {number} of Uji")
        await service.conversations.add_messages(
            ALICE, new_id(), [message(new_id(), f"I bought green tea number {number} in Uji on a fine day.")]
        )
    said = [message(new_id(), f"Message {n} of a conversation about the weather.") for n in range(20)]
    await service.conversations.add_messages(ALICE, "c1", said)
    reply = await Talk(service, clock).say("Which green tea of Uji did I buy, and which do I like?")
    (turn,) = await service.store.find_turns(ALICE, "c1", (reply.message.turn_id or "",))
    assert turn.context is not None
    counts = {block.kind: len(block.items) for block in turn.context.blocks}
    assert (counts["window"], counts["memories"], counts["passages"]) == (20, 5, 5)
    assert len(packed_record(turn.context)) < 700
