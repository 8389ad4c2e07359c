"""Finding conversations in memory."""

from __future__ import annotations

from recollect.domain.conversation import (
    Conversation,
    ConversationCursor,
    ConversationSearch,
    FoundConversation,
    FoundConversations,
)
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.snippet import snippet
from recollect.domain.terms import asked_terms, terms
from recollect.storage.inmemory.conversations import by_activity, listed
from recollect.storage.inmemory.reading import in_order
from recollect.storage.inmemory.shelves import Shelves


def _found(conversation: Conversation, messages: list[Message], wanted: list[str]) -> FoundConversation | None:
    """Return the conversation with the newest message that holds all the terms, or None if it holds them nowhere."""
    for message in reversed(messages):
        if set(wanted).issubset(terms(message.content)):
            passage = snippet(message.content, wanted)
            return FoundConversation(conversation=conversation, snippet=passage, message_id=message.id)
    title = conversation.title if conversation.title_source == "user" else None
    if set(wanted).issubset(terms(title or "")):
        return FoundConversation(conversation=conversation, snippet=None, message_id=None)
    return None


class Finding(Shelves):
    """Find conversations."""

    async def conversations_holding(self, scope: Scope, message_id: str, limit: int) -> tuple[str, ...]:
        held = [conversation_id for conversation_id, one in self._reading(scope).messages if one == message_id]
        return tuple(held[::-1][:limit])

    async def search_conversations(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        data, wanted = self._reading(scope), asked_terms(query.text)
        if not wanted:
            return FoundConversations(items=(), next=None)
        each = (_found(one, in_order(data, one.id), wanted) for one in listed(data, query))
        found = [one for one in each if one is not None]
        items = tuple(found[: query.limit])
        more = len(found) > query.limit
        last = ConversationCursor(*by_activity(items[-1].conversation)) if more else None
        return FoundConversations(items=items, next=last)
