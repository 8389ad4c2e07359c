"""Chat turns, whole or as they come (S2.9, S4.4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from typing import Annotated, Any

from fastapi import Header, Path, Request, Response

from recollect.bootstrap import system_clock
from recollect.http.access import NewId, Service, Whose, acting
from recollect.http.idempotency import request_key
from recollect.http.route import OWN_KEY, api_router
from recollect.http.schemas.chat import ChatIn, ChatOut, StopIn, StopOut, UsageOut
from recollect.http.schemas.message import memories_used
from recollect.http.sse import EventStream, sse
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.ports.responder import ToolReturned
from recollect.service.chat_request import Failed, Saved, Started
from recollect.service.streams import Done, Stream, StreamEvent

router = api_router("chat")

SSE = "text/event-stream"
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The turn; with `Accept: text/event-stream` as events while it is taken: `start`, `delta`, "
        "`tool_call`, `tool_result`, `saved`, `done`, or `error`.",
        "content": {SSE: {}},
    }
}
_FOLLOWED: dict[int | str, dict[str, Any]] = {200: {"description": "The events of the turn.", "content": {SSE: {}}}}


@router.post(
    "/chat",
    summary="Say something and get a reply",
    responses=_STREAMED,
    response_model=ChatOut,
    openapi_extra={OWN_KEY: True},
)
async def chat(
    body: ChatIn,
    request: Request,
    recollect: Service,
    scope: Whose,
    new_id: NewId,
) -> ChatOut | Response:
    """Answer with what is remembered, and record the turn; acknowledged means `saved`, or this answer."""
    asked = body.request(new_id, system_clock(), request_key(request))
    whose = acting(scope, body.agent_id)
    if SSE not in request.headers.get("accept", ""):
        return ChatOut.of(await recollect.streams.start(whose, asked).result())
    with ExitStack() as held:
        held.enter_context(request.app.state.rates.streaming(whose))
        stream = recollect.streams.start(whose, asked)
        await stream.begun()
        return _followed(stream, 0, held.pop_all())


@router.get(
    "/chat/{message_id}/stream",
    summary="Follow a reply again",
    responses=_FOLLOWED,
    response_class=Response,
)
async def follow(
    message_id: Annotated[str, Path(min_length=1, max_length=128)],
    request: Request,
    recollect: Service,
    scope: Whose,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was received.")] = None,
) -> Response:
    """Give the events of a reply after the last one that was received, and all that come."""
    stream = await recollect.streams.find(scope, message_id)
    with ExitStack() as held:
        held.enter_context(request.app.state.rates.streaming(scope))
        return _followed(stream, _number(last_event_id), held.pop_all())


@router.post("/chat/stop", summary="End a reply where it is")
async def stop(body: StopIn, recollect: Service, scope: Whose) -> StopOut:
    """End a reply that is being written; what was written is kept, as `interrupted`."""
    stream = await recollect.streams.find(scope, body.message_id)
    was_running = not stream.is_ended
    stream.stop.set()
    return StopOut(message_id=body.message_id, was_running=was_running)


def _number(event_id: str | None) -> int:
    """Return the number of an event of ours; after anything else the stream is given from its beginning."""
    return int(event_id) if event_id is not None and _NUMBER.match(event_id) else 0


def _followed(stream: Stream, after: int, held: ExitStack) -> Response:
    # Streams of turns end by themselves when the server stops: the turn is recorded, and that is told.
    return EventStream(_events(stream, after), stopping=asyncio.Event(), held=held)


async def _events(stream: Stream, after: int) -> AsyncGenerator[bytes, None]:
    async with aclosing(stream.follow(after)) as events:
        async for number, event in events:
            name, data = _wire(event)
            yield sse(name, data, str(number))


def _wire(event: StreamEvent) -> tuple[str, dict[str, Any]]:
    """Return the name and data of an event."""
    match event:
        case Started():
            memories = [one.model_dump() for one in memories_used(event.memories)]
            ids = {"conversation_id": event.conversation_id, "session_id": event.conversation_id}
            return ("start", {**ids, "message_id": event.message_id, "memories_used": memories})
        case TextDelta():
            return ("delta", {"text": event.text})
        case ToolCallRequest():
            return ("tool_call", {"id": event.id, "tool_name": event.tool_name, "input": event.input})
        case ToolReturned():
            return ("tool_result", {"id": event.id, "output": event.output})
        case Saved():
            saved = [{"id": message.id, "seq": message.seq} for message in event.messages]
            return ("saved", {"durability": event.durability, "messages": saved})
        case Failed():
            return ("error", {"code": event.code, "detail": event.detail})
        case Done():
            usage = UsageOut.of(event.reply.usage).model_dump()
            return ("done", {"status": event.reply.message.status, "usage": usage})
    raise AssertionError(f"{type(event).__name__} is no event of a stream")
