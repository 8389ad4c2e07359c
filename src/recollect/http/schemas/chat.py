"""Chat on the wire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET
from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.idempotency import RequestKey
from recollect.domain.turn import Usage
from recollect.errors import InvalidInputError
from recollect.http.schemas.message import AnyMessage, Id, MemoryUsed, MessageOut, memories_used
from recollect.service.chat_request import MAX_NEW, ChatReply, ChatRequest

_EXAMPLES: list[Any] = [
    {"message": "I moved to Oslo in May."},
    {
        "session_id": "s-1",
        "new_messages": [
            {"id": "m-1", "text": "I moved to Oslo.", "sender": "user", "timestamp": "2026-05-17T09:30:00Z"}
        ],
    },
]


class ChatIn(BaseModel):
    """What the user says: a `message`, or `new_messages` of which the last is the user's."""

    model_config = ConfigDict(json_schema_extra={"examples": _EXAMPLES})

    message: str | None = Field(None, description="What the user says.")
    new_messages: list[AnyMessage] | None = Field(
        None, max_length=MAX_NEW, description="What the client has not archived yet; the last is what the user says."
    )
    conversation_id: Id | None = Field(None, description="Unset begins a new conversation.")
    session_id: Id | None = Field(None, description="The same as `conversation_id`.")
    agent_id: Id | None = Field(None, description="The agent that answers; unset is the default.")
    context: dict[str, Any] | None = Field(None, description="What the model is told of the moment; the turn keeps it.")
    mode: Literal["chat", "document", "research"] = "chat"
    temporary: bool = Field(False, description="Neither read nor write anything that lasts.")
    parent_id: Id | None = Field(
        None, description="Say it after this message, on a branch of its own; null is before the first message."
    )
    regenerate: Id | None = Field(None, description="Answer again what this message answered, or this message.")
    write_policy: Literal["turn", "ahead", "client"] | None = None

    def request(self, new_id: Callable[[], str], now: datetime, asked: RequestKey | None) -> ChatRequest:
        """Return what is asked."""
        if self.conversation_id and self.session_id and self.conversation_id != self.session_id:
            raise InvalidInputError("conversation_id and session_id are the same thing; give one of them")
        if self.message is not None and self.new_messages is not None:
            raise InvalidInputError("give message or new_messages, not both")
        if self.message == "":
            raise InvalidInputError("message must not be empty")
        return ChatRequest(
            text=self.message or "",
            new_messages=tuple(one.new(new_id, now) for one in self.new_messages or ()),
            conversation_id=self.conversation_id or self.session_id,
            key=None if asked is None else asked.key,
            digest=None if asked is None else asked.digest,
            write_policy=self.write_policy,
            mode=self.mode,
            parent_id=self.parent_id if "parent_id" in self.model_fields_set else UNSET,
            regenerate=self.regenerate,
            context=self.context or {},
            temporary=self.temporary,
        )


class UsageOut(BaseModel):
    """Tokens that the model read and wrote."""

    input_tokens: int
    output_tokens: int

    @classmethod
    def of(cls, usage: Usage) -> UsageOut:
        """Return the wire shape."""
        return cls(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


class ChatOut(BaseModel):
    """A turn that was taken."""

    conversation_id: str
    session_id: str
    user_message_ids: list[str]
    message: MessageOut
    memories_used: list[MemoryUsed]
    usage: UsageOut
    durability: Literal["durable", "client", "volatile"] = Field(
        description="`durable`: all messages are on disk. `client`: the client keeps them until it archives. "
        "`volatile`: nobody keeps them."
    )

    @classmethod
    def of(cls, reply: ChatReply) -> ChatOut:
        """Return the wire shape of a turn."""
        return cls(
            conversation_id=reply.conversation_id,
            session_id=reply.conversation_id,
            user_message_ids=[one.id for one in reply.said if one.role == "user"],
            message=MessageOut.of(reply.message),
            memories_used=memories_used(reply.memories),
            usage=UsageOut.of(reply.usage),
            durability=reply.durability,
        )


class StopIn(BaseModel):
    """A reply to end where it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "01a1e34d-80bc-7503-b3cc-2da3ccdadca7"}]})

    message_id: Annotated[str, Field(min_length=1, max_length=128)]


class StopOut(BaseModel):
    """A reply that was told to end."""

    message_id: str
    was_running: bool
