"""Decide what an append stores: order, parents, duplicates, title, activity.

Pure, so that every store follows one rule; a store reads what `Known` needs, then writes the plan.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET

from recollect.domain.checks import as_utc
from recollect.domain.conversation import Conversation, NewConversation, revised, title_from
from recollect.domain.message import Message, NewMessage
from recollect.domain.turn import Append, Appended
from recollect.errors import InvalidMessageError


def conversation_from(new: NewConversation) -> Conversation:
    """Return the empty conversation that this request creates."""
    at = as_utc(new.at)
    return Conversation(
        id=new.id,
        agent=new.agent,
        title=new.title,
        title_source="auto" if new.title is None else "user",
        is_archived=False,
        is_pinned=False,
        metadata=new.metadata,
        head_id=None,
        message_count=0,
        summary=None,
        created_at=at,
        updated_at=at,
        last_activity_at=at,
        is_active=True,
        version=1,
        next_seq=1,
        is_branched=False,
        extracted_seq=0,
        revision=1,
    )


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows of the ids in an append."""

    #: Message ids of the append, and parent ids it names, that are stored.
    stored: frozenset[str]
    #: Message ids of the append that were erased or cleared.
    erased: frozenset[str]


def ids_to_look_up(append: Append) -> list[str]:
    """List the ids a store must look up to plan the append."""
    ids = {message.id: None for message in append.messages}
    for message in append.messages:
        if message.parent_id is not UNSET and message.parent_id is not None:
            ids[message.parent_id] = None
    return list(ids)


def plan_append(conversation: Conversation, append: Append, known: Known, turn_id: str | None = None) -> Appended:
    """Return the messages to store and the conversation after them.

    Messages get consecutive seqs in the given order; a message already stored or erased is left out and reported.
    In a turn, so is what answers an erased message, for it may repeat it.
    A clock that runs backwards changes neither order nor last activity.
    """
    new: list[Message] = []
    seen = set(known.stored)
    duplicates: list[str] = []
    refused: list[str] = []
    head, branched, seq = conversation.head_id, conversation.is_branched, conversation.next_seq
    is_asked = True
    for message in append.messages:
        if message.role == "user":
            is_asked = turn_id is None or message.id not in known.erased
        if message.id in known.erased or not is_asked:
            refused.append(message.id)
        elif message.id in seen:
            duplicates.append(message.id)
        else:
            parent = _parent(message, head, seen)
            branched = branched or parent != head
            new.append(stored_message(message, append.conversation_id, seq, parent, turn_id))
            seen.add(message.id)
            head = message.id
            seq += 1
    after = _after(conversation, new, as_utc(append.at))
    after = msgspec.structs.replace(after, head_id=head, next_seq=seq, is_branched=branched)
    return Appended(conversation=after, messages=tuple(new), duplicates=tuple(duplicates), refused=tuple(refused))


def _parent(message: NewMessage, head: str | None, seen: set[str]) -> str | None:
    if message.parent_id is UNSET:
        return head
    if message.parent_id is not None and (message.parent_id not in seen or message.parent_id == message.id):
        raise InvalidMessageError("parent_id names no message of this conversation")
    return message.parent_id


def stored_message(
    message: NewMessage, conversation_id: str, seq: int, parent: str | None, turn_id: str | None
) -> Message:
    """Return the message as it is stored in this place."""
    return Message(
        id=message.id,
        conversation_id=conversation_id,
        seq=seq,
        parent_id=parent,
        turn_id=turn_id,
        role=message.role,
        name=message.name,
        content=message.content,
        status=message.status,
        created_at=as_utc(message.created_at),
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        suggested_values=message.suggested_values,
        suggested_actions=message.suggested_actions,
        custom_payload=message.custom_payload,
        metadata=message.metadata,
    )


def _after(conversation: Conversation, new: list[Message], at: datetime) -> Conversation:
    if not new:
        return conversation
    title = conversation.title
    if title is None:
        title = next((t for m in new if m.role == "user" and (t := title_from(m.content))), None)
    return revised(
        conversation,
        title=title,
        message_count=conversation.message_count + len(new),
        updated_at=max(at, conversation.updated_at),
        last_activity_at=max(at, conversation.last_activity_at),
        is_active=True,
    )
