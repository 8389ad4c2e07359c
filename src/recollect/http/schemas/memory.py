"""Memories on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET
from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.context import Recalled
from recollect.domain.memory import MAX_CATEGORY, MAX_MEMORY, Memory, MemoryType, MemoryVersion, Origin, Trust
from recollect.domain.memory_listing import MemorySort
from recollect.domain.message import Role
from recollect.http.cursors import Cursor, Limit
from recollect.http.schemas.message import Id, MessageOut, Moment
from recollect.service.memories import Correction, Review, Statement

#: Documented here and refused below, by a message that says what to do.
_SAYS_SOMETHING = {"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}
_NO_NUL = {"pattern": r"^[^\u0000]*$"}

Content = Annotated[str, Field(min_length=1, max_length=MAX_MEMORY, json_schema_extra=_SAYS_SOMETHING)]
Category = Annotated[str, Field(max_length=MAX_CATEGORY, json_schema_extra=_NO_NUL)]
#: A number from 0 to 1, never text that looks like one.
Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Flag = Annotated[bool, Field(strict=True)]

EXAMPLE: dict[str, Any] = {
    "id": "01997f0e-6d1c-7cc3-98c4-dc0c0c07398f",
    "agent": "assistant",
    "memory_type": "preference",
    "category": "food",
    "content": "Prefers green tea",
    "importance": 0.7,
    "confidence": 1.0,
    "is_pinned": False,
    "is_archived": False,
    "origin": "manual",
    "trust": "active",
    "quote": None,
    "source_conversation_id": None,
    "source_message_id": None,
    "source_message_ids": [],
    "subject": None,
    "attribute": None,
    "valid_from": None,
    "valid_to": None,
    "superseded_by": None,
    "created_at": "2026-05-17T09:30:00Z",
    "updated_at": "2026-05-17T09:30:00Z",
    "last_accessed_at": "2026-05-17T09:30:00Z",
    "access_count": 0,
    "version": 1,
}


def _unsent() -> Any:
    """Return the default of a value that may be left out but, if it is sent, not be null."""
    return Field(None)


def _document_changes(schema: dict[str, Any]) -> None:
    """Document that what is left out stays, and has no value by default."""
    for field in schema["properties"].values():
        field.pop("default", None)
    schema["examples"] = [{"content": "Prefers black tea", "is_pinned": True}]


class MemoryIn(BaseModel):
    """A memory that a person states."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"content": "Prefers green tea", "memory_type": "preference", "category": "food"}]
        }
    )

    content: Content
    memory_type: MemoryType
    category: Category | None = None
    importance: Share = 0.5
    confidence: Share = 1.0
    is_pinned: Flag = False
    conversation_id: Id | None = Field(None, description="The conversation that it is added to.")

    def statement(self, memory_id: str) -> Statement:
        """Return what is stated, under this id."""
        return Statement(id=memory_id, **{name: getattr(self, name) for name in MemoryIn.model_fields})


class MemoryChangesIn(BaseModel):
    """What to change of a memory; what is not sent stays."""

    model_config = ConfigDict(json_schema_extra=_document_changes)

    content: Content = _unsent()
    memory_type: MemoryType = _unsent()
    category: Category | None = Field(None, description="Null takes the category away.")
    importance: Share = _unsent()
    confidence: Share = _unsent()
    is_pinned: Flag = _unsent()
    is_archived: Flag = _unsent()

    def correction(self, version: int | None) -> Correction:
        """Return what is changed if the memory is at this version; a null where none may be is refused below."""
        sent = {name: getattr(self, name) for name in self.model_fields_set}
        return Correction(**sent, expected_version=version)


class MemoryOut(BaseModel):
    """A memory, where it comes from and how long it holds."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    agent: str = Field(description="The agent that it was learned with; all agents of the user may use it.")
    memory_type: MemoryType
    category: str | None
    content: str
    importance: float
    confidence: float
    is_pinned: bool
    is_archived: bool
    origin: Origin
    trust: Trust
    quote: str | None = Field(description="The words of the source that say so.")
    source_conversation_id: str | None
    source_message_id: str | None
    source_message_ids: list[str]
    subject: str | None
    attribute: str | None
    valid_from: datetime | None
    valid_to: datetime | None = Field(description="Set once it holds no longer.")
    superseded_by: str | None = Field(description="The memory that took its place.")
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int
    version: int = Field(description="Also the ETag, for If-Match.")

    @classmethod
    def of(cls, memory: Memory) -> MemoryOut:
        """Return the wire shape of a memory."""
        own = {name: value for name in cls.model_fields if (value := getattr(memory, name, UNSET)) is not UNSET}
        messages = [source.message_id for source in memory.sources]
        return cls(
            **own,
            source_conversation_id=memory.conversation_id,
            source_message_id=messages[0] if messages else None,
            source_message_ids=messages,
        )


class MemoryPageOut(BaseModel):
    """A page of memories, in the order that was asked for."""

    items: list[MemoryOut]
    next: str | None
    corrupt: list[str] = Field(default=[], description="Ids of memories of this page whose record is damaged.")


class MemoryFilters(BaseModel):
    """Which memories are meant."""

    type: MemoryType | None = None
    category: Category | None = None
    origin: Origin | None = None
    trust: Trust | None = Field(default="active", description="`pending` is the review inbox.")
    pinned: bool | None = None
    archived: bool | None = Field(default=False, description="Only archived ones instead of only the others.")
    conversation_id: Id | None = Field(
        default=None, description="Only what was learned in this conversation or added to it."
    )

    def fields(self) -> dict[str, Any]:
        """Return the filters by their names in a query."""
        named = {name: getattr(self, name) for name in MemoryFilters.model_fields}
        return {"memory_type": named.pop("type"), **named}


class MemoryListing(MemoryFilters):
    """Which page of which memories to list."""

    q: Annotated[str, Field(max_length=1_000)] | None = Field(
        default=None, description="Words, or parts of them, that the content or the category must hold, all of them."
    )
    as_of: Moment | None = Field(
        default=None, description="The values that held at this time, instead of the current ones."
    )
    since: Moment | None = Field(default=None, description="Only what was learned from this time on.")
    until: Moment | None = Field(default=None, description="Only what was learned before this time.")
    sort: MemorySort = Field(
        default="newest",
        description="The last added first, the first added first, or those that matter most first.",
    )
    limit: Limit = 50
    cursor: Cursor = None


class SearchFilters(MemoryFilters):
    """Which memories and messages may answer; those of trust, pin and the like say nothing of messages."""

    model_config = ConfigDict(extra="forbid")

    pinned: Flag | None = None
    archived: Flag | None = Field(
        default=False, description="Only archived ones instead of only the others; null is both."
    )
    trust: Trust | None = Field(default="active", description="Null is any.")
    role: Role | None = Field(default=None, description="Only messages of this role.")
    since: Moment | None = Field(default=None, description="Only what was said or learned from this time on.")
    until: Moment | None = Field(default=None, description="Only what was said or learned before this time.")


class MemorySearchIn(BaseModel):
    """A question to what is remembered."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "What do I drink?", "limit": 5, "filters": {"type": "preference"}, "messages": True}]
        }
    )

    query: Annotated[str, Field(min_length=1, max_length=MAX_MEMORY, json_schema_extra=_NO_NUL)]
    limit: Annotated[int, Field(ge=1, le=200, strict=True)] = 10
    filters: SearchFilters = SearchFilters()
    messages: Flag = Field(False, description="Look among all that was said, too.")
    as_of: Moment | None = Field(None, description="The values that held at this time, instead of the current ones.")


class MemoryHit(BaseModel):
    """A memory that answers."""

    memory: MemoryOut
    score: float
    why: str


class MessageHit(BaseModel):
    """A message that answers."""

    message: MessageOut
    score: float
    why: str


class Hits(BaseModel):
    """What answers, the best first."""

    items: list[MemoryHit | MessageHit]

    @classmethod
    def of(cls, found: tuple[Recalled, ...]) -> Hits:
        """Return the wire shape of what recall found."""
        return cls(items=[_hit(one) for one in found])


def _hit(found: Recalled) -> MemoryHit | MessageHit:
    if found.message is not None:
        return MessageHit(message=MessageOut.of(found.message), score=found.score, why=found.why)
    assert found.memory is not None, "a hit is one or the other"
    return MemoryHit(memory=MemoryOut.of(found.memory), score=found.score, why=found.why)


class MemoryVersionOut(BaseModel):
    """A memory as it was before a change."""

    memory: MemoryOut
    until: datetime = Field(description="When it stopped being so.")


class SourceOut(BaseModel):
    """A message that a memory is drawn from."""

    conversation_id: str
    message_id: str


class MemoryHistoryOut(BaseModel):
    """What a memory was before each change, newest first, and what else held in its place."""

    items: list[MemoryVersionOut]
    next: str | None
    values: list[MemoryOut] = Field(
        description="Whatever held in its place before and after it, and itself, in the order in which they held."
    )
    sources: list[SourceOut] = Field(description="The messages that it is drawn from.")

    @classmethod
    def of(
        cls, versions: tuple[MemoryVersion, ...], more: str | None, memory: Memory, values: tuple[Memory, ...]
    ) -> MemoryHistoryOut:
        """Return the wire shape of a page of the versions of a memory."""
        items = [MemoryVersionOut(memory=MemoryOut.of(one.memory), until=one.until) for one in versions]
        sources = [SourceOut(conversation_id=one.conversation_id, message_id=one.message_id) for one in memory.sources]
        return cls(items=items, next=more, values=[MemoryOut.of(one) for one in values], sources=sources)


class ReviewIn(BaseModel):
    """What becomes of a memory that waits for review."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decision": "approve"}]})

    decision: Review
    content: Content | None = Field(None, description="Approve it in these words.")


class ReviewsIn(BaseModel):
    """What becomes of several memories that wait for review."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": ["01997f0e-6d1c-7cc3-98c4-dc0c0c07398f"], "decision": "reject"}]}
    )

    ids: list[Id] = Field(min_length=1, max_length=200)
    decision: Review


class MemoriesOut(BaseModel):
    """Several memories."""

    items: list[MemoryOut]


class ExtractIn(BaseModel):
    """The conversation to learn from."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"conversation_id": "moving-to-oslo"}]})

    conversation_id: Id
