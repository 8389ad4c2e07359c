"""What the service needs to keep conversations."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    FoundConversations,
    NewConversation,
)
from recollect.domain.message import Message
from recollect.domain.page import Hit, MessagePage, MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary, Summary
from recollect.domain.turn import Append, Appended, ArchiveBatch, ArchivedBatch, Turn, TurnRecord
from recollect.domain.window import Backlog, Unextracted, Window


class ConversationStore(Protocol):
    """Keep conversations and their messages.

    Every method is one transaction: it happens as a whole or not at all, and what it returns is durable.
    Every write carries ids, and writing the same ids again stores nothing twice.
    Nothing outside the scope's tenant and user is read or changed; what belongs to another is reported as missing.
    Wrong input raises `InvalidInputError` and changes nothing.
    `StorageUnavailableError` means that nothing was acknowledged; it is safe to try again.
    """

    async def create_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        """Return the conversation with this id, created if there is none.

        Raise `ErasedError` for the id of an erased conversation.
        """

    async def current_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        """Return the newest conversation of `new.agent` that is not archived, or create this one.

        Concurrent callers get the same conversation.
        """

    async def get_conversation(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return the conversation or raise `ConversationNotFoundError`."""

    async def list_conversations(self, scope: Scope, query: ConversationQuery) -> ConversationPage:
        """List conversations by last activity, newest first, then by id; any page costs the same."""

    async def search_conversations(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        """Find conversations by their words, in any script; newest activity first, then by id, in pages.

        One is found if the title that a person gave it holds all the words, or if one of its messages does,
        on whichever branch; an automatic title is not looked at, for it is taken from a message.
        The work depends on the user's own matching messages and own titles, not on the whole store.
        """

    async def conversations_holding(self, scope: Scope, message_id: str, limit: int) -> tuple[str, ...]:
        """Return the ids of the conversations that hold a message with this id, the newest such message first.

        The cost depends on the limit and on how many hold one, not on how many conversations there are.
        """

    async def change_conversation(
        self, scope: Scope, conversation_id: str, changes: ConversationChanges
    ) -> Conversation:
        """Apply the changes and return the conversation after them.

        Raise `StaleVersionError` if an expected version is given and does not hold,
        `MessageNotFoundError` if the new head is no message of the conversation.
        Without a head no message is read, and the next one starts a new root.
        A title of a person is never replaced by an automatic one.
        """

    async def mark_inactive(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[str, ...]:
        """Mark at most `limit` conversations inactive that had no activity after this time; return their ids.

        The next message makes a conversation active again.
        """

    async def list_idle(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[Conversation, ...]:
        """Return the conversations without activity after this time, the longest idle first, then by id.

        They may be active or not, archived or not.
        The cost depends on the limit, not on how many there are.
        """

    async def append(self, scope: Scope, request: Append) -> Appended:
        """Add messages at the head, in the given order, with consecutive seqs, and enqueue their jobs.

        Messages of one append are never interleaved with others.
        A message whose id is stored is a duplicate, one whose id was erased is refused; both are reported, not stored.
        Jobs are enqueued only if a message was stored.
        Raise `ConversationNotFoundError` if there is no conversation and `create` is false,
        `InvalidMessageError` if a parent is no message of the conversation.
        """

    async def record_turn(self, scope: Scope, record: TurnRecord) -> Appended:
        """Store a turn: its messages, jobs, access counts and the answer to a retry.

        A turn with a stored id adds only what was missing of its messages; one of erased messages only adds nothing.
        What answers an erased message is refused with it.
        """

    async def archive(self, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
        """Store a client's batch; overlap is stored once, and the same batch again gets the first answer."""

    async def get_message(self, scope: Scope, conversation_id: str, message_id: str) -> Message:
        """Return the message or raise `MessageNotFoundError`; `CorruptRecordError` if it was damaged."""

    async def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        """Read a page in chronological order; any page of an unbranched conversation costs the same.

        Without `before` and `after` it is the newest page.
        A damaged message is left out and its id reported.
        """

    async def get_window(self, scope: Scope, conversation_id: str) -> Window:
        """Return what a prompt needs of the conversation; it may be held in a cache, but is never out of date.

        Raise `ConversationNotFoundError` if there is none.
        """

    async def list_unextracted(self, scope: Scope, conversation_id: str, limit: int, context: int) -> Unextracted:
        """Return the oldest messages of the head path that were not learned from, and so many before them."""

    async def get_backlog(self, scope: Scope, conversation_id: str, limit: int) -> Backlog:
        """Return at most `limit` of the messages on the head path that no summary covers, the oldest of them."""

    async def list_turns(self, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
        """Return the turns of a conversation, oldest first."""

    async def find_turns(self, scope: Scope, conversation_id: str, turn_ids: tuple[str, ...]) -> tuple[Turn, ...]:
        """Return those of these turns that are stored, oldest first; the cost depends on how many are asked for."""

    async def search_messages(self, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
        """Find messages by their words, in any script, those with most of the words first, then the newest.

        The work depends on the user's own messages, not on the whole store.
        """

    async def put_summary(self, scope: Scope, new: NewSummary) -> Summary:
        """Replace a range of messages, or of summaries, by a summary.

        The range must be one contiguous chain that no active summary covers; else `ConflictError`, and nothing changes.
        The same summary id again returns the stored one.
        With `delete_originals` the covered messages are gone in the same transaction, and refused if they come again;
        in a conversation with branches that is a `ConflictError`.
        """

    async def active_summaries(self, scope: Scope, conversation_id: str) -> tuple[Summary, ...]:
        """Return the summaries that no other replaces, on every branch, in order of what they cover."""

    async def expand_summary(self, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
        """Return the summary and every summary folded into it, widest first."""
