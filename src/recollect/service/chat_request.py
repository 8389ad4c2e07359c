"""What a chat turn is asked, what is heard while it is taken, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import (
    check_flag,
    check_items,
    check_object,
    check_one_of,
    check_optional_id,
    check_text,
    check_type,
)
from recollect.domain.context import Recalled
from recollect.domain.message import Message, NewMessage
from recollect.domain.turn import MODES, Mode, Usage
from recollect.errors import InvalidInputError
from recollect.ports.chat_model import MAX_TOOLS, TextDelta, ToolCallRequest, ToolSpec
from recollect.ports.responder import Sampling, ToolReturned

WritePolicy = Literal["turn", "ahead", "client"]
Durability = Literal["durable", "client", "volatile"]
#: What a client may send with one turn.
MAX_NEW = 1_000
#: Characters of what an application says of the moment.
MAX_CONTEXT = 20_000


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says, and where."""

    #: What the user says; empty if it is the last of `new_messages`.
    text: str = ""
    #: What was said before it and is not stored yet, oldest first; the policy `client` does not store it now either.
    new_messages: tuple[NewMessage, ...] = ()
    conversation_id: str | None = None
    #: The same key and request again have one effect and get the first answer.
    key: str | None = None
    #: What tells it from other requests with its key; None is all that is asked.
    digest: str | None = None
    #: When the messages become durable; None is what the settings say.
    write_policy: WritePolicy | None = None
    #: What the turn is about, which changes what is learned from it.
    mode: Mode = "chat"
    #: The message after which this is said, on a branch of its own; None is before the first, unset the newest.
    parent_id: str | None | UnsetType = UNSET
    #: Answer again what this message answered, on a branch of its own; then nothing new is said.
    regenerate: str | None = None
    #: What the application says of the moment; the model is told, and the turn keeps it.
    context: Mapping[str, Any] = {}
    #: What the application tells the model in this turn, besides the settings.
    instructions: str = ""
    #: Neither read nor write anything that lasts.
    temporary: bool = False
    #: Tools that whoever asks runs: the reply then ends with the calls.
    tools: tuple[ToolSpec, ...] = ()
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        check_text(self.text, "message")
        check_items(self.new_messages, NewMessage, "new_messages", at_most=MAX_NEW)
        for value, what in (
            (self.conversation_id, "conversation id"),
            (self.key, "idempotency key"),
            (self.digest, "request digest"),
            (self.regenerate, "regenerate"),
        ):
            check_optional_id(value, what)
        if self.write_policy is not None:
            check_one_of(self.write_policy, ("turn", "ahead", "client"), "write_policy")
        check_one_of(self.mode, MODES, "mode")
        check_object(self.context, "context")
        if self.context and len(msgspec.json.encode(self.context)) > MAX_CONTEXT:
            raise InvalidInputError(f"context must be at most {MAX_CONTEXT} bytes of JSON")
        check_text(self.instructions, "instructions")
        check_flag(self.temporary, "temporary")
        check_items(self.tools, ToolSpec, "tools", at_most=MAX_TOOLS)
        check_type(self.sampling, Sampling, "sampling")
        self._check_place()

    def _check_place(self) -> None:
        if self.parent_id is not UNSET:
            check_optional_id(self.parent_id, "parent_id")
        last = self.new_messages[-1].role if self.new_messages and not self.text else "user"
        if self.regenerate is None:
            if not self.text and not self.new_messages:
                raise InvalidInputError("message must not be empty")
            if last not in ("user", "tool"):
                raise InvalidInputError("the last message must be the user's or a tool's")
            return
        if self.text or self.new_messages or self.parent_id is not UNSET or self.temporary:
            raise InvalidInputError("regenerate answers again what was said; it takes no message and no parent_id")
        if self.conversation_id is None:
            raise InvalidInputError("regenerate needs the conversation_id of the message")


class Started(msgspec.Struct, frozen=True):
    """The reply begins."""

    conversation_id: str
    message_id: str
    #: The memories that the model was told, with why.
    memories: tuple[Recalled, ...]


class Saved(msgspec.Struct, frozen=True):
    """The turn is as durable as it will be."""

    durability: Durability
    messages: tuple[Message, ...]


class Failed(msgspec.Struct, frozen=True):
    """Something went wrong; the text holds nothing that was said."""

    code: str
    detail: str


ChatEvent = Started | TextDelta | ToolCallRequest | ToolReturned | Saved


def _hear_nothing(event: ChatEvent) -> None:
    pass


class Hearing(msgspec.Struct, frozen=True, kw_only=True):
    """Follow a turn while it is taken, and end it early."""

    hear: Callable[[ChatEvent], None] = _hear_nothing
    #: Once it is set, the reply ends where it is and is kept as interrupted.
    stop: asyncio.Event | None = None


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The turn; unless it is durable its messages are not stored, and their seq is 0."""

    conversation_id: str
    #: What was answered.
    user_message: Message
    #: What the user's side added: all new messages, in order.
    said: tuple[Message, ...] = ()
    #: The end of the reply.
    message: Message
    recalled: tuple[Recalled, ...] = ()
    #: The memories that the model was told, with why.
    memories: tuple[Recalled, ...] = ()
    usage: Usage = Usage()
    durability: Durability = "durable"
    #: Why the reply failed, if it did.
    failure: Failed | None = None
    #: The conversation that was asked for, if it is damaged; the turn then began a new one.
    damaged_id: str | None = None


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How turns are taken."""

    write_policy: WritePolicy = "turn"
    #: Answer while the store is away, and say that nothing is kept.
    volatile_fallback: bool = False
    #: After this time a retry may take the turn that nobody finished; it stores nothing twice.
    lease: timedelta = timedelta(seconds=20)
