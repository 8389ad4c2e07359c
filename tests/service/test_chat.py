"""Chat turns: what the responder sees, what is stored under each policy, and what a failure never loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from recollect.domain.message import NewMessage
from recollect.errors import (
    ConversationNotFoundError,
    IdempotencyMismatchError,
    InvalidInputError,
    ProviderUnavailableError,
    StorageUnavailableError,
)
from recollect.ports.chat_model import TextDelta
from recollect.ports.meter import NoMeter
from recollect.ports.responder import Hear, Question, Reply
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatOptions, ChatRequest
from recollect.service.context import ContextOptions, Contexts
from recollect.service.keeping import no_wake
from recollect.service.ledger import Ledger
from recollect.service.means import Means
from recollect.service.notes import Notes
from recollect.service.recollect import Recollect
from recollect.service.tools import Toolbox
from recollect.service.turn_taking import ChatParts
from recollect.storage.local_events import LocalEvents
from recollect.testing.clock import FakeClock, ids
from recollect.testing.samples import ALICE, ids_of, message


class Scripted:
    """A responder that notes what it is asked."""

    name = "scripted"

    def __init__(self, error: BaseException | None = None) -> None:
        self.asked: list[Question] = []
        self.error = error

    async def reply(self, question: Question, hear: Hear) -> Reply:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        hear(TextDelta(f"re: {question.text}"))
        return Reply()


def chat_of(
    service: Recollect, responder: Scripted, clock: FakeClock, *, remembers: bool = True, **options: Any
) -> Chat:
    keeper = service.conversations._keeper
    made = ids("made").__next__
    means = Means(
        clock=clock,
        new_id=made,
        events=LocalEvents(),
        meter=NoMeter(),
        ledger=Ledger(service.store, clock=clock, new_id=made),
        wake=no_wake,
    )
    contexts = service.contexts if remembers else Contexts(service.store, keeper, None, ContextOptions())
    toolbox = Toolbox(Notes(service.store, means.events, clock=clock), None)
    return Chat(ChatParts(service.store, keeper, contexts, responder, toolbox, means, ChatOptions(**options)))


def told(question: Question, kind: str) -> list[str]:
    return [item.id for block in question.context.blocks if block.kind == kind for item in block.items]


async def test_a_turn_shows_the_summaries_and_the_newest_messages(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(history__when="inline")
    await service.conversations.add_messages(ALICE, "c1", [message(f"m{n}", f"word {n}") for n in range(1, 12)])
    responder = Scripted()
    reply = await chat_of(service, responder, clock, remembers=False).turn(
        ALICE, ChatRequest(text="And now?", conversation_id="c1")
    )
    (question,) = responder.asked
    assert told(question, "window") == [f"m{n}" for n in range(6, 12)]
    assert len(told(question, "summaries")) == 1
    assert (reply.message.content, reply.message.status, reply.durability) == ("re: And now?", "complete", "durable")
    assert (reply.user_message.seq, reply.message.seq) == (12, 13)


@pytest.mark.parametrize(("policy", "stored"), [("turn", 2), ("ahead", 2), ("client", 0)])
async def test_a_policy_decides_what_is_stored(service: Recollect, clock: FakeClock, policy: str, stored: int) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    chat = chat_of(service, Scripted(), clock)
    request = ChatRequest(text="Hello", conversation_id="c1", write_policy=cast("Any", policy))
    reply = await chat.turn(ALICE, request)
    assert reply.durability == ("client" if policy == "client" else "durable")
    page = await service.conversations.get_messages(ALICE, "c1")
    assert ids_of(page.messages)[1:] == [reply.user_message.id, reply.message.id][:stored]


async def test_ahead_of_the_reply_the_question_is_stored(service: Recollect, clock: FakeClock) -> None:
    chat = chat_of(service, Scripted(KeyboardInterrupt()), clock, write_policy="ahead")
    with pytest.raises(KeyboardInterrupt):
        await chat.turn(ALICE, ChatRequest(text="Hello", conversation_id="c1"))
    page = await service.conversations.get_messages(ALICE, "c1")
    assert [message.content for message in page.messages] == ["Hello"]


async def test_what_only_the_client_has_is_shown_once(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    responder = Scripted()
    unsaved = (message("m1"), message("m2", "not archived yet"))
    request = ChatRequest(text="Hello", conversation_id="c1", write_policy="client", new_messages=unsaved)
    await chat_of(service, responder, clock).turn(ALICE, request)
    assert told(responder.asked[0], "window") == ["m1", "m2"]
    batch = await service.conversations.archive(ALICE, "c1", unsaved)
    assert (batch.archived, batch.duplicates) == (1, 1)


async def test_a_failed_reply_keeps_the_question(service: Recollect, clock: FakeClock) -> None:
    chat = chat_of(service, Scripted(ProviderUnavailableError("down")), clock)
    reply = await chat.turn(ALICE, ChatRequest(text="Hello"))
    assert (reply.message.status, reply.message.content) == ("failed", "")
    (turn,) = await service.store.list_turns(ALICE, reply.conversation_id)
    assert turn.status == "failed"


@pytest.mark.parametrize("method", ["read_memories", "read_passages", "get_note"])
async def test_a_memory_that_fails_leaves_chat_working(
    service: Recollect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def fail(*given: Any) -> None:
        raise StorageUnavailableError("no memory")

    monkeypatch.setattr(service.store, method, fail)
    chat = chat_of(service, Scripted(), clock)
    reply = await chat.turn(ALICE, ChatRequest(text="Hello"))
    assert (reply.recalled, reply.message.status) == ((), "complete")


async def test_a_request_with_a_key_is_answered_once(service: Recollect, clock: FakeClock) -> None:
    responder = Scripted()
    chat = chat_of(service, responder, clock)
    first = await chat.turn(ALICE, ChatRequest(text="Hello", key="k1"))
    again = await chat.turn(ALICE, ChatRequest(text="Hello", key="k1"))
    assert (again.message, again.user_message) == (first.message, first.user_message)
    assert len(responder.asked) == 1
    with pytest.raises(IdempotencyMismatchError):
        await chat.turn(ALICE, ChatRequest(text="Other", key="k1"))


async def test_a_request_that_was_stopped_may_be_tried_again(service: Recollect, clock: FakeClock) -> None:
    with pytest.raises(KeyboardInterrupt):
        await chat_of(service, Scripted(KeyboardInterrupt()), clock).turn(ALICE, ChatRequest(text="Hello", key="k1"))
    reply = await chat_of(service, Scripted(), clock).turn(ALICE, ChatRequest(text="Hello", key="k1"))
    assert reply.message.status == "complete"


@pytest.mark.parametrize(
    "wrong",
    [{"text": ""}, {"text": "a\0b"}, {"text": "x", "write_policy": "never"}, {"text": "x", "new_messages": ("m1",)}],
)
def test_wrong_requests_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ChatRequest(**wrong)


async def test_a_client_that_stores_nothing_creates_nothing(service: Recollect, clock: FakeClock) -> None:
    request = ChatRequest(text="Hello", conversation_id="c1", write_policy="client")
    reply = await chat_of(service, Scripted(), clock).turn(ALICE, request)
    assert (reply.message.seq, reply.user_message.seq) == (0, 0)
    with pytest.raises(ConversationNotFoundError):
        await service.conversations.get(ALICE, "c1")
    said = [
        NewMessage(id=m.id, role=cast("Any", m.role), content=m.content, created_at=m.created_at)
        for m in (reply.user_message, reply.message)
    ]
    assert (await service.conversations.archive(ALICE, "c1", said)).archived == 2
