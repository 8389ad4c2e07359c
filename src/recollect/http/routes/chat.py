"""Chat turns and what they left behind."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from recollect.domain.conversation import ConversationQuery
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.http.schemas import (
    ChatIn,
    ChatOut,
    ConversationOut,
    Conversations,
    MessageOut,
    Messages,
    Recalled,
    UsageOut,
)
from recollect.service.chat import ChatRequest
from recollect.service.recollect import Recollect

router = APIRouter(prefix="/api", tags=["chat"])

Limit = Annotated[int, Query(ge=1, le=200)]


def service(request: Request) -> Recollect:
    """Return the service that the server was started with."""
    opened: Recollect = request.app.state.recollect
    return opened


Service = Annotated[Recollect, Depends(service)]


@router.post("/chat", summary="Say something and get a reply")
async def chat(body: ChatIn, recollect: Service) -> ChatOut:
    """Answer from memory and record the turn; `saved` means that both messages are on disk."""
    turn = await recollect.chat.turn(Scope(), ChatRequest(text=body.message, conversation_id=body.conversation_id))
    recalled = [
        Recalled(
            message_id=one.message.id,
            conversation_id=one.message.conversation_id,
            content=one.message.content,
            why=one.why,
        )
        for one in turn.recalled
        if one.message is not None
    ]
    return ChatOut(
        conversation_id=turn.conversation_id,
        session_id=turn.conversation_id,
        user_message_ids=[turn.user_message.id],
        message=MessageOut.of(turn.message),
        recalled=recalled,
        usage=UsageOut(input_tokens=turn.usage.input_tokens, output_tokens=turn.usage.output_tokens),
        durability="durable",
    )


@router.get("/conversations", summary="List conversations, newest activity first")
async def conversations(recollect: Service, limit: Limit = 50) -> Conversations:
    """Return the newest conversations."""
    page = await recollect.store.list_conversations(Scope(), ConversationQuery(limit=limit))
    return Conversations(items=[ConversationOut.of(item) for item in page.items])


@router.get("/conversations/{conversation_id}/messages", summary="Read a conversation")
async def messages(
    conversation_id: str,
    recollect: Service,
    limit: Limit = 50,
    before: str | None = None,
    after: str | None = None,
) -> Messages:
    """Return a page of messages in order; `before` and `after` are message ids."""
    query = MessageQuery(conversation_id=conversation_id, limit=limit, before=before, after=after)
    page = await recollect.store.list_messages(Scope(), query)
    return Messages(items=[MessageOut.of(message) for message in page.messages])
