"""What recall reads, in memory."""

from __future__ import annotations

import struct
from typing import TypeVar

from recollect.domain.conversation import Conversation, revised
from recollect.domain.message import Message
from recollect.domain.passage import (
    ConversationPassages,
    IndexedMemories,
    IndexedMemory,
    MatchedPassages,
    Passage,
    PassageMatch,
    PassageQuery,
    Passages,
    Unembedded,
    is_recalled,
    reading_of,
    term_weight,
)
from recollect.domain.scope import Scope
from recollect.domain.terms import terms
from recollect.domain.vector import Vector, VectorBatch
from recollect.storage.inmemory.reading import in_order, path_to
from recollect.storage.inmemory.shelves import Shelves, UserData

K = TypeVar("K")


def _recalled(data: UserData, conversation: Conversation) -> list[Message]:
    """Return the messages that lead to the head and that recall can find, oldest first."""
    if conversation.is_branched:
        found = path_to(data, conversation.id, conversation.head_id)
    else:
        found = in_order(data, conversation.id)
    return [message for message in found if is_recalled(message)]


def _values(vector: Vector | None, model: str) -> bytes | None:
    return vector.values if vector is not None and vector.model == model else None


def _passage(data: UserData, message: Message, model: str) -> Passage:
    return Passage(message, _values(data.message_vectors.get((message.conversation_id, message.id)), model))


def _changed(data: UserData, conversation: Conversation, query: PassageQuery) -> ConversationPassages:
    known = query.known.get(conversation.id)
    was_rewritten = known is None or known.revision < data.rewritten.get(conversation.id, 0)
    first = 0 if known is None or was_rewritten else known.next_seq
    found = [message for message in _recalled(data, conversation) if message.seq >= first]
    return ConversationPassages(
        conversation_id=conversation.id,
        reading=reading_of(conversation),
        from_seq=first,
        passages=tuple(_passage(data, message, query.model) for message in found),
    )


def _by_terms(data: UserData, match: PassageMatch) -> tuple[list[Message], list[int]]:
    """Return the messages that hold a term, the weightiest first, and in how many each term occurs."""
    held = {place: set(terms(message.content)) for place, message in data.messages.items()}
    frequencies = [sum(term in words for words in held.values()) for term in match.terms]
    weights = {t: term_weight(len(held), count) for t, count in zip(match.terms, frequencies, strict=True)}
    sums = {place: sum(weight for term, weight in weights.items() if term in held[place]) for place in held}
    newest_first = [place for place in reversed(data.messages) if sums[place]]
    return [data.messages[place] for place in sorted(newest_first, key=lambda place: -sums[place])], frequencies


def _by_meaning(data: UserData, wanted: Vector) -> list[Message]:
    """Return the messages whose vectors can be compared, the nearest first."""
    near: dict[tuple[str, str], float] = {}
    for place in reversed(data.messages):
        vector = data.message_vectors.get(place)
        if vector is not None and (vector.model, len(vector.values)) == (wanted.model, len(wanted.values)):
            near[place] = sum(one * other for one, other in zip(_floats(vector), _floats(wanted), strict=True))
    return [data.messages[place] for place in sorted(near, key=lambda place: -near[place])]


def _floats(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector.values) // 2}e", vector.values)


def _without(vectors: dict[K, Vector], places: list[K], model: str) -> list[K]:
    """Return the places without a vector of the model, those without any first, then in their order."""
    models = {place: vectors[place].model if place in vectors else "" for place in places}
    return [place for place in sorted(places, key=lambda place: models[place]) if models[place] != model]


class Recall(Shelves):
    """Read what can be recalled, and keep vectors."""

    async def read_passages(self, scope: Scope, query: PassageQuery) -> Passages:
        data = self._reading(scope)
        if len(data.messages) > query.at_most:
            return Passages(total=len(data.messages), too_many=True)
        changed = []
        for conversation in sorted(data.conversations.values(), key=lambda one: one.id):
            known = query.known.get(conversation.id)
            if known is None or known.revision != conversation.revision:
                changed.append(_changed(data, conversation, query))
        gone = tuple(sorted(query.known.keys() - data.conversations.keys()))
        return Passages(changed=tuple(changed), gone=gone, total=len(data.messages))

    async def match_passages(self, scope: Scope, match: PassageMatch) -> MatchedPassages:
        data = self._reading(scope)
        by_terms, frequencies = _by_terms(data, match)
        by_meaning = [] if match.vector is None else _by_meaning(data, match.vector)
        paths = {conversation.id: _recalled(data, conversation) for conversation in data.conversations.values()}
        found: dict[tuple[str, int], Message] = {}
        for ranked in (by_terms, by_meaning):
            candidates = [message for message in ranked if message in paths[message.conversation_id]]
            for message in candidates[: match.limit]:
                path = paths[message.conversation_id]
                place = path.index(message)
                for near in path[max(0, place - 1) : place + 2]:
                    found[near.conversation_id, near.seq] = near
        model = "" if match.vector is None else match.vector.model
        passages = tuple(_passage(data, found[place], model) for place in sorted(found))
        return MatchedPassages(passages=passages, total=len(data.messages), frequencies=tuple(frequencies))

    async def read_memories(self, scope: Scope, model: str, known: int | None = None) -> IndexedMemories | None:
        data = self._reading(scope)
        if data.memory_revision == known:
            return None
        items = [
            IndexedMemory(memory, _values(data.memory_vectors.get(memory.id), model))
            for memory in data.memories.values()
            if memory.deleted_at is None
        ]
        return IndexedMemories(revision=data.memory_revision, items=tuple(items))

    async def list_unembedded(self, scope: Scope, model: str, limit: int) -> Unembedded:
        data = self._reading(scope)
        recalled = [place for place, message in data.messages.items() if is_recalled(message)]
        kept = [memory.id for memory in data.memories.values() if memory.deleted_at is None]
        places = _without(data.message_vectors, recalled, model)
        ids = _without(data.memory_vectors, kept, model)
        messages = [data.messages[place] for place in places[:limit] if place[0] == places[0][0]]
        return Unembedded(
            messages=tuple(messages),
            memories=() if messages else tuple(data.memories[memory_id] for memory_id in ids[:limit]),
            remaining=len(places) + len(ids),
            total=len(recalled) + len(kept),
        )

    async def save_vectors(self, scope: Scope, batch: VectorBatch) -> int:
        with self._writing(scope) as data:
            messages = memories = 0
            for one in {one.message_id: one for one in batch.messages}.values():
                place = (batch.conversation_id or "", one.message_id)
                if place in data.messages and is_recalled(data.messages[place]):
                    data.message_vectors[place] = one.vector
                    messages += 1
            for new in {one.memory_id: one for one in batch.memories}.values():
                memory = data.memories.get(new.memory_id)
                if memory is not None and memory.deleted_at is None and memory.version == new.version:
                    data.memory_vectors[memory.id] = new.vector
                    memories += 1
            if messages and batch.conversation_id is not None:
                after = revised(data.conversations[batch.conversation_id])
                data.conversations[after.id] = after
                data.rewritten[after.id] = after.revision
            data.memory_revision += memories > 0
            return messages + memories
