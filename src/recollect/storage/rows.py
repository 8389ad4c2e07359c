"""Turn values into rows and back, with a checksum over every row that holds someone's words.

The checksum covers scope, ids and content, so a flipped bit or a row moved to another user is noticed on read.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zlib import crc32 as _crc32

import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.message import Message, ToolCall
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.turn import ArchivedBatch
from recollect.errors import CorruptRecordError
from recollect.storage.driver import Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_pack = msgspec.msgpack.Encoder().encode
_to_json = msgspec.json.Encoder().encode


class StoredConversation(msgspec.Struct, frozen=True):
    """A conversation with what only the store knows of it."""

    number: int
    value: Conversation
    #: Whether messages of it were erased, so that tombstones must be looked up.
    has_erased: bool
    #: The revision that last changed what was stored before it; since then messages were only added.
    rewritten: int = 0


class Payload(msgspec.Struct, omit_defaults=True):
    """The parts of a message that most messages do not have, in one column."""

    tool_calls: tuple[ToolCall, ...] = ()
    suggested_values: Any = None
    suggested_actions: Any = None
    custom_payload: Any = None
    metadata: dict[str, Any] = {}


_payload = msgspec.json.Decoder(Payload).decode


def micros(at: datetime) -> int:
    """Return the instant as whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def optional_micros(at: datetime | None) -> int | None:
    """Return the instant as microseconds, or None."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """Return the time of a stored instant."""
    return _EPOCH + timedelta(0, 0, value)


def optional_instant(value: int | None) -> datetime | None:
    """Return the time of a stored instant, or None."""
    return None if value is None else _EPOCH + timedelta(0, 0, value)


def flag(value: Any) -> bool:
    """Return a stored flag; a damaged one stays as it is, for the checksum to notice."""
    whole: bool = _FLAGS.get(value, value)
    return whole


_FLAGS: dict[Any, Any] = {0: False, 1: True}


def json_text(value: object) -> str | None:
    """Return the value as JSON text; what is empty is not stored."""
    return _to_json(value).decode() if value else None


def json_object(text: str | None) -> dict[str, Any]:
    """Return the stored JSON object."""
    return {} if text is None else msgspec.json.decode(text, type=dict[str, Any])


def json_ids(text: str | None) -> tuple[str, ...]:
    """Return the stored list of ids."""
    return () if text is None else msgspec.json.decode(text, type=tuple[str, ...])


def checksum(*values: Any) -> int:
    """Return the checksum of these column values."""
    return _crc32(_pack(values))


def verify(expected: int, kind: str, record_id: str, *values: Any) -> None:
    if _crc32(_pack(values)) != expected:
        raise CorruptRecordError(kind, record_id)


def sealed(scope: Scope, values: dict[str, Any], *place: str) -> dict[str, Any]:
    """Return the column values with the scope and the checksum over both, and over what they belong to."""
    guard = _crc32(_pack((scope.tenant, scope.user, *place, *values.values())))
    return {**values, "tenant": scope.tenant, "user": scope.user, "checksum": guard}


def unsealed(scope: Scope, kind: str, row: Row, *place: str) -> Row:
    """Return the values of a row that ends with its checksum, or raise if the row was damaged."""
    verify(row[-1], kind, str(row[0]), scope.tenant, scope.user, *place, *row[:-1])
    return row[:-1]


def scoped(scope: Scope) -> dict[str, Any]:
    """Return the parameters that bind a query to the scope."""
    return {"tenant": scope.tenant, "user": scope.user}


# Conversations


def conversation_values(
    scope: Scope, conversation: Conversation, *, has_erased: bool = False, rewritten: int = 0
) -> dict[str, Any]:
    """Return the column values of a conversation."""
    c = conversation
    row = {
        "id": c.id,
        "agent": c.agent,
        "title": c.title,
        "title_source": c.title_source,
        "metadata": json_text(c.metadata),
        "head_id": c.head_id,
        "message_count": c.message_count,
        "summary": c.summary,
        "created_at": micros(c.created_at),
        "updated_at": micros(c.updated_at),
        "last_activity_at": micros(c.last_activity_at),
        "version": c.version,
        "next_seq": c.next_seq,
        "extracted_seq": c.extracted_seq,
        "revision": c.revision,
        "rewritten": rewritten,
        "is_archived": c.is_archived,
        "is_pinned": c.is_pinned,
        "is_active": c.is_active,
        "is_branched": c.is_branched,
        "has_erased": has_erased,
    }
    return sealed(scope, row)


def conversation_from(scope: Scope, row: Row) -> StoredConversation:
    """Return the conversation of a row, or raise if the row was damaged."""
    number, i, agent, title, source, metadata, head, count, summary, created, updated, activity, *rest = row
    version, next_seq, extracted, revision, rewritten, archived, pinned, active, branched, has_erased, expected = rest
    flags = (flag(archived), flag(pinned), flag(active), flag(branched), flag(has_erased))
    if _crc32(_pack((scope.tenant, scope.user, *row[1:17], *flags))) != expected:
        raise CorruptRecordError("conversation", str(i))
    value = Conversation(
        id=i,
        agent=agent,
        title=title,
        title_source=source,
        is_archived=flags[0],
        is_pinned=flags[1],
        metadata=json_object(metadata),
        head_id=head,
        message_count=count,
        summary=summary,
        created_at=instant(created),
        updated_at=instant(updated),
        last_activity_at=instant(activity),
        is_active=flags[2],
        version=version,
        next_seq=next_seq,
        is_branched=flags[3],
        extracted_seq=extracted,
        revision=revision,
    )
    return StoredConversation(number, value, flags[4], rewritten)


# Messages


def message_values(scope: Scope, conversation: int, message: Message) -> dict[str, Any]:
    """Return the column values of a message."""
    m = message
    payload: str | None = None
    if m.tool_calls or m.metadata or _has_rich_parts(m):
        payload = _to_json(
            Payload(m.tool_calls, m.suggested_values, m.suggested_actions, m.custom_payload, dict(m.metadata))
        ).decode()
    created = (m.created_at - _EPOCH) // _MICROSECOND
    return {
        "tenant": scope.tenant,
        "user": scope.user,
        "conversation": conversation,
        "seq": m.seq,
        "id": m.id,
        "parent_id": m.parent_id,
        "turn_id": m.turn_id,
        "role": m.role,
        "name": m.name,
        "content": m.content,
        "status": m.status,
        "created_at": created,
        "tool_call_id": m.tool_call_id,
        "payload": payload,
        "checksum": checksum(
            scope.tenant,
            scope.user,
            m.conversation_id,
            m.seq,
            m.id,
            m.parent_id,
            m.turn_id,
            m.role,
            m.name,
            m.content,
            m.status,
            created,
            m.tool_call_id,
            payload,
        ),
    }


def _has_rich_parts(m: Message) -> bool:
    return not (m.suggested_values is None and m.suggested_actions is None and m.custom_payload is None)


def message_from(scope: Scope, conversation_id: str, row: Row) -> Message:
    """Return the message of a row, or raise if the row was damaged."""
    seq, i, parent, turn, role, name, content, status, created, call, payload, expected = row
    if _crc32(_pack((scope.tenant, scope.user, conversation_id, *row[:-1]))) != expected:
        raise CorruptRecordError("message", str(i))
    at = _EPOCH + timedelta(0, 0, created)
    if payload is None:
        return Message(conversation_id, seq, i, parent, turn, role, name, content, status, at, call)
    rich = _payload(payload)
    return Message(
        conversation_id,
        seq,
        i,
        parent,
        turn,
        role,
        name,
        content,
        status,
        at,
        call,
        rich.tool_calls,
        rich.suggested_values,
        rich.suggested_actions,
        rich.custom_payload,
        rich.metadata,
    )


def intact_content(scope: Scope, conversation_id: str, row: Row) -> str | None:
    """Return the content of a message, or None if the row was damaged and its words cannot be known."""
    try:
        return message_from(scope, conversation_id, row).content
    except CorruptRecordError:
        return None


# Summaries

_SUMMARY = (
    "id",
    "message_id",
    "content",
    "generator",
    "level",
    "first_seq",
    "last_seq",
    "last_message_id",
    "message_count",
    "start_at",
    "end_at",
    "created_at",
    "message_ids",
    "folds",
    "folded_into",
    "metadata",
)


def summary_values(scope: Scope, conversation: int, summary: Summary) -> dict[str, Any]:
    """Return the column values of a summary."""
    row: dict[str, Any] = {name: getattr(summary, name) for name in _SUMMARY}
    for name in ("start_at", "end_at", "created_at"):
        row[name] = micros(row[name])
    for name in ("message_ids", "folds", "metadata"):
        row[name] = json_text(row[name])
    return {**sealed(scope, row, summary.conversation_id), "conversation": conversation}


def summary_from(scope: Scope, conversation_id: str, row: Row) -> Summary:
    """Return the summary of a row, or raise if the row was damaged."""
    values: dict[str, Any] = dict(zip(_SUMMARY, unsealed(scope, "summary", row, conversation_id), strict=True))
    for name in ("start_at", "end_at", "created_at"):
        values[name] = instant(values[name])
    for name in ("message_ids", "folds"):
        values[name] = json_ids(values[name])
    values["metadata"] = json_object(values["metadata"])
    return Summary(**values, conversation_id=conversation_id)


# Batches


def batch_values(scope: Scope, conversation: int, digest: str, batch: ArchivedBatch) -> dict[str, Any]:
    """Return the column values of an archived batch."""
    values = {
        "id": batch.id,
        "digest": digest,
        "archived": batch.archived,
        "duplicates": batch.duplicates,
        "refused": batch.refused,
        "start_at": micros(batch.start_at),
        "end_at": micros(batch.end_at),
        "archived_at": micros(batch.archived_at),
    }
    return {**sealed(scope, values, batch.conversation_id), "conversation": conversation}


def batch_from(scope: Scope, conversation_id: str, row: Row) -> ArchivedBatch:
    """Return the archived batch of a row, or raise if the row was damaged."""
    i, _, archived, duplicates, refused, start, end, at = unsealed(scope, "batch", row, conversation_id)
    return ArchivedBatch(
        id=i,
        conversation_id=conversation_id,
        archived=archived,
        duplicates=duplicates,
        refused=refused,
        start_at=instant(start),
        end_at=instant(end),
        archived_at=instant(at),
    )
