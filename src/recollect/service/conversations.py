"""Conversations for applications: add, read, clear, list, name, branch and archive.

Everything is durable when a call returns, and a strategy that fails never undoes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import msgspec

from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    FoundConversations,
    NewConversation,
)
from recollect.domain.erasure import Erasure, Receipt
from recollect.domain.message import Message, NewMessage
from recollect.domain.page import MessagePage, MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.tool_pairs import joined
from recollect.domain.turn import Appended, ArchiveBatch, ArchivedBatch
from recollect.errors import ConflictError
from recollect.ports.clock import Clock
from recollect.ports.events import Event, Events
from recollect.ports.store import Store
from recollect.service.keeping import Keeper
from recollect.service.notes import NOTES_UPDATED
from recollect.service.reading import read_page, read_summary

#: The events that tell a user's sessions to read a conversation, or the list of them, again.
CONVERSATION_CREATED, CONVERSATION_UPDATED = "conversation.created", "conversation.updated"
CONVERSATION_DELETED = "conversation.deleted"

_log = logging.getLogger(__name__)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as short as it is kept: summaries of what is old, the newest messages word for word."""

    #: Oldest first.
    summaries: tuple[Summary, ...]
    recent: tuple[Message, ...]
    #: How many messages are stored, on all branches.
    total: int
    #: Ids of messages that belong here and are damaged.
    corrupt: tuple[str, ...] = ()


class ConversationFields(TypedDict, total=False):
    """What a person may change of a conversation."""

    title: str
    is_archived: bool
    is_pinned: bool
    metadata: Mapping[str, Any]
    #: Read and continue the branch that ends with this message; None goes back before the first.
    head_id: str | None
    #: Refuse the change if the conversation has another version.
    expected_version: int | None


class Conversations:
    """Keep conversations, short in the prompt and whole in the store."""

    def __init__(
        self,
        store: Store,
        keeper: Keeper,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        events: Events | None = None,
    ) -> None:
        self._store = store
        self._keeper = keeper
        self._clock = clock
        self._new_id = new_id
        self._events = events

    # Messages

    async def add_messages(
        self, scope: Scope, conversation_id: str, messages: Sequence[NewMessage], *, create: bool = True
    ) -> Appended:
        """Add messages at the head; those whose ids are stored are duplicates, and adding them again is safe."""
        window = await self._keeper.window(scope, conversation_id)
        append = await self._keeper.append(window, conversation_id, tuple(messages), create=create)
        appended = await self._store.append(scope, append)
        _log.info("added %d messages to %s", len(appended.messages), conversation_id)
        if appended.messages:
            self._tell(scope, CONVERSATION_CREATED if window is None else CONVERSATION_UPDATED, conversation_id)
        await self._keeper.added(scope, window, appended, append.jobs)
        return appended

    async def get_messages(
        self,
        scope: Scope,
        conversation_id: str,
        *,
        limit: int = 50,
        before: str | None = None,
        after: str | None = None,
    ) -> MessagePage:
        """Read a page in order, with the summaries that end in it; `before` and `after` are message ids.

        Each tool call has its result as its output, also if that stands on the next page.
        """
        query = MessageQuery(conversation_id=conversation_id, limit=limit, before=before, after=after)
        return await read_page(self._store, scope, query)

    async def expand(
        self, scope: Scope, conversation_id: str, summary_id: str, *, limit: int = 50, after: str | None = None
    ) -> MessagePage:
        """Read the messages that a summary stands for, oldest first, with the summaries that it folds among them.

        Originals that were deleted when a summary was written are not there any more.
        """
        query = MessageQuery(conversation_id=conversation_id, limit=limit, after=after)
        return await read_summary(self._store, scope, summary_id, query)

    async def clear_messages(self, scope: Scope, conversation_id: str, *, memories: bool = False) -> Receipt:
        """Erase the messages, summaries and jobs of a conversation, which then starts again; memories only if told.

        Raise `ConversationNotFoundError` if there is nothing to clear.
        """
        receipt = await self._store.clear_conversation(scope, conversation_id, self._erasure(memories))
        _log.info("cleared %d messages of %s", receipt.erased.messages, conversation_id)
        self._tell_erased(scope, CONVERSATION_UPDATED, conversation_id, receipt)
        return receipt

    async def erase_message(
        self, scope: Scope, conversation_id: str, message_id: str, *, memories: bool = True
    ) -> Receipt:
        """Erase one message with what derives from it; what its summary had covered is summarised again."""
        receipt = await self._store.erase_message(scope, conversation_id, message_id, self._erasure(memories))
        self._tell_erased(scope, CONVERSATION_UPDATED, conversation_id, receipt)
        if receipt.erased.summaries:
            window = await self._store.get_window(scope, conversation_id)
            await self._keeper.look_again(scope, conversation_id, 0, window.conversation.message_count)
        return receipt

    async def archive(
        self, scope: Scope, conversation_id: str, messages: Sequence[NewMessage], *, batch_id: str | None = None
    ) -> ArchivedBatch:
        """Store what a client kept until now, in one transaction; overlap and repetition store nothing twice."""
        window = await self._keeper.window(scope, conversation_id)
        append = await self._keeper.append(window, conversation_id, tuple(messages))
        batch = await self._store.archive(scope, ArchiveBatch(id=batch_id or self._new_id(), append=append))
        total = batch.archived + (0 if window is None else window.conversation.message_count)
        _log.info("archived %d messages of %s", batch.archived, conversation_id)
        if batch.archived:
            self._tell(scope, CONVERSATION_CREATED if window is None else CONVERSATION_UPDATED, conversation_id)
            await self._keeper.look_again(scope, conversation_id, batch.archived, total)
        return batch

    async def get_context(self, scope: Scope, conversation_id: str) -> Context:
        """Return what a prompt needs of the conversation."""
        window = await self._store.get_window(scope, conversation_id)
        return Context(
            summaries=window.summaries,
            recent=joined(self._keeper.shown(window)),
            total=window.conversation.message_count,
            corrupt=window.corrupt,
        )

    # Conversations

    async def create(
        self,
        scope: Scope,
        *,
        conversation_id: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] = {},  # never changed
    ) -> Conversation:
        """Return the conversation with this id, created if there is none; without an id, a new one."""
        new = self._new(scope, conversation_id, title, metadata)
        return self._made(scope, new, await self._store.create_conversation(scope, new))

    async def current(self, scope: Scope) -> Conversation:
        """Return the newest conversation of the scope's agent that is not archived, created if there is none."""
        new = self._new(scope, None, None, {})
        return self._made(scope, new, await self._store.current_conversation(scope, new))

    async def get(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return the conversation or raise `ConversationNotFoundError`."""
        return await self._store.get_conversation(scope, conversation_id)

    async def list(self, scope: Scope, query: ConversationQuery | None = None) -> ConversationPage:
        """List conversations, newest activity first."""
        return await self._store.list_conversations(scope, query or ConversationQuery())

    async def search(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        """Find conversations by the words of their titles and messages, newest activity first."""
        return await self._store.search_conversations(scope, query)

    async def update(self, scope: Scope, conversation_id: str, **changes: Unpack[ConversationFields]) -> Conversation:
        """Change what a person may change; a title set here is never overwritten by an automatic one."""
        return await self._change(scope, conversation_id, ConversationChanges(at=self._clock(), **changes))

    async def delete(self, scope: Scope, conversation_id: str, *, memories: bool = True) -> Receipt:
        """Erase a conversation with everything that derives from it; its id cannot be used again."""
        receipt = await self._store.erase_conversation(scope, conversation_id, self._erasure(memories))
        self._tell_erased(scope, CONVERSATION_DELETED, conversation_id, receipt)
        return receipt

    # Branches

    async def edit(self, scope: Scope, conversation_id: str, message_id: str, content: str) -> Appended:
        """Say something else in the place of a message; what was said stays on its own branch."""
        old = await self._store.get_message(scope, conversation_id, message_id)
        if old.role not in ("user", "assistant", "system"):
            raise ConflictError("only what a person or the assistant said can be edited")
        new = NewMessage(
            id=self._new_id(),
            role=old.role,
            content=content,
            name=old.name,
            created_at=self._clock(),
            parent_id=old.parent_id,
            metadata={"edits": message_id},
        )
        return await self.add_messages(scope, conversation_id, (new,), create=False)

    async def select(self, scope: Scope, conversation_id: str, head_id: str) -> Conversation:
        """Read and continue the branch that ends with this message."""
        changes = ConversationChanges(at=self._clock(), head_id=head_id)
        return await self._change(scope, conversation_id, changes)

    async def undo(self, scope: Scope, conversation_id: str) -> Conversation:
        """Go back to before the newest user message; the messages stay on a branch of their own."""
        before: str | None = None
        while True:
            page = await self.get_messages(scope, conversation_id, before=before)
            asked = next((message for message in reversed(page.messages) if message.role == "user"), None)
            if asked is not None:
                changes = ConversationChanges(at=self._clock(), head_id=asked.parent_id)
                return await self._change(scope, conversation_id, changes)
            if not page.more or not page.messages:
                raise ConflictError("there is no user message to undo")
            before = page.messages[0].id

    async def _change(self, scope: Scope, conversation_id: str, changes: ConversationChanges) -> Conversation:
        changed = await self._store.change_conversation(scope, conversation_id, changes)
        self._tell(scope, CONVERSATION_UPDATED, conversation_id)
        return changed

    def _made(self, scope: Scope, new: NewConversation, stored: Conversation) -> Conversation:
        """Return the stored conversation, and tell of it if it is the new one."""
        if stored.id == new.id and stored.created_at == new.at and not stored.message_count:
            self._tell(scope, CONVERSATION_CREATED, stored.id)
        return stored

    def _tell(self, scope: Scope, kind: str, conversation_id: str | None) -> None:
        if self._events is not None:
            self._events.publish([Event(kind=kind, scope=scope, entity_id=conversation_id)])

    def _tell_erased(self, scope: Scope, kind: str, conversation_id: str, receipt: Receipt) -> None:
        """Tell of a conversation and of what was learned there; which memories and notes that was, nobody keeps."""
        from recollect.service.memories import MEMORY_DELETED

        self._tell(scope, kind, conversation_id)
        if receipt.erased.memories:
            self._tell(scope, MEMORY_DELETED, None)
        if receipt.erased.notes:
            self._tell(scope, NOTES_UPDATED, None)

    def _new(
        self, scope: Scope, conversation_id: str | None, title: str | None, metadata: Mapping[str, Any]
    ) -> NewConversation:
        return NewConversation(
            id=self._new_id() if conversation_id is None else conversation_id,
            at=self._clock(),
            agent=scope.agent,
            title=title,
            metadata=metadata,
        )

    def _erasure(self, memories: bool) -> Erasure:
        return Erasure(receipt_id=self._new_id(), at=self._clock(), memories=memories)
