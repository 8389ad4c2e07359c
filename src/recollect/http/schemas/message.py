"""Messages on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path
from msgspec import UNSET
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from recollect.domain.context import Recalled
from recollect.domain.message import Message, NewMessage, ToolCall
from recollect.domain.page import MessagePage

Id = Annotated[str, Field(min_length=1, max_length=128)]
#: An id in the address of a request.
PathId = Annotated[str, Path(min_length=1, max_length=128)]
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _written(value: object) -> object:
    """Refuse a number, which could count seconds or milliseconds."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("write the time with its zone, such as 2026-05-17T09:30:00Z")


#: A client's own time; what has no zone is no moment.
Moment = Annotated[AwareDatetime, BeforeValidator(_written)]


class ToolCallIn(BaseModel):
    """A call of a tool, with its output if that is known."""

    id: Id
    tool_name: Annotated[str, Field(min_length=1, max_length=255)]
    input: Any = None
    output: Any = None


class MessageIn(BaseModel):
    """A message to store; its id makes storing it again do nothing."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "m-1", "role": "user", "content": "I moved to Oslo in May."}]}
    )

    role: Literal["user", "assistant", "system", "tool"]
    content: str = ""
    id: Id | None = None
    name: Annotated[str, Field(max_length=255)] | None = None
    created_at: Moment | None = None
    parent_id: Id | None = Field(None, description="The message it answers; unset is the head of the conversation.")
    status: Literal["complete", "interrupted", "failed"] = "complete"
    tool_calls: list[ToolCallIn] = Field(default=[], max_length=100)
    tool_call_id: Id | None = Field(None, description="On a tool message: the call that it answers.")
    suggested_values: Any = None
    suggested_actions: Any = None
    custom_payload: Any = None
    metadata: dict[str, Any] = {}

    def new(self, new_id: Callable[[], str], now: datetime) -> NewMessage:
        """Return the message to store."""
        return NewMessage(
            id=self.id or new_id(),
            role=self.role,
            content=self.content,
            created_at=self.created_at or now,
            name=self.name,
            parent_id=self.parent_id if "parent_id" in self.model_fields_set else UNSET,
            status=self.status,
            tool_calls=tuple(ToolCall(**call.model_dump()) for call in self.tool_calls),
            tool_call_id=self.tool_call_id,
            suggested_values=self.suggested_values,
            suggested_actions=self.suggested_actions,
            custom_payload=self.custom_payload,
            metadata=self.metadata,
        )


class SeedMessage(BaseModel):
    """A message as a client keeps it in its buffer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "m-1", "text": "I moved to Oslo.", "sender": "user", "timestamp": "2026-05-17T09:30:00Z"}
            ]
        }
    )

    id: Id | None = None
    text: str
    sender: Literal["user", "ai"]
    timestamp: Moment | None = None

    def new(self, new_id: Callable[[], str], now: datetime) -> NewMessage:
        """Return the message to store."""
        return NewMessage(
            id=self.id or new_id(),
            role="user" if self.sender == "user" else "assistant",
            content=self.text,
            created_at=self.timestamp or now,
        )


AnyMessage = SeedMessage | MessageIn


class ToolCallOut(BaseModel):
    """A call of a tool, with its output once that is known."""

    id: str
    tool_name: str
    input: Any
    output: Any


class MemoryUsed(BaseModel):
    """A memory that the model was told, and why."""

    id: str
    memory_type: str
    content: str
    why: str


def memories_used(told: Sequence[Recalled]) -> list[MemoryUsed]:
    """Return the wire shape of the memories that a model was told."""
    return [
        MemoryUsed(id=one.memory.id, memory_type=one.memory.memory_type, content=one.memory.content, why=one.why)
        for one in told
        if one.memory is not None
    ]


class MessageOut(BaseModel):
    """A stored message."""

    id: str
    conversation_id: str
    seq: int = Field(description="Its place in the conversation; 0 while only the client has it.")
    parent_id: str | None
    role: Literal["user", "assistant", "system", "tool", "summary"]
    name: str | None
    content: str
    status: Literal["complete", "interrupted", "failed"]
    created_at: datetime
    tool_calls: list[ToolCallOut]
    tool_call_id: str | None = Field(description="On a tool message: the call that it answers.")
    suggested_values: Any
    suggested_actions: Any
    custom_payload: Any
    metadata: dict[str, Any]
    siblings: list[str] = Field(
        default=[],
        description="In a page: all messages that answer the same parent, oldest first, if there are several.",
    )
    sibling_heads: list[str] = Field(
        default=[],
        description="For each of `siblings`, in the same order: the newest message that it leads to. "
        "Set `head_id` of the conversation to it, to read that branch to its end.",
    )
    memories: list[MemoryUsed] | None = Field(
        None,
        exclude_if=lambda value: value is None,
        description="On a reply, if they were asked for: the memories that the model was told, as they are now; those "
        "that were deleted since or may no longer be told are left out.",
    )

    @classmethod
    def of(cls, message: Message, siblings: Iterable[str] = (), heads: Iterable[str] = ()) -> MessageOut:
        """Return the wire shape of a message."""
        own = ("tool_calls", "metadata", "siblings", "sibling_heads", "memories")
        fields = {name: getattr(message, name) for name in cls.model_fields if name not in own}
        calls = [
            ToolCallOut(id=call.id, tool_name=call.tool_name, input=call.input, output=call.output)
            for call in message.tool_calls
        ]
        fields |= {"siblings": list(siblings), "sibling_heads": list(heads)}
        return cls(**fields, tool_calls=calls, metadata=dict(message.metadata))


class MessagesAsked(BaseModel):
    """Which messages to read: the newest, those next to one, or those that a summary stands for."""

    limit: int = Field(50, ge=1, le=200, description="Items of a page.")
    before: Id | None = Field(None, description="A message: read those before it.")
    after: Id | None = Field(None, description="A message: read those after it.")
    memories: bool = Field(False, description="Tell with each reply the memories that the model was told.")
    expand: Id | None = Field(
        None,
        description="The `summary_metadata_id` of a summary: read the messages that it stands for, oldest first, "
        "with the summaries that it folds in their places. Goes with `after`, not with `before`.",
    )


class Messages(BaseModel):
    """A page of messages, oldest first, with summaries in their places."""

    items: list[MessageOut]
    next: str | None = Field(
        description="The message to go on from, or null at the end: put it into `after` if `after` or `expand` was "
        "given, else into `before`."
    )
    corrupt: list[str] = Field(default=[], description="Ids of messages of this page whose record is damaged.")

    @classmethod
    def of(
        cls, page: MessagePage, *, is_forwards: bool = False, told: Mapping[str, Sequence[Recalled]] | None = None
    ) -> Messages:
        """Return the wire shape of a page that was read in this direction, with the memories told for its replies."""
        items = listed(page)
        for item in items:
            if told is not None and item.id in told:
                item.memories = memories_used(told[item.id])
        return cls(items=items, next=next_of(page, is_forwards=is_forwards), corrupt=list(page.corrupt))


def listed(page: MessagePage) -> list[MessageOut]:
    """Return the messages of a page with its summaries in their places."""
    found: list[MessageOut] = []
    for message in page.in_place():
        siblings = page.siblings.get(message.id, ())
        found.append(MessageOut.of(message, siblings, (page.ends[one] for one in siblings)))
    return found


def next_of(page: MessagePage, *, is_forwards: bool = False) -> str | None:
    """Return the message from which the next page goes on."""
    known = [message.id for message in page.messages] or list(page.corrupt)
    if not page.more or not known:
        return None
    return known[-1] if is_forwards else known[0]


class NewMessagesIn(BaseModel):
    """Messages to add without a reply."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "I moved to Oslo in May."}]}]}
    )

    messages: list[AnyMessage] = Field(min_length=1, max_length=1_000)


class AddedMessages(BaseModel):
    """What became of messages that were added."""

    items: list[MessageOut] = Field(description="The messages that this request stored.")
    duplicates: list[str] = Field(description="Ids that were stored before.")
    refused: list[str] = Field(description="Ids that were erased and stay so.")
