"""One chat turn: window, recall, reply, one transaction.

Whatever fails beside the store, the user's message is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import Literal, NamedTuple, TypeVar

import msgspec

from recollect.domain.appending import stored_message
from recollect.domain.checks import check_items, check_one_of, check_optional_id, check_text, check_type
from recollect.domain.context import Recalled
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.message import Message, MessageStatus, NewMessage
from recollect.domain.passage import REPEATS
from recollect.domain.scope import Scope
from recollect.domain.turn import MODES, Append, Mode, TurnRecord, Usage
from recollect.domain.window import Window
from recollect.errors import CorruptRecordError, ProviderError, ProviderOutputError
from recollect.ports.bill import Bill
from recollect.ports.responder import Question, Reply, Responder
from recollect.ports.store import Store
from recollect.service.context import Contexts, Told
from recollect.service.keeping import Keeper
from recollect.service.means import Means

WritePolicy = Literal["turn", "ahead", "client"]
Durability = Literal["durable", "client"]
#: The kind of work that a turn is entered as in the ledger.
CHAT = "chat"
#: What a client may hold back until it archives.
MAX_UNSAVED = 1_000

T = TypeVar("T")
_log = logging.getLogger(__name__)


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says, and where."""

    text: str
    conversation_id: str | None = None
    #: The same key and request again have one effect and get the first answer.
    key: str | None = None
    #: When the messages become durable; None is what the settings say.
    write_policy: WritePolicy | None = None
    #: What the turn is about, which changes what is learned from it.
    mode: Mode = "chat"
    #: With the policy `client`: what the client said and heard since it last archived, oldest first.
    unsaved: tuple[NewMessage, ...] = ()

    def __post_init__(self) -> None:
        check_text(self.text, "message", at_least=1)
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_id(self.key, "idempotency key")
        if self.write_policy is not None:
            check_one_of(self.write_policy, ("turn", "ahead", "client"), "write_policy")
        check_one_of(self.mode, MODES, "mode")
        check_items(self.unsaved, NewMessage, "unsaved", at_most=MAX_UNSAVED)


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The turn; with the durability `client` its messages are not stored, and their seq is 0."""

    conversation_id: str
    user_message: Message
    message: Message
    recalled: tuple[Recalled, ...]
    usage: Usage
    durability: Durability = "durable"
    #: The conversation that was asked for, if it is damaged; the turn then began a new one.
    damaged_id: str | None = None


class _Kept(msgspec.Struct, frozen=True):
    """What is kept of a reply to answer a retry."""

    conversation_id: str
    user_message_id: str
    message_id: str
    usage: Usage


class _Taking(NamedTuple):
    """A turn that is being taken."""

    turn_id: str
    conversation_id: str
    request: ChatRequest
    asked: RequestKey | None
    bill: Bill


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How turns are taken."""

    write_policy: WritePolicy = "turn"


class Chat:
    """Answer with what is known, and record the turn."""

    def __init__(
        self,
        store: Store,
        keeper: Keeper,
        contexts: Contexts,
        responder: Responder,
        means: Means,
        options: ChatOptions,
    ) -> None:
        self._store = store
        self._keeper = keeper
        self._contexts = contexts
        self._responder = responder
        self._means = means
        self._options = options

    async def turn(self, scope: Scope, request: ChatRequest) -> ChatReply:
        """Answer the user and store both messages in one transaction.

        Raise `RequestInFlightError` while a request with the same key is answered, `IdempotencyMismatchError` if the
        key was used for another one.
        """
        if request.key is None:
            return await self._turn(scope, request, None)
        asked = RequestKey(key=request.key, digest=_digest(request))
        known = await self._begin(scope, asked)
        if known is not None:
            return await self._first_reply(scope, known)
        try:
            reply = await self._turn(scope, request, asked)
        except BaseException:  # whatever stopped it, the same request may be tried again
            await self._store.abandon_request(scope, asked)
            raise
        if reply.durability == "client":
            # Nothing is stored, so a retry has nothing to find and may simply ask again.
            await self._store.abandon_request(scope, asked)
        return reply

    async def _begin(self, scope: Scope, asked: RequestKey) -> Answer | None:
        begin = asyncio.create_task(
            self._store.begin_request(scope, RequestStart(request=asked, at=self._means.clock()))
        )
        try:
            return await _to_its_end(begin)
        except asyncio.CancelledError:
            if begin.done() and not begin.cancelled() and begin.exception() is None and begin.result() is None:
                await self._store.abandon_request(scope, asked)
            raise

    async def _turn(self, scope: Scope, request: ChatRequest, asked: RequestKey | None) -> ChatReply:
        """Take the turn, in a new conversation if the one that was asked for is damaged; that one stays as it is."""
        conversation_id = request.conversation_id or self._id_for(asked, "conversation")
        try:
            return await self._turn_in(scope, conversation_id, request, asked)
        except CorruptRecordError as exc:
            if exc.kind != "conversation":
                raise
        fresh = self._means.new_id()
        _log.warning("conversation %s is damaged; the turn is kept in %s", conversation_id, fresh)
        reply = await self._turn_in(scope, fresh, request, asked)
        return msgspec.structs.replace(reply, damaged_id=conversation_id)

    async def _turn_in(
        self, scope: Scope, conversation_id: str, request: ChatRequest, asked: RequestKey | None
    ) -> ChatReply:
        turn_id = self._means.new_id()
        ledger = self._means.ledger
        async with ledger.bill(scope, kind=CHAT, conversation_id=conversation_id, turn_id=turn_id) as bill:
            return await self._take(scope, _Taking(turn_id, conversation_id, request, asked, bill))

    async def _take(self, scope: Scope, taking: _Taking) -> ChatReply:
        request, conversation_id = taking.request, taking.conversation_id
        policy = request.write_policy or self._options.write_policy
        said_id = self._id_for(taking.asked, "message")
        said = NewMessage(id=said_id, role="user", content=request.text, created_at=self._means.clock())
        window = await self._keeper.window(scope, conversation_id)
        stored: tuple[Message, ...] = ()
        if policy == "ahead":
            append = await self._keeper.append(window, conversation_id, (said,), mode=request.mode)
            stored = await self._record_ahead(scope, append, window)
            window = await self._keeper.window(scope, conversation_id)
        told = await self._told(scope, request, conversation_id, window, said.id)
        reply, status = await self._reply(Question(text=request.text, context=told.context, recalled=told.recalled))
        usage = taking.bill.spent(self._responder.name) or reply.usage
        answer = self._answer(reply, status)
        if policy == "client":
            stored = tuple(_unstored(conversation_id, window, message) for message in (said, answer))
        else:
            record = TurnRecord(
                id=taking.turn_id,
                append=await self._keeper.append(window, conversation_id, (said, answer), mode=request.mode),
                status=status,
                mode=request.mode,
                usage=usage,
                model=self._responder.name,
                memory_ids=told.context.memory_ids,
                answer=_kept_answer(taking.asked, _Kept(conversation_id, said.id, answer.id, usage)),
            )
            stored += await self._record(scope, record, window)
            taking.bill.settle(self._responder.name)
        messages = {message.id: message for message in stored}
        return ChatReply(
            conversation_id=conversation_id,
            user_message=messages.get(said.id) or await self._store.get_message(scope, conversation_id, said.id),
            message=messages[answer.id],
            recalled=told.recalled,
            usage=usage,
            durability="client" if policy == "client" else "durable",
        )

    def _answer(self, reply: Reply, status: MessageStatus) -> NewMessage:
        return NewMessage(
            id=self._means.new_id(),
            role="assistant",
            content=reply.text,
            created_at=self._means.clock(),
            status=status,
            metadata={"responder": self._responder.name, **({REPEATS: True} if reply.repeats else {})},
        )

    def _id_for(self, asked: RequestKey | None, what: str) -> str:
        """Return a new id, or the one that a retry of the same request has too."""
        if asked is None:
            return self._means.new_id()
        text = msgspec.json.encode((what, asked.key, asked.digest))
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    async def _record_ahead(self, scope: Scope, append: Append, window: Window | None) -> tuple[Message, ...]:
        appended = await self._store.append(scope, append)
        await self._keeper.added(scope, window, appended, append.jobs)
        return appended.messages

    async def _record(self, scope: Scope, record: TurnRecord, window: Window | None) -> tuple[Message, ...]:
        if record.answer is None:
            appended = await self._store.record_turn(scope, record)
        else:
            appended = await _to_its_end(asyncio.create_task(self._store.record_turn(scope, record)))
        await self._keeper.added(scope, window, appended, record.append.jobs)
        return appended.messages

    async def _told(
        self, scope: Scope, request: ChatRequest, conversation_id: str, window: Window | None, said_id: str
    ) -> Told:
        shown = [message for message in self._keeper.shown(window) if message.id != said_id]
        known = {message.id for message in shown}
        shown += [_unstored(conversation_id, window, one) for one in request.unsaved if one.id not in known]
        return await self._contexts.tell(scope, window, shown, request.text)

    async def _reply(self, question: Question) -> tuple[Reply, MessageStatus]:
        try:
            reply = check_type(await self._responder.reply(question), Reply, "a reply", ProviderOutputError)
            check_text(reply.text, "a reply", at_least=1, error=ProviderOutputError)
        except Exception as exc:  # noqa: BLE001  # whatever fails here, what the user said is kept
            code = exc.code if isinstance(exc, ProviderError) else type(exc).__name__
            _log.warning("the responder failed: %s", code)
            return Reply(text=""), "failed"
        return reply, "complete"

    async def _first_reply(self, scope: Scope, answer: Answer) -> ChatReply:
        kept = msgspec.json.decode(answer.body, type=_Kept)
        return ChatReply(
            conversation_id=kept.conversation_id,
            user_message=await self._store.get_message(scope, kept.conversation_id, kept.user_message_id),
            message=await self._store.get_message(scope, kept.conversation_id, kept.message_id),
            recalled=(),
            usage=kept.usage,
        )


def _kept_answer(asked: RequestKey | None, kept: _Kept) -> Answer | None:
    return None if asked is None else Answer(request=asked, status=200, body=msgspec.json.encode(kept))


async def _to_its_end(write: asyncio.Task[T]) -> T:
    """Wait for a write also when cancelled: until it ends nobody knows whether its key may be used again."""
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        await asyncio.wait({write})
        raise


def _unstored(conversation_id: str, window: Window | None, message: NewMessage) -> Message:
    """Return the message as it looks while only the client has it."""
    head = None if window is None else window.conversation.head_id
    return stored_message(message, conversation_id, 0, head, None)


def _digest(request: ChatRequest) -> str:
    asked = (request.text, request.conversation_id, request.write_policy, request.mode, request.unsaved)
    return hashlib.blake2b(msgspec.json.encode(asked), digest_size=16).hexdigest()
