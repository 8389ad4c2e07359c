"""Summaries: which messages one covers, how they fold, and when two would cover the same message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import (
    as_utc,
    check_flag,
    check_id,
    check_ids,
    check_object,
    check_text,
    check_time,
)
from recollect.domain.conversation import Conversation
from recollect.domain.message import Message
from recollect.errors import ConflictError, InvalidInputError

MAX_COVERED = 5_000
MAX_FOLDED = 100


class NewSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that replaces a contiguous range: of messages, or of older summaries."""

    id: str
    #: The id under which the summary shows up among the messages.
    message_id: str
    conversation_id: str
    content: str
    at: datetime
    #: Who wrote it: a model id or the name of the built-in generator.
    generator: str
    #: The messages it covers, oldest first; empty for a fold.
    message_ids: tuple[str, ...] = ()
    #: The active summaries it folds into one, oldest first.
    folds: tuple[str, ...] = ()
    delete_originals: bool = False
    metadata: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        check_id(self.id, "summary id")
        check_id(self.message_id, "message id")
        check_id(self.conversation_id, "conversation id")
        check_text(self.content, "summary", at_least=1)
        check_time(self.at, "at")
        check_id(self.generator, "generator")
        check_ids(self.message_ids, "message_ids", at_most=MAX_COVERED)
        check_ids(self.folds, "folds", at_most=MAX_FOLDED)
        if bool(self.message_ids) == bool(self.folds):
            raise InvalidInputError("a summary covers either message_ids or folds")
        check_flag(self.delete_originals, "delete_originals")
        check_object(self.metadata, "metadata")


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A stored summary with what it covers."""

    id: str
    message_id: str
    conversation_id: str
    content: str
    generator: str
    #: 0 covers messages, n folds summaries of lower levels.
    level: int
    first_seq: int
    last_seq: int
    #: The newest covered message: the summary holds on every branch that contains it.
    last_message_id: str
    #: How many messages it covers.
    message_count: int
    start_at: datetime
    end_at: datetime
    created_at: datetime
    message_ids: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    #: The summary that took its place.
    folded_into: str | None = None
    metadata: Mapping[str, Any] = {}


def summary_of_messages(new: NewSummary, messages: Sequence[Message], overlapping: Iterable[Summary]) -> Summary:
    """Return the summary of these messages, or raise if they are not one uncovered chain.

    `messages` are the stored ones among `new.message_ids`; `overlapping` are the summaries of messages,
    active or folded, whose seq range meets theirs.
    """
    if tuple(message.id for message in messages) != new.message_ids:
        raise ConflictError("some messages to summarise are gone or out of order; plan the summary again")
    for before, after in pairwise(messages):
        if after.parent_id != before.id:
            raise ConflictError("the messages to summarise are not one contiguous chain; plan the summary again")
    own = set(new.message_ids)
    for other in overlapping:
        if other.last_message_id in own or messages[-1].id in other.message_ids:
            raise ConflictError("some of these messages are summarised already; plan the summary again")
    return _summary(
        new,
        level=0,
        first_seq=messages[0].seq,
        last_seq=messages[-1].seq,
        last_message_id=messages[-1].id,
        message_count=len(messages),
        start_at=min(message.created_at for message in messages),
        end_at=max(message.created_at for message in messages),
    )


def summary_of_summaries(
    new: NewSummary, folded: Sequence[Summary], parents: Sequence[str | None | UnsetType]
) -> Summary:
    """Return the summary that folds these active ones, or raise if they are not neighbours on one branch.

    `parents` are the parents of the first message that each covers, unset where that message is stored no more.
    """
    if tuple(summary.id for summary in folded) != new.folds:
        raise ConflictError("some summaries to fold are gone; plan the fold again")
    if any(summary.folded_into is not None for summary in folded):
        raise ConflictError("some of these summaries are folded already; plan the fold again")
    for (before, after), parent in zip(pairwise(folded), parents[1:], strict=True):
        if before.last_seq >= after.first_seq or parent not in (UNSET, before.last_message_id):
            raise ConflictError("the summaries to fold are not neighbours in order; plan the fold again")
    return _summary(
        new,
        level=1 + max(summary.level for summary in folded),
        first_seq=folded[0].first_seq,
        last_seq=folded[-1].last_seq,
        last_message_id=folded[-1].last_message_id,
        message_count=sum(summary.message_count for summary in folded),
        start_at=min(summary.start_at for summary in folded),
        end_at=max(summary.end_at for summary in folded),
    )


def refuse_if_branched(conversation: Conversation) -> None:
    """Keep the originals of a conversation with branches: another branch may still show them."""
    if conversation.is_branched:
        raise ConflictError("the originals of a branched conversation are kept; summarise without deleting them")


def _summary(new: NewSummary, **covered: Any) -> Summary:
    return Summary(
        id=new.id,
        message_id=new.message_id,
        conversation_id=new.conversation_id,
        content=new.content,
        generator=new.generator,
        created_at=as_utc(new.at),
        message_ids=new.message_ids,
        folds=new.folds,
        metadata=new.metadata,
        **covered,
    )


def newest_text(active: Iterable[Summary]) -> str | None:
    """Return the text that stands for the conversation: that of the newest active summary."""
    newest = max(active, key=lambda summary: (summary.last_seq, summary.level, summary.id), default=None)
    return None if newest is None else newest.content


def covered_ids(layers: Iterable[Summary]) -> list[tuple[str, ...]]:
    """Return the messages that a summary stands for, oldest first, grouped by what was summarised at once."""
    whole = sorted((summary for summary in layers if summary.message_ids), key=lambda summary: summary.first_seq)
    return [summary.message_ids for summary in whole]
