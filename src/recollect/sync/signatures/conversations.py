"""What `Conversations` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Unpack

from recollect.domain.conversation import (
    Conversation,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    FoundConversations,
)
from recollect.domain.erasure import Receipt
from recollect.domain.message import NewMessage
from recollect.domain.page import MessagePage
from recollect.domain.scope import Scope
from recollect.domain.turn import Appended, ArchivedBatch
from recollect.service.conversations import Context, ConversationFields


class BlockingConversations(Protocol):
    """Keep conversations, short in the prompt and whole in the store."""

    def add_messages(
        self, scope: Scope, conversation_id: str, messages: Sequence[NewMessage], *, create: bool = True
    ) -> Appended:
        """Add messages at the head; those whose ids are stored are duplicates, and adding them again is safe."""

    def get_messages(
        self,
        scope: Scope,
        conversation_id: str,
        *,
        limit: int = 50,
        before: str | None = None,
        after: str | None = None,
    ) -> MessagePage:
        """Read a page in order, with the summaries that end in it; `before` and `after` are message ids."""

    def expand(
        self, scope: Scope, conversation_id: str, summary_id: str, *, limit: int = 50, after: str | None = None
    ) -> MessagePage:
        """Read the messages that a summary stands for, oldest first, with the summaries that it folds among them."""

    def clear_messages(self, scope: Scope, conversation_id: str, *, memories: bool = False) -> Receipt:
        """Erase the messages, summaries and jobs of a conversation, which then starts again; memories only if told."""

    def erase_message(self, scope: Scope, conversation_id: str, message_id: str, *, memories: bool = True) -> Receipt:
        """Erase one message with what derives from it; what its summary had covered is summarised again."""

    def archive(
        self, scope: Scope, conversation_id: str, messages: Sequence[NewMessage], *, batch_id: str | None = None
    ) -> ArchivedBatch:
        """Store what a client kept until now, in one transaction; overlap and repetition store nothing twice."""

    def get_context(self, scope: Scope, conversation_id: str) -> Context:
        """Return what a prompt needs of the conversation."""

    def create(
        self,
        scope: Scope,
        *,
        conversation_id: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] = {},
    ) -> Conversation:
        """Return the conversation with this id, created if there is none; without an id, a new one."""

    def current(self, scope: Scope) -> Conversation:
        """Return the newest conversation of the scope's agent that is not archived, created if there is none."""

    def get(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return the conversation or raise `ConversationNotFoundError`."""

    def list(self, scope: Scope, query: ConversationQuery | None = None) -> ConversationPage:
        """List conversations, newest activity first."""

    def search(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        """Find conversations by the words of their titles and messages, newest activity first."""

    def update(self, scope: Scope, conversation_id: str, **changes: Unpack[ConversationFields]) -> Conversation:
        """Change what a person may change; a title set here is never overwritten by an automatic one."""

    def delete(self, scope: Scope, conversation_id: str, *, memories: bool = True) -> Receipt:
        """Erase a conversation with everything that derives from it; its id cannot be used again."""

    def edit(self, scope: Scope, conversation_id: str, message_id: str, content: str) -> Appended:
        """Say something else in the place of a message; what was said stays on its own branch."""

    def select(self, scope: Scope, conversation_id: str, head_id: str) -> Conversation:
        """Read and continue the branch that ends with this message."""

    def undo(self, scope: Scope, conversation_id: str) -> Conversation:
        """Go back to before the newest user message; the messages stay on a branch of their own."""
