"""Writing messages: a turn, a plain append, or a batch that the client kept until now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_ids,
    check_items,
    check_object,
    check_one_of,
    check_optional_id,
    check_time,
    check_type,
)
from recollect.domain.context_record import ContextRecord
from recollect.domain.conversation import Conversation
from recollect.domain.idempotency import Answer
from recollect.domain.job import NewJob
from recollect.domain.message import Message, MessageStatus, NewMessage
from recollect.domain.vector import MessageVector
from recollect.errors import InvalidInputError

Mode = Literal["chat", "document", "research"]
MODES: tuple[str, ...] = get_args(Mode)
MAX_JOBS = 20


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that a model read and wrote."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __post_init__(self) -> None:
        check_count(self.input_tokens, "input_tokens")
        check_count(self.output_tokens, "output_tokens")


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Messages to add at the head of a conversation, with the jobs that they make necessary."""

    conversation_id: str
    messages: tuple[NewMessage, ...]
    at: datetime
    jobs: tuple[NewJob, ...] = ()
    #: Create the conversation if there is none with this id.
    create: bool = False
    #: What some of the messages mean; it is kept for those that are stored and can be recalled.
    vectors: tuple[MessageVector, ...] = ()

    def __post_init__(self) -> None:
        check_id(self.conversation_id, "conversation id")
        check_items(self.messages, NewMessage, "messages", at_least=1)
        check_time(self.at, "at")
        check_items(self.jobs, NewJob, "jobs", at_most=MAX_JOBS)
        check_flag(self.create, "create")
        if self.vectors != ():
            check_items(self.vectors, MessageVector, "vectors")
            if not {one.message_id for one in self.vectors} <= {message.id for message in self.messages}:
                raise InvalidInputError("vectors must be of messages of the same append")


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one turn writes, in one transaction."""

    id: str
    append: Append
    status: MessageStatus = "complete"
    mode: Mode = "chat"
    metadata: Mapping[str, Any] = {}
    usage: Usage = Usage()
    #: The model that the usage is of.
    model: str | None = None
    #: Memories that were shown to the model.
    memory_ids: tuple[str, ...] = ()
    #: Everything that was shown to the model, without its words.
    context: ContextRecord | None = None
    answer: Answer | None = None

    def __post_init__(self) -> None:
        check_id(self.id, "turn id")
        check_type(self.append, Append, "append")
        check_one_of(self.status, ("complete", "interrupted", "failed"), "status")
        check_one_of(self.mode, MODES, "mode")
        check_object(self.metadata, "metadata")
        check_type(self.usage, Usage, "usage")
        check_optional_id(self.model, "model")
        check_ids(self.memory_ids, "memory_ids", at_most=1_000)
        if self.context is not None:
            check_type(self.context, ContextRecord, "context")
        if self.answer is not None:
            check_type(self.answer, Answer, "answer")


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A stored turn."""

    id: str
    conversation_id: str
    status: MessageStatus
    mode: Mode
    metadata: Mapping[str, Any]
    usage: Usage
    memory_ids: tuple[str, ...]
    created_at: datetime
    #: Everything that was shown to the model, without its words; None if that was not kept.
    context: ContextRecord | None = None


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """What an append stored and what it found stored already."""

    conversation: Conversation
    #: The messages this call stored.
    messages: tuple[Message, ...]
    #: Ids that were stored before.
    duplicates: tuple[str, ...] = ()
    #: Ids that were erased or cleared, or that a summary replaced for good, and stay so.
    refused: tuple[str, ...] = ()


class ArchiveBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that a client kept until now; the same batch again gets the first answer."""

    id: str
    append: Append

    def __post_init__(self) -> None:
        check_id(self.id, "batch id")
        check_type(self.append, Append, "append")


class ArchivedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an archived batch."""

    id: str
    conversation_id: str
    #: How many messages it stored.
    archived: int
    #: How many were stored before.
    duplicates: int
    #: How many had been erased or cleared and stay so.
    refused: int
    start_at: datetime
    end_at: datetime
    archived_at: datetime


def batch_digest(salt: bytes, batch: ArchiveBatch) -> str:
    """Return a digest that only the same messages in the same order have."""
    digest = hashlib.blake2b(key=salt, digest_size=16)
    for message in batch.append.messages:
        digest.update(msgspec.json.encode((message.id, message.role, message.content, as_utc(message.created_at))))
    return digest.hexdigest()


def archived_from(batch: ArchiveBatch, appended: Appended) -> ArchivedBatch:
    """Describe what became of the batch."""
    times = [as_utc(message.created_at) for message in batch.append.messages]
    return ArchivedBatch(
        id=batch.id,
        conversation_id=batch.append.conversation_id,
        archived=len(appended.messages),
        duplicates=len(appended.duplicates),
        refused=len(appended.refused),
        start_at=min(times),
        end_at=max(times),
        archived_at=as_utc(batch.append.at),
    )


def turn_from(record: TurnRecord) -> Turn:
    """Return the turn that this record stores."""
    return Turn(
        id=record.id,
        conversation_id=record.append.conversation_id,
        status=record.status,
        mode=record.mode,
        metadata=record.metadata,
        usage=record.usage,
        memory_ids=record.memory_ids,
        created_at=as_utc(record.append.at),
        context=record.context,
    )
