"""The messages of a conversation (S4.2, S0.1, S0.2)."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Response

from recollect.bootstrap import system_clock
from recollect.errors import InvalidInputError
from recollect.http.access import NewId, Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.message import (
    AddedMessages,
    MessageOut,
    Messages,
    MessagesAsked,
    NewMessagesIn,
    PathId,
)

router = api_router("conversations")


@router.get("/conversations/{conversation_id}/messages", summary="Read messages in order")
async def list_messages(
    conversation_id: PathId, recollect: Service, scope: Whose, asked: Annotated[MessagesAsked, Query()]
) -> Messages:
    """Return the newest messages, or those next to one, each summary after the last message that it covers."""
    talk, limit = recollect.conversations, asked.limit
    if asked.expand is None:
        page = await talk.get_messages(scope, conversation_id, limit=limit, before=asked.before, after=asked.after)
    elif asked.before is not None:
        raise InvalidInputError("a summary is read forwards: give after with expand, not before")
    else:
        page = await talk.expand(scope, conversation_id, asked.expand, limit=limit, after=asked.after)
    told = None
    if asked.memories:
        told = await recollect.contexts.memories_told(scope, conversation_id, page.messages)
    return Messages.of(page, is_forwards=asked.after is not None or asked.expand is not None, told=told)


@router.post(
    "/conversations/{conversation_id}/messages",
    status_code=201,
    summary="Add messages without a reply",
    responses={200: {"model": AddedMessages, "description": "All of them were stored before, or erased."}},
)
async def add_messages(
    conversation_id: PathId,
    body: NewMessagesIn,
    recollect: Service,
    scope: Whose,
    new_id: NewId,
    response: Response,
) -> AddedMessages:
    """Add messages at the head; one whose id is stored is a duplicate, and adding it again is safe."""
    now = system_clock()
    new = [message.new(new_id, now) for message in body.messages]
    added = await recollect.conversations.add_messages(scope, conversation_id, new, create=False)
    if added.messages:
        response.headers["Location"] = f"/api/conversations/{quote(conversation_id, safe='')}/messages"
    else:
        response.status_code = 200
    return AddedMessages(
        items=[MessageOut.of(message) for message in added.messages],
        duplicates=list(added.duplicates),
        refused=list(added.refused),
    )


@router.delete("/conversations/{conversation_id}/messages/{message_id}", status_code=204, summary="Erase one message")
async def delete_message(conversation_id: PathId, message_id: PathId, recollect: Service, scope: Whose) -> None:
    """Erase a message with what derives from it; it cannot be stored again."""
    await recollect.conversations.erase_message(scope, conversation_id, message_id)
