"""Chat turns: each is taken once, however often it is asked for, and never lost to a damaged conversation."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from contextlib import suppress

import msgspec

from recollect.domain.context import Recalled
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.errors import (
    CorruptRecordError,
    MemoryNotFoundError,
    MessageNotFoundError,
    RequestInFlightError,
    StorageError,
    StorageUnavailableError,
)
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.ports.responder import ToolReturned
from recollect.ports.tracer import AGENT, CONVERSATION, INPUT_TOKENS, OUTPUT_TOKENS, Span, operation
from recollect.service.chat_request import ChatReply, ChatRequest, Hearing, Saved, Started
from recollect.service.ending import to_its_end
from recollect.service.turn_taking import ChatParts, KeptReply, TurnTaking

#: The kind of work that a turn is entered as in the ledger.
CHAT = "chat"
#: Requests that are remembered as given up; one that is forgotten can be tried again after its lease.
MOST_GIVEN_UP = 10_000

_log = logging.getLogger(__name__)


class Chat:
    """Answer with what is known, and record the turn."""

    def __init__(self, parts: ChatParts) -> None:
        self._parts = parts
        self._store = parts.store
        #: The keys of the turns that are being taken here.
        self._under_way: set[tuple[str, str, str]] = set()
        #: The keys of turns that failed here while the store was away, which still believes that they are taken.
        self._given_up: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    async def turn(self, scope: Scope, request: ChatRequest, hearing: Hearing | None = None) -> ChatReply:
        """Answer the user and store all messages in one transaction.

        Raise `RequestInFlightError` while a request with the same key is answered, `IdempotencyMismatchError` if the
        key was used for another one.
        """
        about = {AGENT: scope.agent}
        if request.conversation_id is not None:
            about[CONVERSATION] = request.conversation_id
        with operation(self._parts.means.tracer, "invoke_agent", scope.agent, **about) as span:
            reply = await self._turn(scope, request, hearing or Hearing())
            _describe(span, reply)
            return reply

    async def _turn(self, scope: Scope, request: ChatRequest, hearing: Hearing) -> ChatReply:
        if request.temporary:
            return await TurnTaking(self._parts, scope, request, None, hearing).pass_by()
        if request.key is None:
            return await self._take(scope, TurnTaking(self._parts, scope, request, None, hearing))
        asked = RequestKey(key=request.key, digest=_digest(scope, request))
        taking = TurnTaking(self._parts, scope, request, asked, hearing)
        try:
            known = await self._begin(scope, asked)
        except StorageUnavailableError:
            if not self._parts.options.volatile_fallback:
                raise
            return await self._take(scope, taking)
        if known is not None:
            return await self._first_reply(scope, known, hearing)
        return await self._once(scope, asked, taking)

    async def _once(self, scope: Scope, asked: RequestKey, taking: TurnTaking) -> ChatReply:
        mine = _name(scope, asked)
        if mine in self._under_way:
            # It takes longer than its lease; whoever runs in another process after that stores nothing twice.
            raise RequestInFlightError("the first request with this idempotency key still runs; retry later")
        self._under_way.add(mine)
        try:
            reply = await self._take(scope, taking)
        except BaseException:  # whatever stopped it, the same request may be tried again
            await self._give_back(scope, asked)
            raise
        finally:
            self._under_way.discard(mine)
        if reply.durability != "durable":
            # Nothing is stored, so a retry has nothing to find and may simply ask again.
            await self._give_back(scope, asked)
        return reply

    async def _give_back(self, scope: Scope, asked: RequestKey) -> None:
        """Let the request be tried again, at the latest when it is."""
        try:
            await self._store.abandon_request(scope, asked)
        except StorageError as exc:
            _log.warning("the store was not told that a request was given up: %s", exc.code)
            self._given_up[_name(scope, asked)] = None
            if len(self._given_up) > MOST_GIVEN_UP:
                self._given_up.popitem(last=False)

    async def _begin(self, scope: Scope, asked: RequestKey) -> Answer | None:
        if _name(scope, asked) in self._given_up:
            await self._store.abandon_request(scope, asked)
            self._given_up.pop(_name(scope, asked), None)
        start = RequestStart(request=asked, at=self._parts.means.clock(), lease=self._parts.options.lease)
        begin = asyncio.create_task(self._store.begin_request(scope, start))
        try:
            return await to_its_end(begin)
        except asyncio.CancelledError:
            if begin.done() and not begin.cancelled() and begin.exception() is None and begin.result() is None:
                await self._store.abandon_request(scope, asked)
            raise

    async def _take(self, scope: Scope, taking: TurnTaking) -> ChatReply:
        """Take the turn, in a new conversation if the one that was asked for is damaged; that one stays as it is."""
        try:
            return await self._billed(scope, taking)
        except CorruptRecordError as exc:
            if exc.kind != "conversation":
                raise
        fresh = taking.elsewhere()
        damaged_id = taking.conversation_id
        _log.warning("conversation %s is damaged; the turn is kept in %s", damaged_id, fresh.conversation_id)
        return msgspec.structs.replace(await self._billed(scope, fresh), damaged_id=damaged_id)

    async def _billed(self, scope: Scope, taking: TurnTaking) -> ChatReply:
        ledger, conversation_id = self._parts.means.ledger, taking.conversation_id
        async with ledger.bill(scope, kind=CHAT, conversation_id=conversation_id, turn_id=taking.id) as bill:
            return await taking.take(bill)

    async def _first_reply(self, scope: Scope, answer: Answer, hearing: Hearing) -> ChatReply:
        """Return what was answered; memories that were erased since are left out."""
        kept = msgspec.json.decode(answer.body, type=KeptReply)
        wanted = dict.fromkeys((*kept.said, kept.user_message_id, kept.message_id))
        held = {one: await self._store.get_message(scope, kept.conversation_id, one) for one in wanted}
        for one in kept.written:
            with suppress(MessageNotFoundError):
                held[one] = await self._store.get_message(scope, kept.conversation_id, one)
        written = [one for one in kept.written or (kept.message_id,) if one in held]
        memories: list[Recalled] = []
        for memory_id, why in kept.memories:
            with suppress(MemoryNotFoundError):
                memories.append(Recalled(memory=await self._store.get_memory(scope, memory_id), why=why))
        reply = ChatReply(
            conversation_id=kept.conversation_id,
            user_message=held[kept.user_message_id],
            said=tuple(held[one] for one in kept.said),
            message=held[kept.message_id],
            memories=tuple(memories),
            usage=kept.usage,
            failure=kept.failure,
        )
        hearing.hear(Started(reply.conversation_id, reply.message.id, reply.memories))
        for one in written:
            _tell_again(held[one], hearing)
        hearing.hear(Saved("durable", tuple(held[one] for one in (*kept.said, *written))))
        return reply


def _tell_again(message: Message, hearing: Hearing) -> None:
    """Let a message of a reply be heard as if it were being written."""
    if message.role == "tool":
        hearing.hear(ToolReturned(message.tool_call_id or "", message.content))
        return
    if message.content:
        hearing.hear(TextDelta(message.content))
    for call in message.tool_calls:
        hearing.hear(ToolCallRequest(id=call.id, tool_name=call.tool_name, input=call.input or {}))


def _describe(span: Span, reply: ChatReply) -> None:
    span.set(CONVERSATION, reply.conversation_id)
    span.set(INPUT_TOKENS, reply.usage.input_tokens)
    span.set(OUTPUT_TOKENS, reply.usage.output_tokens)
    if reply.failure is not None:
        span.fail(reply.failure.code)


def _name(scope: Scope, asked: RequestKey) -> tuple[str, str, str]:
    return scope.tenant, scope.user, asked.key


def _digest(scope: Scope, request: ChatRequest) -> str:
    asked = msgspec.structs.replace(request, key=None, digest=None) if request.digest is None else request.digest
    return hashlib.blake2b(msgspec.json.encode((scope.agent, asked)), digest_size=16).hexdigest()
