"""Reading messages in memory: pages in both directions, single messages, and search."""

from __future__ import annotations

from recollect.domain.conversation import Conversation
from recollect.domain.message import Message
from recollect.domain.page import Hit, MessagePage, MessageQuery, SearchQuery, siblings
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.terms import asked_terms, terms
from recollect.errors import MessageNotFoundError
from recollect.storage.inmemory import conversations
from recollect.storage.inmemory.shelves import Shelves, UserData


def find(data: UserData, conversation_id: str, message_id: str) -> Message:
    """Return the message or raise."""
    conversations.find(data, conversation_id)
    try:
        return data.messages[conversation_id, message_id]
    except KeyError:
        raise MessageNotFoundError("there is no message with this id in the conversation") from None


def in_order(data: UserData, conversation_id: str) -> list[Message]:
    """Return the messages of all branches, oldest first."""
    own = [message for message in data.messages.values() if message.conversation_id == conversation_id]
    return sorted(own, key=lambda message: message.seq)


def path_to(data: UserData, conversation_id: str, message_id: str | None) -> list[Message]:
    """Return the messages that lead to one message, oldest first, that one included."""
    path: list[Message] = []
    while message_id is not None and (conversation_id, message_id) in data.messages:
        message = data.messages[conversation_id, message_id]
        path.insert(0, message)
        message_id = message.parent_id
    return path


def active_summaries(data: UserData, conversation_id: str) -> list[Summary]:
    """Return the summaries of every branch that no other replaces, in order of what they cover."""
    own = [s for s in data.summaries.values() if s.conversation_id == conversation_id and s.folded_into is None]
    return sorted(own, key=lambda summary: (summary.last_seq, summary.level, summary.id))


def _candidates(data: UserData, conversation: Conversation, query: MessageQuery) -> list[Message]:
    """Return every message that the query could show, oldest first."""
    before = None if query.before is None else find(data, conversation.id, query.before)
    after = None if query.after is None else find(data, conversation.id, query.after)
    if query.all_branches or not conversation.is_branched:
        found = in_order(data, conversation.id)
    else:
        found = path_to(data, conversation.id, conversation.head_id if before is None else before.parent_id)
    if before is not None:
        found = [message for message in found if message.seq < before.seq]
    if after is not None:
        found = [message for message in found if message.seq > after.seq]
    return found


def _summaries_in(data: UserData, conversation: Conversation, page: list[Message]) -> tuple[Summary, ...]:
    """Return the active summaries that end among these messages and hold on the head's branch."""
    if not page:
        return ()
    found = [s for s in active_summaries(data, conversation.id) if page[0].seq <= s.last_seq <= page[-1].seq]
    if conversation.is_branched:
        path = {message.id for message in path_to(data, conversation.id, conversation.head_id)}
        found = [summary for summary in found if summary.last_message_id in path]
    return tuple(found)


def _newest_end(data: UserData, conversation_id: str, message_id: str) -> str:
    """Return the newest of the messages that lead back to one message, or that one."""
    ids = {message_id}
    newest = message_id
    for message in in_order(data, conversation_id):
        if message.parent_id in ids:
            ids.add(message.id)
            newest = message.id
    return newest


def _siblings(data: UserData, conversation: Conversation, page: list[Message]) -> dict[str, tuple[str, ...]]:
    answers: dict[str | None, list[str]] = {}
    for message in in_order(data, conversation.id):
        answers.setdefault(message.parent_id, []).append(message.id)
    return siblings(page, answers)


class Reading(Shelves):
    """Read messages."""

    async def get_message(self, scope: Scope, conversation_id: str, message_id: str) -> Message:
        return find(self._reading(scope), conversation_id, message_id)

    async def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        data = self._reading(scope)
        conversation = conversations.find(data, query.conversation_id)
        found = _candidates(data, conversation, query)
        page = found[: query.limit] if query.is_forwards else found[-query.limit :]
        others = _siblings(data, conversation, page) if conversation.is_branched else {}
        shown = {one for together in others.values() for one in together}
        return MessagePage(
            messages=tuple(page),
            summaries=_summaries_in(data, conversation, page),
            more=len(found) > query.limit,
            siblings=others,
            ends={one: _newest_end(data, conversation.id, one) for one in shown},
        )

    async def search_messages(self, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
        wanted = set(asked_terms(query.text))
        hits: list[Hit] = []
        for message in reversed(self._reading(scope).messages.values()):
            held = wanted.intersection(terms(message.content))
            if held and query.conversation_id in (None, message.conversation_id):
                hits.append(Hit(message=message, similarity=len(held) / len(wanted)))
        hits.sort(key=lambda hit: -hit.similarity)
        return tuple(hits[: query.limit])
