"""The shapes on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.conversation import Conversation
from recollect.domain.message import Message


class ChatIn(BaseModel):
    """What the user says."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message": "I moved to Oslo in May."}]})

    message: str
    conversation_id: str | None = None


class MessageOut(BaseModel):
    """A stored message."""

    id: str
    conversation_id: str
    seq: int
    parent_id: str | None
    role: str
    name: str | None
    content: str
    status: str
    created_at: datetime
    tool_calls: list[dict[str, Any]]
    suggested_values: Any
    suggested_actions: Any
    custom_payload: Any
    metadata: dict[str, Any]

    @classmethod
    def of(cls, message: Message) -> MessageOut:
        """Return the wire shape of a message."""
        fields = {name: getattr(message, name) for name in cls.model_fields if name not in ("tool_calls", "metadata")}
        calls = [
            {"id": c.id, "tool_name": c.tool_name, "input": c.input, "output": c.output} for c in message.tool_calls
        ]
        return cls(**fields, tool_calls=calls, metadata=dict(message.metadata))


class Recalled(BaseModel):
    """Something the user said before that the reply could use."""

    message_id: str
    conversation_id: str
    content: str
    why: str


class UsageOut(BaseModel):
    """Tokens read and written by the model."""

    input_tokens: int
    output_tokens: int


class ChatOut(BaseModel):
    """A recorded turn."""

    conversation_id: str
    session_id: str
    user_message_ids: list[str]
    message: MessageOut
    recalled: list[Recalled]
    usage: UsageOut
    durability: str = Field(description="`durable`: both messages are on disk.")


class ConversationOut(BaseModel):
    """A conversation."""

    id: str
    agent: str
    title: str | None
    title_source: str
    is_archived: bool
    is_pinned: bool
    metadata: dict[str, Any]
    head_id: str | None
    message_count: int
    summary: str | None
    created_at: datetime
    updated_at: datetime
    last_activity_at: datetime
    is_active: bool
    version: int

    @classmethod
    def of(cls, conversation: Conversation) -> ConversationOut:
        """Return the wire shape of a conversation."""
        fields = {name: getattr(conversation, name) for name in cls.model_fields if name != "metadata"}
        return cls(**fields, metadata=dict(conversation.metadata))


class Conversations(BaseModel):
    """A page of conversations."""

    items: list[ConversationOut]


class Messages(BaseModel):
    """A page of messages, oldest first."""

    items: list[MessageOut]


class Health(BaseModel):
    """Whether the server can do its work."""

    status: str
