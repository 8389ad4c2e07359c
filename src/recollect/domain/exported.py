"""The format in which conversations leave and come back: JSON records, each with its kind.

A conversation comes before its messages, a message after the one it answers, and a summary after all that it covers,
so that a reader can store each record as it comes.
Nothing here knows who writes them to whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from recollect.domain.conversation import Conversation, TitleSource
from recollect.domain.message import Message, MessageStatus, NewMessage, ToolCall, WrittenRole
from recollect.domain.summary import NewSummary, Summary

#: The version of the format; a reader refuses one that it does not know.
VERSION = 1


class ExportHeader(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="export"):
    """The first record: what follows, and since when."""

    format: Literal["recollect"] = "recollect"
    version: int = VERSION
    exported_at: datetime


class ConversationRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="conversation"):
    """A conversation without its messages."""

    id: str
    agent: str
    title: str | None = None
    title_source: TitleSource = "auto"
    is_archived: bool = False
    is_pinned: bool = False
    metadata: Mapping[str, Any] = {}
    #: The newest message of the branch that is read and continued.
    head_id: str | None = None
    created_at: datetime
    last_activity_at: datetime
    #: Memories were learned from all messages up to this seq.
    extracted_seq: int = 0


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="message"):
    """A message of whichever branch; tool results stand in messages of their own, as they are stored."""

    conversation_id: str
    id: str
    #: Its place; holes are left by what was erased.
    seq: int
    #: The message it answers; None starts a root.
    parent_id: str | None
    role: WrittenRole
    content: str
    created_at: datetime
    name: str | None = None
    status: MessageStatus = "complete"
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    suggested_values: Any = None
    suggested_actions: Any = None
    custom_payload: Any = None
    metadata: Mapping[str, Any] = {}

    def new(self) -> NewMessage:
        """Return the message to store; one that no store could keep raises `InvalidMessageError`."""
        names = NewMessage.__struct_fields__
        return NewMessage(**{name: getattr(self, name) for name in names})


class SummaryRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="summary"):
    """A summary, folded or not; those that it folds come before it."""

    conversation_id: str
    id: str
    #: The id under which it shows up among the messages.
    message_id: str
    content: str
    generator: str
    created_at: datetime
    #: The messages it covers; empty for a fold.
    message_ids: tuple[str, ...] = ()
    #: The summaries it folds into one.
    folds: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}

    def new(self) -> NewSummary:
        """Return the summary to store."""
        return NewSummary(
            id=self.id,
            message_id=self.message_id,
            conversation_id=self.conversation_id,
            content=self.content,
            at=self.created_at,
            generator=self.generator,
            message_ids=self.message_ids,
            folds=self.folds,
            metadata=self.metadata,
        )


class DamagedRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="damaged"):
    """Something that was stored and cannot be read any more, so that it is not missed without a word."""

    #: What was damaged, such as a message or a memory.
    what: str
    id: str
    conversation_id: str | None = None


#: What a conversation is exported as.
Record = ConversationRecord | MessageRecord | SummaryRecord | DamagedRecord


def conversation_record(conversation: Conversation) -> ConversationRecord:
    """Return the conversation as it is exported."""
    names = ConversationRecord.__struct_fields__
    return ConversationRecord(**{name: getattr(conversation, name) for name in names})


def message_record(message: Message) -> MessageRecord:
    """Return the message as it is exported."""
    names = MessageRecord.__struct_fields__
    return MessageRecord(**{name: getattr(message, name) for name in names})


def summary_record(summary: Summary) -> SummaryRecord:
    """Return the summary as it is exported."""
    names = SummaryRecord.__struct_fields__
    return SummaryRecord(**{name: getattr(summary, name) for name in names})
