"""Take one turn: find its place, tell the model what is known, hear the reply, record it all in one transaction.

However far the reply comes, the user's message and what was heard are kept.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from recollect.domain.appending import stored_message
from recollect.domain.checks import check_type
from recollect.domain.context_record import Asked, record_of
from recollect.domain.conversation import ConversationChanges
from recollect.domain.idempotency import Answer, RequestKey, id_from
from recollect.domain.message import Message, MessageStatus, NewMessage
from recollect.domain.repeating import repeating, sources
from recollect.domain.scope import Scope
from recollect.domain.turn import Append, Appended, TurnRecord, Usage
from recollect.domain.window import Window, until
from recollect.errors import (
    ErasedError,
    ProviderError,
    ProviderOutputError,
    StorageUnavailableError,
)
from recollect.ports.bill import Bill
from recollect.ports.responder import Hear, Question, Reply, ReplyEvent, Responder, Tool
from recollect.ports.store import Store
from recollect.service.chat_request import (
    ChatOptions,
    ChatReply,
    ChatRequest,
    Durability,
    Failed,
    Hearing,
    Saved,
    Started,
    WritePolicy,
)
from recollect.service.context import Contexts, Telling, Told
from recollect.service.conversations import CONVERSATION_CREATED, CONVERSATION_UPDATED
from recollect.service.drafting import Draft, Signing
from recollect.service.ending import to_its_end, unless_stopped
from recollect.service.keeping import Keeper
from recollect.service.means import Means
from recollect.service.placing import Place, answered_by, aside, emptied, newest
from recollect.service.tools import Toolbox

_log = logging.getLogger(__name__)


class ChatParts(NamedTuple):
    """What turns are taken with."""

    store: Store
    keeper: Keeper
    contexts: Contexts
    responder: Responder
    toolbox: Toolbox
    means: Means
    options: ChatOptions


class KeptReply(msgspec.Struct, frozen=True):
    """What is kept of a reply to answer a retry."""

    conversation_id: str
    user_message_id: str
    message_id: str
    usage: Usage
    #: The ids of what was said in the turn, and of the whole reply.
    said: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    #: The ids of the memories that the model was told, and why.
    memories: tuple[tuple[str, str], ...] = ()
    failure: Failed | None = None


class _Written(NamedTuple):
    """A reply, however far it came."""

    messages: tuple[NewMessage, ...]
    message_id: str
    status: MessageStatus
    usage: Usage
    failure: Failed | None


class TurnTaking:
    """One turn in one conversation."""

    def __init__(
        self, parts: ChatParts, scope: Scope, request: ChatRequest, asked: RequestKey | None, hearing: Hearing
    ) -> None:
        self._parts = parts
        self._scope = scope
        self._request = request
        self._asked = asked
        self._hearing = hearing
        self.id = self._id_for("turn")
        self.conversation_id = request.conversation_id or self._id_for("conversation")

    def elsewhere(self) -> TurnTaking:
        """Return the same turn in a new conversation."""
        request = msgspec.structs.replace(self._request, conversation_id=self._parts.means.new_id(), parent_id=UNSET)
        return TurnTaking(self._parts, self._scope, request, self._asked, self._hearing)

    async def take(self, bill: Bill) -> ChatReply:
        """Answer, and store what the policy says."""
        policy = self._request.write_policy or self._parts.options.write_policy
        place, stored = await self._begun(policy)
        told = await self._told(place)
        is_offered = told.remembers and not place.is_unknown
        tools = self._parts.toolbox.of(self._scope, self.conversation_id) if is_offered else ()
        written = await self._written(told, place, tools, bill)
        if policy == "client":
            return self._unstored_reply(place, told, written, "client")
        if place.is_unknown:
            return self._unstored_reply(place, told, written, "volatile")
        try:
            appended = await self._record(place, told, written)
        except StorageUnavailableError:
            if not self._parts.options.volatile_fallback:
                raise
            _log.warning("the store is away; a turn of %s is not kept", self.conversation_id)
            return self._unstored_reply(place, told, written, "volatile")
        bill.settle(self._parts.responder.name)
        return await self._stored_reply(place, told, written, stored, appended)

    async def pass_by(self) -> ChatReply:
        """Answer as the user wants it, and neither remember nor write anything."""
        said = self._said()
        place = Place(None, said, said[-1])
        told = await self._told(place)
        written = await self._written(told, place, (), Bill())
        return self._unstored_reply(place, told, written, "volatile")

    # Where the turn goes on

    async def _begun(self, policy: WritePolicy) -> tuple[Place, tuple[Message, ...]]:
        """Return where the turn goes on, and what is stored of it already."""
        try:
            place = await self._place()
            if policy != "ahead" or not place.said:
                return place, ()
            stored = await self._record_ahead(place)
            window = await self._parts.keeper.window(self._scope, self.conversation_id)
            return place._replace(window=window), stored
        except StorageUnavailableError:
            request = self._request
            is_newest = request.regenerate is None and request.parent_id is UNSET
            if not self._parts.options.volatile_fallback or not is_newest:
                raise
            _log.warning("the store is away; a turn of %s is not kept", self.conversation_id)
            said = self._said()
            return Place(None, said, said[-1], is_unknown=True), ()

    async def _place(self) -> Place:
        request, store = self._request, self._parts.store
        window = await self._parts.keeper.window(self._scope, self.conversation_id)
        if request.regenerate is not None:
            asked = await answered_by(store, self._scope, self.conversation_id, request.regenerate)
            shown = await self._until(window, asked.parent_id)
            return Place(shown, (), asked, asked.id, aside(window, shown))
        said = self._said()
        if request.parent_id is UNSET:
            return newest(window, said)
        if request.parent_id is not None:
            await store.get_message(self._scope, self.conversation_id, request.parent_id)
        said = (msgspec.structs.replace(said[0], parent_id=request.parent_id), *said[1:])
        shown = await self._until(window, request.parent_id)
        return Place(shown, said, said[-1], aside=aside(window, shown))

    def _said(self) -> tuple[NewMessage, ...]:
        request = self._request
        if not request.text:
            return request.new_messages
        message_id, at = self._id_for("message"), self._parts.means.clock()
        return (*request.new_messages, NewMessage(id=message_id, role="user", content=request.text, created_at=at))

    async def _until(self, window: Window | None, message_id: str | None) -> Window | None:
        """Return the window as if this message were the newest."""
        if window is None:
            return None
        if message_id is None:
            return emptied(window)
        held = until(window, message_id)
        if held is not None:
            return held
        # Too little is held to tell: go back there first, and read it from the store.
        changes = ConversationChanges(at=self._parts.means.clock(), head_id=message_id)
        await self._parts.store.change_conversation(self._scope, self.conversation_id, changes)
        return await self._parts.keeper.window(self._scope, self.conversation_id)

    # The reply

    async def _told(self, place: Place) -> Told:
        """Return the prompt: what stands in the window, what was said since, and what is asked now."""
        question, request = place.question, self._request
        is_asked = question.role == "user"
        shown = [one for one in self._parts.keeper.shown(place.window) if not is_asked or one.id != question.id]
        known = {one.id for one in (*shown, *(place.window.messages if place.window is not None else ()))}
        earlier = place.said[:-1] if is_asked else place.said
        shown += [self._unstored(place, message) for message in earlier if message.id not in known]
        spoken = [question.content] if is_asked else [one.content for one in shown if one.role == "user"]
        telling = Telling(
            message=question.content if is_asked else "",
            question=spoken[-1] if spoken else "",
            given=msgspec.json.encode(request.context).decode() if request.context else "",
            instructions=request.instructions,
            remembers=not request.temporary and not place.is_unknown,
            without=place.aside | {question.id},
        )
        return await self._parts.contexts.tell(self._scope, place.window, shown, telling)

    async def _written(self, told: Told, place: Place, tools: tuple[Tool, ...], bill: Bill) -> _Written:
        request, draft = self._request, Draft()
        message_id = self._id_for("reply")
        self._hearing.hear(Started(self.conversation_id, message_id, told.memories))

        def hear(event: ReplyEvent) -> None:
            draft.hear(event)
            self._hearing.hear(event)

        question = Question(
            text=place.question.content,
            context=told.context,
            recalled=told.recalled,
            tools=(*(Tool(spec=spec) for spec in request.tools), *_unnamed(tools, request)),
            sampling=request.sampling,
        )
        reply, status, failure = await self._heard(question, draft, hear)
        responder = self._parts.responder.name
        metadata: dict[str, Any] = {"responder": responder, **({"is_cut": True} if reply.is_cut else {})}
        if reply.repeats is not None:
            known = told.context.memory_ids
            metadata |= repeating(sources(reply.repeats, told.recalled, known, self.conversation_id))
        signing = Signing(
            message_id=message_id,
            at=self._parts.means.clock(),
            status=status,
            parent_id=place.parent_id,
            metadata=metadata,
            other_id=lambda number: self._id_for(f"reply {number}"),
        )
        return _Written(draft.messages(signing), message_id, status, bill.spent(responder) or reply.usage, failure)

    async def _heard(self, question: Question, draft: Draft, hear: Hear) -> tuple[Reply, MessageStatus, Failed | None]:
        """Hear the reply to its end, or until it is stopped or fails."""
        try:
            reply = await unless_stopped(self._parts.responder.reply(question, hear), self._hearing.stop)
            if reply is None:
                return Reply(), "interrupted", None
            check_type(reply, Reply, "a reply", ProviderOutputError)
            draft.check()
        except Exception as exc:  # noqa: BLE001  # whatever fails here, what the user said is kept
            is_known = isinstance(exc, ProviderError)
            code = exc.code if isinstance(exc, ProviderError) else type(exc).__name__
            _log.warning("the responder failed: %s", code)
            detail = str(exc) if is_known else "whoever answers failed"
            return Reply(), "failed", Failed(code if is_known else ProviderError.code, detail)
        return reply, "complete", None

    # What is kept

    async def _record_ahead(self, place: Place) -> tuple[Message, ...]:
        append = await self._append(place, place.said)
        appended = await self._parts.store.append(self._scope, append)
        await self._parts.keeper.added(self._scope, place.window, appended, append.jobs)
        return appended.messages

    async def _append(self, place: Place, messages: tuple[NewMessage, ...]) -> Append:
        return await self._parts.keeper.append(place.window, self.conversation_id, messages, mode=self._request.mode)

    async def _record(self, place: Place, told: Told, written: _Written) -> Appended:
        append = await self._append(place, (*place.said, *written.messages))
        context = self._request.context
        record = TurnRecord(
            id=self.id,
            append=append,
            status=written.status,
            mode=self._request.mode,
            metadata={"context": context} if context else {},
            usage=written.usage,
            model=self._parts.responder.name,
            memory_ids=told.context.memory_ids,
            context=record_of(told.parts, told.context, self.conversation_id, _asked(place, told)),
            answer=self._kept_answer(place, told, written),
        )
        recording = self._parts.store.record_turn(self._scope, record)
        if record.answer is None:
            appended = await recording
        else:
            appended = await to_its_end(asyncio.create_task(recording))
        await self._parts.keeper.added(self._scope, place.window, appended, append.jobs)
        kind = CONVERSATION_CREATED if place.window is None else CONVERSATION_UPDATED
        self._parts.means.tell(self._scope, kind, (self.conversation_id,))
        return appended

    def _kept_answer(self, place: Place, told: Told, written: _Written) -> Answer | None:
        if self._asked is None:
            return None
        kept = KeptReply(
            conversation_id=self.conversation_id,
            user_message_id=place.question.id,
            message_id=written.message_id,
            usage=written.usage,
            said=tuple(one.id for one in place.said),
            written=tuple(one.id for one in written.messages),
            failure=written.failure,
            memories=tuple((one.memory.id, one.why) for one in told.memories if one.memory is not None),
        )
        return Answer(request=self._asked, status=200, body=msgspec.json.encode(kept))

    async def _stored_reply(
        self, place: Place, told: Told, written: _Written, stored: tuple[Message, ...], appended: Appended
    ) -> ChatReply:
        if place.question.id in appended.refused:
            raise ErasedError("a message with this id was erased; send what is asked under another id")
        if written.message_id in appended.refused:
            raise ErasedError("what the reply repeats was erased while it was written; ask again")
        held = {message.id: message for message in (*stored, *appended.messages)}
        wanted = [*(one.id for one in place.said), place.question.id, *(one.id for one in written.messages)]
        for message_id in wanted:
            if message_id not in held and message_id not in appended.refused:
                held[message_id] = await self._parts.store.get_message(self._scope, self.conversation_id, message_id)
        return self._reply(place, told, written, "durable", held)

    def _unstored_reply(self, place: Place, told: Told, written: _Written, durability: Durability) -> ChatReply:
        messages = (place.question, *place.said, *written.messages)
        held = {one.id: one if isinstance(one, Message) else self._unstored(place, one) for one in messages}
        return self._reply(place, told, written, durability, held)

    def _reply(
        self, place: Place, told: Told, written: _Written, durability: Durability, held: dict[str, Message]
    ) -> ChatReply:
        made = (*place.said, *written.messages)
        self._hearing.hear(Saved(durability, tuple(held[one.id] for one in made if one.id in held)))
        return ChatReply(
            conversation_id=self.conversation_id,
            user_message=held[place.question.id],
            said=tuple(held[one.id] for one in place.said if one.id in held),
            message=held[written.message_id],
            recalled=told.recalled,
            memories=told.memories,
            usage=written.usage,
            durability=durability,
            failure=written.failure,
        )

    def _unstored(self, place: Place, message: NewMessage) -> Message:
        """Return the message as it looks while it is not stored."""
        head = None if place.window is None else place.window.conversation.head_id
        return stored_message(message, self.conversation_id, 0, head, None)

    def _id_for(self, what: str) -> str:
        """Return a new id, or the one that a retry of the same request has too."""
        return self._parts.means.new_id() if self._asked is None else id_from(self._asked, what)


def _asked(place: Place, told: Told) -> Asked | None:
    """Return the message whose words were looked for: what is asked, or what the user said last."""
    said = [place.question] if place.question.role == "user" else [m for m in told.parts.window if m.role == "user"]
    return Asked(said[-1].id, said[-1].content) if said else None


def _unnamed(tools: tuple[Tool, ...], request: ChatRequest) -> tuple[Tool, ...]:
    """Return our tools, unless the reply is to be JSON, and without those whose names the caller uses."""
    if request.sampling.json_schema is not None:
        return ()
    taken = {spec.name for spec in request.tools}
    return tuple(tool for tool in tools if tool.spec.name not in taken)
