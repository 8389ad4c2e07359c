"""One chat turn: window, recall, reply, one transaction.

Recall or the responder failing never loses the user's message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from recollect.domain.checks import check_optional_id, check_text
from recollect.domain.message import Message, MessageStatus, NewMessage
from recollect.domain.page import Hit, MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.domain.turn import Append, TurnRecord, Usage
from recollect.errors import ConversationNotFoundError, ProviderError
from recollect.ports.clock import Clock
from recollect.ports.conversations import ConversationStore
from recollect.ports.responder import Question, Reply, Responder

_log = logging.getLogger(__name__)


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says, and where."""

    text: str
    conversation_id: str | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "message", at_least=1)
        check_optional_id(self.conversation_id, "conversation id")


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded turn."""

    conversation_id: str
    user_message: Message
    message: Message
    recalled: tuple[Hit, ...]
    usage: Usage


class Chat:
    """Answer with what is known, and record the turn."""

    def __init__(
        self,
        store: ConversationStore,
        responder: Responder,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        window: int,
        recall: int,
    ) -> None:
        self._store = store
        self._responder = responder
        self._clock = clock
        self._new_id = new_id
        self._window = window
        self._recall = recall

    async def turn(self, scope: Scope, request: ChatRequest) -> ChatReply:
        """Answer the user and store both messages in one transaction."""
        conversation_id = request.conversation_id or self._new_id()
        asked_at = self._clock()
        window = await self._read_window(scope, conversation_id)
        recalled = await self._recalled(scope, request.text, {message.id for message in window})
        reply, status = await self._reply(Question(text=request.text, window=window, recalled=recalled))
        said = NewMessage(id=self._new_id(), role="user", content=request.text, created_at=asked_at)
        answer = NewMessage(
            id=self._new_id(),
            role="assistant",
            content=reply.text,
            created_at=self._clock(),
            status=status,
            metadata={"responder": self._responder.name},
        )
        append = Append(conversation_id=conversation_id, messages=(said, answer), at=self._clock(), create=True)
        record = TurnRecord(id=self._new_id(), append=append, status=status, usage=reply.usage)
        stored = await self._store.record_turn(scope, record)
        return ChatReply(
            conversation_id=conversation_id,
            user_message=stored.messages[0],
            message=stored.messages[1],
            recalled=recalled,
            usage=reply.usage,
        )

    async def _read_window(self, scope: Scope, conversation_id: str) -> tuple[Message, ...]:
        try:
            query = MessageQuery(conversation_id=conversation_id, limit=self._window)
            return (await self._store.list_messages(scope, query)).messages
        except ConversationNotFoundError:
            return ()

    async def _recalled(self, scope: Scope, text: str, known: set[str]) -> tuple[Hit, ...]:
        hits = await self._store.search_messages(scope, SearchQuery(text=text, limit=self._recall + len(known)))
        new = [hit for hit in hits if hit.message.id not in known and hit.message.role == "user"]
        return tuple(new[: self._recall])

    async def _reply(self, question: Question) -> tuple[Reply, MessageStatus]:
        try:
            return await self._responder.reply(question), "complete"
        except ProviderError as exc:
            _log.warning("the responder failed: %s", exc.code)
            return Reply(text=""), "failed"
