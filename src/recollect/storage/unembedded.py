"""Find in SQL what has no vector of a model yet, and keep the vectors that were made for it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.domain.conversation import Conversation, revised
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.passage import Unembedded
from recollect.domain.scope import Scope
from recollect.domain.vector import VectorBatch
from recollect.errors import ConversationNotFoundError
from recollect.storage import rows
from recollect.storage.conversations import lock
from recollect.storage.conversations import save as save_conversation
from recollect.storage.damage import sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.knowledge_rows import memory_from
from recollect.storage.rows import scoped
from recollect.storage.vectors import NONE, Kind, Unsound, bump, put


def save(tx: Transaction, scope: Scope, batch: VectorBatch) -> tuple[int, Conversation | None]:
    """Keep vectors of what is stored already; return how many, and the conversation after it if there is one."""
    messages, conversation = _save_messages(tx, scope, batch) if batch.messages else (0, None)
    return messages + _save_memories(tx, scope, batch), conversation


def _save_messages(tx: Transaction, scope: Scope, batch: VectorBatch) -> tuple[int, Conversation | None]:
    try:
        stored = lock(tx, scope, str(batch.conversation_id))
    except ConversationNotFoundError:
        return 0, None
    given = {one.message_id: one.vector for one in batch.messages}
    found = tx.all("embeddable_messages", **scoped(scope), conversation=stored.number, ids=tx.ids(given))
    for number, message_id in found:
        put(tx, scope, ("message", number), given[message_id])
    if not found:
        return 0, stored.value
    after = revised(stored.value)
    save_conversation(tx, scope, msgspec.structs.replace(stored, value=after, rewritten=after.revision))
    return len(found), after


def _save_memories(tx: Transaction, scope: Scope, batch: VectorBatch) -> int:
    if not batch.memories:
        return 0
    tx.one("lock_user", **scoped(scope))
    given = {one.memory_id: one for one in batch.memories}
    saved = 0
    for number, memory_id, version in tx.all("embeddable_memories", **scoped(scope), ids=tx.ids(given)):
        if version == given[memory_id].version:
            put(tx, scope, ("memory", number), given[memory_id].vector)
            saved += 1
    if saved:
        bump(tx, scope)
    return saved


def find(tx: Transaction, scope: Scope, model: str, limit: int) -> tuple[Unembedded, Unsound]:
    """Return what has no vector of this model yet, and what of it was damaged."""
    total, remaining = tx.all("count_vectors", **scoped(scope), model=model)[0]
    unsound = Unsound()
    messages = _messages(tx, scope, model, limit, unsound) if remaining else ()
    memories = _memories(tx, scope, model, limit, unsound) if remaining and not messages else ()
    return Unembedded(messages=messages, memories=memories, remaining=int(remaining), total=total), unsound


def _messages(tx: Transaction, scope: Scope, model: str, limit: int, unsound: Unsound) -> tuple[Message, ...]:
    for numbers in _pages(tx, scope, "message", model, limit):
        found = tx.all("numbered_messages", **scoped(scope), ids=tx.ids(numbers))
        whole, damaged = sound(lambda row: (row[1], rows.message_from(scope, row[0], row[2:])), found)
        unsound.messages += damaged
        by_number = dict(whole)
        messages = [by_number[number] for number in numbers if number in by_number]
        if messages:
            first = messages[0].conversation_id
            return tuple(message for message in messages if message.conversation_id == first)
    return ()


def _memories(tx: Transaction, scope: Scope, model: str, limit: int, unsound: Unsound) -> tuple[Memory, ...]:
    for numbers in _pages(tx, scope, "memory", model, limit):
        found = tx.all("numbered_memories", **scoped(scope), ids=tx.ids(numbers))
        whole, damaged = sound(lambda row: (row[0], memory_from(scope, row[1:])), found)
        unsound.memories += damaged
        by_number = dict(whole)
        if by_number:
            return tuple(by_number[number] for number in numbers if number in by_number)
    return ()


def _pages(tx: Transaction, scope: Scope, kind: Kind, model: str, limit: int) -> Iterable[list[int]]:
    """Give the numbers of what has no vector of this model, those without any first, then the oldest."""
    place: Row = (NONE, -1)
    here = {**scoped(scope), "kind": kind, "model": model, "limit": limit}
    while found := tx.all("unembedded_places", **here, after_model=place[0], after_number=place[1]):
        yield [number for _, number in found]
        place = found[-1]
