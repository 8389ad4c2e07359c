"""Conversations on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from recollect.domain.conversation import MAX_TITLE, Conversation
from recollect.http.schemas.message import Id, MessageOut

Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE, pattern=r"\S")]


class ConversationsAsked(BaseModel):
    """Which conversations to list."""

    q: Annotated[str, Field(max_length=1_000)] | None = Field(None, description="Words of titles and messages.")
    archived: bool | None = Field(None, description="Only archived ones, or only the others.")
    pinned: bool | None = Field(None, description="Only pinned ones, or only the others.")
    agent: Id | None = Field(None, description="Only those of this agent.")
    limit: int = Field(50, ge=1, le=200, description="Items of a page.")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="`next` of the page before.")


class ConversationIn(BaseModel):
    """A conversation to create; the same id again returns the stored one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Moving to Oslo"}]})

    id: Id | None = None
    title: Title | None = None
    agent: Id | None = None
    metadata: dict[str, Any] = {}


class ConversationChangesIn(BaseModel):
    """What to change of a conversation; what is not sent stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Oslo", "is_pinned": True}]})

    title: Title | SkipJsonSchema[None] = None
    is_archived: bool | SkipJsonSchema[None] = None
    is_pinned: bool | SkipJsonSchema[None] = None
    metadata: dict[str, Any] | SkipJsonSchema[None] = None
    head_id: Id | None = Field(
        None,
        description="Read and continue the branch that ends with this message; null goes back before the first one.",
    )

    @field_validator("title", "is_archived", "is_pinned", "metadata", mode="before")
    @classmethod
    def _is_something(cls, value: object) -> object:
        if value is None:
            raise ValueError("leave it out to keep it as it is")
        return value

    def changes(self) -> dict[str, Any]:
        """Return what was sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ConversationOut(BaseModel):
    """A conversation."""

    id: str
    agent: str
    title: str | None
    title_source: Literal["auto", "user"]
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
    def of(cls, conversation: Conversation, **more: Any) -> Self:
        """Return the wire shape of a conversation."""
        own = ConversationOut.model_fields
        fields = {name: getattr(conversation, name) for name in own if name != "metadata"}
        return cls(**fields, metadata=dict(conversation.metadata), **more)


class ListedConversation(ConversationOut):
    """A conversation of a list; with a search, where it was found."""

    snippet: str | None = Field(None, description="With `q`: the words that were found, in their surroundings.")
    message_id: str | None = Field(None, description="With `q`: the message of the snippet.")


class ConversationPageOut(BaseModel):
    """A page of conversations, newest activity first."""

    items: list[ListedConversation]
    next: str | None
    corrupt: list[str] = Field(default=[], description="Ids of conversations of this page whose record is damaged.")


class OpenedConversation(ConversationOut):
    """A conversation with its newest messages."""

    messages: list[MessageOut]
    next: str | None = Field(
        description="The oldest of these messages if there are older ones: put it into `before` of the messages."
    )
    corrupt: list[str] = Field(default=[], description="Ids of messages of this page whose record is damaged.")
