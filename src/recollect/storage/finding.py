"""Finding conversations in SQL: by the words of their messages, and by the titles that people gave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

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
from recollect.storage import rows
from recollect.storage.conversations import Place, lists, place_of
from recollect.storage.damage import sound
from recollect.storage.driver import Transaction
from recollect.storage.pages import END
from recollect.storage.rows import micros, scoped

#: Matching messages that are looked up together, and titles that are read together.
STEP = 5_000
TITLES = 500


def search(tx: Transaction, scope: Scope, query: ConversationSearch) -> FoundConversations:
    """Find the conversations that hold all the words, newest activity first."""
    wanted = asked_terms(query.text)
    if not wanted:
        return FoundConversations(items=(), next=None)
    start = (END, "") if query.after is None else (micros(query.after.last_activity_at), query.after.id)
    titled = set(_by_title(tx, scope, query, wanted, start))
    holding = _by_message(tx, scope, query, wanted, start)
    found = sorted(titled | holding.keys(), reverse=True)
    shown = found[: query.limit]
    conversations, corrupt = _conversations(tx, scope, shown)
    said = _newest(tx, scope, {place[1]: holding[place] for place in shown if place in holding})
    items = [
        _item(conversations[place[1]], said.get(place[1]), wanted)
        for place in shown
        if place[1] in conversations and (place in titled or place[1] in said)
    ]
    last = ConversationCursor(rows.instant(shown[-1][0]), shown[-1][1]) if len(found) > query.limit else None
    return FoundConversations(items=tuple(items), next=last, corrupt=corrupt)


def holding(tx: Transaction, scope: Scope, message_id: str, limit: int) -> tuple[str, ...]:
    """Return the ids of the conversations with a message of this id, the newest such message first."""
    return tuple(row[0] for row in tx.all("holding_message", **scoped(scope), id=message_id, limit=limit))


def _by_title(
    tx: Transaction, scope: Scope, query: ConversationSearch, wanted: Sequence[str], start: Place
) -> Iterator[Place]:
    """Give the newest conversations whose titles hold all the terms, at least as many as were asked for and one."""
    for one in lists(tx, scope, query.agent, query.archived):
        place, found, more = start, 0, True
        while more and found <= query.limit:
            titles = tx.all("titled_conversations", **one, activity=place[0], after_id=place[1], limit=TITLES)
            for title, activity, i, pinned in titles:
                place = place_of(activity, i)
                is_meant = query.pinned in (None, bool(pinned))
                if is_meant and isinstance(title, str) and set(wanted).issubset(terms(title)):
                    yield place
                    found += 1
            more = len(titles) == TITLES


def _by_message(
    tx: Transaction, scope: Scope, query: ConversationSearch, wanted: Sequence[str], start: Place
) -> dict[Place, list[int]]:
    """Return the conversations with a message that holds all the terms, each with the numbers of such messages."""
    matching = [number for number, held in tx.matching(scope, wanted).items() if held == len(wanted)]
    found: dict[Place, list[int]] = {}
    for at in range(0, len(matching), STEP):
        numbers = tx.ids(matching[at : at + STEP])
        for number, i, agent, archived, pinned, activity in tx.all("matching_places", **scoped(scope), ids=numbers):
            place = place_of(activity, i)
            is_meant = query.archived in (None, bool(archived)) and query.pinned in (None, bool(pinned))
            if place < start and query.agent in (None, agent) and is_meant:
                found.setdefault(place, []).append(number)
    return found


def _conversations(
    tx: Transaction, scope: Scope, shown: Sequence[Place]
) -> tuple[dict[str, Conversation], tuple[str, ...]]:
    """Return the conversations at these places by id, and the ids of damaged ones."""
    found = tx.all("find_conversations", **scoped(scope), ids=tx.ids([place[1] for place in shown]))
    whole, corrupt = sound(partial(rows.conversation_from, scope), found)
    return {stored.value.id: stored.value for stored in whole}, corrupt


def _newest(tx: Transaction, scope: Scope, matching: dict[str, list[int]]) -> dict[str, Message]:
    """Return the newest of each conversation's matching messages that was not damaged."""
    left = {conversation_id: sorted(numbers) for conversation_id, numbers in matching.items()}
    found: dict[str, Message] = {}
    while left:
        numbers = [numbers.pop() for numbers in left.values()]
        for conversation_id, _, *row in tx.all("numbered_messages", **scoped(scope), ids=tx.ids(numbers)):
            for message in sound(partial(rows.message_from, scope, conversation_id), [tuple(row)])[0]:
                found[conversation_id] = message
        left = {one: numbers for one, numbers in left.items() if numbers and one not in found}
    return found


def _item(conversation: Conversation, message: Message | None, wanted: Sequence[str]) -> FoundConversation:
    return FoundConversation(
        conversation=conversation,
        snippet=None if message is None else snippet(message.content, wanted),
        message_id=None if message is None else message.id,
    )
