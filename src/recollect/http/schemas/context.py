"""What a model is given, on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.context import Context, ItemState
from recollect.http.schemas.message import MessageOut
from recollect.service.conversations import Context as ShortConversation

Kind = Literal["system", "pinned", "notes", "summaries", "memories", "passages", "window", "given", "message"]


class ContextItemOut(BaseModel):
    """One thing that stands in the prompt."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="Empty for a message of the window that was erased since.")
    text: str
    tokens: int
    why: str
    state: ItemState = Field(
        "same",
        description="What became of it since the turn: `same`, the text is what the model read; `changed`, that text "
        "is no longer to be had, and this is what it says now; `erased`, there is none. Always `same` in a preview.",
    )


class ContextBlockOut(BaseModel):
    """What stands together in the prompt."""

    model_config = ConfigDict(from_attributes=True)

    kind: Kind
    tokens: int
    items: list[ContextItemOut]


class LeftOutItem(BaseModel):
    """One thing that does not stand in the prompt, and why."""

    model_config = ConfigDict(from_attributes=True)

    kind: Kind
    id: str = Field(description="Empty for a message of the window that was erased since.")
    tokens: int
    why: str


class PromptCallOut(BaseModel):
    """A call of a tool, as the model is told of it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    tool_name: str
    input: Any


class PromptMessageOut(BaseModel):
    """A message for the model."""

    model_config = ConfigDict(from_attributes=True)

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: list[PromptCallOut]
    tool_call_id: str | None


class ContextOut(BaseModel):
    """A prompt under a budget, and what it is made of."""

    model_config = ConfigDict(from_attributes=True)

    budget: int
    tokens: int
    over: int = Field(description="By how much the system prompt and the question alone exceed the budget.")
    blocks: list[ContextBlockOut]
    left_out: list[LeftOutItem]
    prompt: str = Field(description="The text for the system role.")
    tail: str = Field(description="What is told for this question, as it stands in the messages.")
    messages: list[PromptMessageOut]

    @classmethod
    def of(cls, context: Context) -> ContextOut:
        """Return the wire shape of a prompt."""
        return cls.model_validate(context)


class SessionContextOut(BaseModel):
    """A session as short as it is kept: summaries of what is old, the newest messages word for word."""

    model_config = ConfigDict(serialize_by_alias=True)

    summaries: list[str] = Field(description="Oldest first.")
    recent_messages: list[MessageOut] = Field(alias="recentMessages")
    total_messages: int = Field(alias="totalMessages", description="How many are stored, on all branches.")

    @classmethod
    def of(cls, context: ShortConversation) -> SessionContextOut:
        """Return the wire shape of a shortened conversation."""
        return cls(
            summaries=[summary.content for summary in context.summaries],
            recentMessages=[MessageOut.of(message) for message in context.recent],
            totalMessages=context.total,
        )
