"""OpenAI's protocol: any client of it gains memory by changing its base URL."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing, suppress
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Request, Response

from recollect.bootstrap import system_clock
from recollect.domain.checks import check_optional_id
from recollect.domain.identity import Caller, Right
from recollect.errors import InvalidInputError, NotFoundError
from recollect.http.access import NewId, Service, Whose
from recollect.http.errors import PROBLEMS, answer, status_of_code
from recollect.http.idempotency import request_key
from recollect.http.openai_errors import PREFIX, documented, failure
from recollect.http.route import ADMITTED_BY, OWN_KEY, ApiRoute
from recollect.http.schemas.completion import (
    CompletionChoice,
    CompletionIn,
    CompletionOut,
    CompletionReply,
    CompletionUsage,
    FunctionCall,
    FunctionToolCall,
    KeptAs,
    ServedModel,
    ServedModels,
)
from recollect.http.schemas.message import memories_used
from recollect.http.sse import EventStream
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.service.chat_request import ChatReply, ChatRequest, Failed, Started
from recollect.service.continuing import Continuing
from recollect.service.recollect import Recollect
from recollect.service.streams import Done, Stream

router = APIRouter(prefix=PREFIX, tags=["openai"], route_class=ApiRoute)

CONVERSATION = "Recollect-Conversation"
OFFLINE = "recollect-offline"
#: For so long a stream waits for the first word, so that an error has a status of its own, in seconds.
FIRST_WORD = 10.0
_SSE = "text/event-stream"
_DONE = b"data: [DONE]\n\n"


async def admit(request: Request, right: Right) -> Caller:
    """Return the caller; OpenAI's clients cannot leave the key out, so the local user may send any word."""
    known: Caller = await request.app.state.gate.admit(request, right, placeholders=True)
    return known


@router.get(
    "/models",
    summary="List the model that answers",
    responses=documented(PROBLEMS, 400, 401, 403, 422, 429, 500, 503),
    openapi_extra={ADMITTED_BY: admit},
)
async def served_models(recollect: Service) -> ServedModels:
    """Name the model of the server; any other name is answered by it too."""
    return ServedModels(data=[ServedModel(id=_model_name(recollect))])


@router.get(
    "/models/{model:path}",
    summary="Get the model that answers",
    responses=documented(PROBLEMS, 400, 401, 403, 404, 422, 429, 500, 503),
    openapi_extra={ADMITTED_BY: admit},
)
async def served_model(model: Annotated[str, Path(min_length=1)], recollect: Service) -> ServedModel:
    """Return the model of the server by its name."""
    if model != _model_name(recollect):
        raise NotFoundError(f"this server lists one model, {_model_name(recollect)}")
    return ServedModel(id=model)


@router.post(
    "/chat/completions",
    summary="Answer the last message of a history",
    responses={
        200: {
            "description": "The answer; with `stream` as chunks in server-sent events that end with `[DONE]`.",
            "headers": {CONVERSATION: {"description": "Where the turn is kept.", "schema": {"type": "string"}}},
            "content": {_SSE: {}},
        },
        **documented(PROBLEMS, 400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503),
    },
    response_model=CompletionOut,
    openapi_extra={OWN_KEY: True, ADMITTED_BY: admit},
)
async def complete(
    body: CompletionIn,
    request: Request,
    recollect: Service,
    scope: Whose,
    new_id: NewId,
    recollect_conversation: Annotated[
        str | None,
        Header(min_length=1, max_length=128, description="The conversation; unset finds it by the history."),
    ] = None,
) -> Response:
    """Answer with what is remembered, and record the turn in the conversation that the history is of."""
    check_optional_id(recollect_conversation, CONVERSATION)
    continuing = Continuing(recollect.store, clock=system_clock, new_id=new_id)
    if body.response_format is not None and body.response_format.type != "text" and recollect.model is None:
        raise InvalidInputError("without a model there is no JSON; set one up, or leave response_format out")
    place = await continuing.find(scope, body.history, recollect_conversation)
    asked = request_key(request)
    turn = ChatRequest(
        new_messages=place.said,
        conversation_id=place.conversation_id,
        instructions=body.instructions,
        tools=body.offered,
        sampling=body.sampling(),
        key=None if asked is None else asked.key,
        digest=None if asked is None else _digest(asked.digest, recollect_conversation),
    )
    told = _Told(body, body.model or _model_name(recollect))
    if body.stream:
        with ExitStack() as held:
            held.enter_context(request.app.state.rates.streaming(scope))
            return await _streamed(request, recollect.streams.start(scope, turn), told, held)
    return await _whole(request, recollect.streams.start(scope, turn), told)


class _Told:
    """What a client is told of a turn."""

    def __init__(self, body: CompletionIn, model: str) -> None:
        self._model = model
        self._wants_usage = body.wants_usage
        #: The tools that the client runs; all others are none of its business.
        self._tools = {tool.name for tool in body.offered}
        self._text: list[str] = []
        self._calls: list[FunctionToolCall] = []
        self._made: dict[str, Any] = {}

    def chunks(self, event: object) -> list[dict[str, Any]]:
        """Take in an event, and return what a stream tells of it."""
        match event:
            case Started():
                kept = KeptAs(
                    conversation_id=event.conversation_id,
                    message_id=event.message_id,
                    memories_used=memories_used(event.memories),
                )
                at = int(system_clock().timestamp())
                self._made = {"id": f"chatcmpl-{event.message_id}", "created": at, "model": self._model}
                return [{**self._chunk({"role": "assistant", "content": ""}), "recollect": kept.model_dump()}]
            case TextDelta():
                self._text.append(event.text)
                return [self._chunk({"content": event.text})]
            case ToolCallRequest() if event.tool_name in self._tools:
                written = msgspec.json.encode(event.input).decode()
                function = FunctionCall(name=event.tool_name, arguments=written)
                self._calls.append(FunctionToolCall(id=event.id, function=function))
                numbered = {"index": len(self._calls) - 1, **self._calls[-1].model_dump()}
                return [self._chunk({"tool_calls": [numbered]})]
            case Done():
                end = [self._chunk({}, self._reason(event.reply))]
                if self._wants_usage:
                    usage = CompletionUsage.of(event.reply.usage).model_dump()
                    end.append({**self._chunk({}), "choices": [], "usage": usage})
                return end
        return []

    def whole(self, reply: ChatReply) -> CompletionOut:
        """Return all of the answer."""
        text = "".join(self._text)
        message = CompletionReply(content=text if text or not self._calls else None, tool_calls=self._calls or None)
        return CompletionOut(
            id=f"chatcmpl-{reply.message.id}",
            created=int(reply.message.created_at.timestamp()),
            model=self._model,
            choices=[CompletionChoice(message=message, finish_reason=self._reason(reply))],
            usage=CompletionUsage.of(reply.usage),
            recollect=KeptAs(
                conversation_id=reply.conversation_id,
                message_id=reply.message.id,
                memories_used=memories_used(reply.memories),
            ),
        )

    def _reason(self, reply: ChatReply) -> Any:
        if self._calls:
            return "tool_calls"
        is_cut = reply.message.status != "complete" or reply.message.metadata.get("is_cut")
        return "length" if is_cut else "stop"

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self._wants_usage else {}
        return {**self._made, "object": "chat.completion.chunk", "choices": [choice], **usage}


async def _whole(request: Request, stream: Stream, told: _Told) -> Response:
    async with aclosing(stream.follow()) as events:
        async for _, event in events:
            told.chunks(event)
    reply = await stream.result()
    if reply.failure is not None:
        return _failed(request, reply.failure, reply.conversation_id)
    body = told.whole(reply).model_dump_json()
    return Response(body, media_type="application/json", headers={CONVERSATION: reply.conversation_id})


async def _streamed(request: Request, stream: Stream, told: _Told, held: ExitStack) -> Response:
    await stream.begun()
    async with aclosing(stream.follow()) as events:
        _, started = await anext(events)
    assert isinstance(started, Started)
    first = None
    with suppress(TimeoutError):
        first = await asyncio.wait_for(_first_word(stream), FIRST_WORD)
    if isinstance(first, Failed):
        return _failed(request, first, started.conversation_id)
    headers = {CONVERSATION: started.conversation_id}
    # Streams of turns end by themselves when the server stops: the turn is recorded, and that is told.
    return EventStream(_events(stream, told), stopping=asyncio.Event(), held=held.pop_all(), headers=headers)


async def _first_word(stream: Stream) -> object:
    """Wait until something is said, or it is known that nothing will be."""
    async with aclosing(stream.follow()) as events:
        async for _, event in events:
            if isinstance(event, TextDelta | ToolCallRequest | Failed | Done):
                return event
    return None


async def _events(stream: Stream, told: _Told) -> AsyncGenerator[bytes, None]:
    async with aclosing(stream.follow()) as events:
        async for _, event in events:
            if isinstance(event, Failed):
                yield _data(failure(status_of_code(event.code), event.code, event.detail).model_dump())
                break
            for chunk in told.chunks(event):
                yield _data(chunk)
    yield _DONE


def _data(value: object) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(value)


def _failed(request: Request, failed: Failed, conversation_id: str) -> Response:
    """Say that the model failed; what the user said is kept, and where."""
    told = answer(request, status_of_code(failed.code), failed.code, failed.detail)
    told.headers[CONVERSATION] = conversation_id
    return told


def _digest(body: str, conversation_id: str | None) -> str:
    """Return what tells requests with one key apart: what is sent, and where it is to go."""
    return hashlib.blake2b(f"{body} {conversation_id}".encode(), digest_size=16).hexdigest()


def _model_name(recollect: Recollect) -> str:
    return OFFLINE if recollect.model is None else recollect.model.name
