"""Replies and outputs of tools that only repeat: what they say again, so that it goes from them when it is erased.

A reply names its sources in its metadata, which stays with it wherever it is kept, sent or brought back from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from recollect.domain.context import Recalled
from recollect.domain.message import Message, NewMessage
from recollect.domain.passage import REPEATS


class Repeated(msgspec.Struct, frozen=True, order=True):
    """A message, or a memory if it has no conversation, that a reply says again."""

    conversation_id: str
    id: str

    @property
    def is_memory(self) -> bool:
        """Tell whether it is a memory."""
        return not self.conversation_id


def memory(memory_id: str) -> Repeated:
    """Return how a repeated memory is named."""
    return Repeated("", memory_id)


def named(recalled: Iterable[Recalled]) -> tuple[Repeated, ...]:
    """Return how what was recalled is named."""
    memories = {memory(one.memory.id) for one in recalled if one.memory is not None}
    messages = {Repeated(one.message.conversation_id, one.message.id) for one in recalled if one.message is not None}
    return tuple(sorted(memories | messages))


def sources(
    ids: Iterable[str], recalled: Iterable[Recalled], memory_ids: Collection[str], conversation_id: str
) -> tuple[Repeated, ...]:
    """Return what these ids name: something recalled, a memory that was told, else a message of the conversation."""
    found: dict[str, set[Repeated]] = {}
    for one in recalled:
        if one.memory is not None:
            found.setdefault(one.memory.id, set()).add(memory(one.memory.id))
        elif one.message is not None:
            found.setdefault(one.message.id, set()).add(Repeated(one.message.conversation_id, one.message.id))
    for memory_id in memory_ids:
        found.setdefault(memory_id, set()).add(memory(memory_id))
    return tuple(sorted({source for i in ids for source in found.get(i, (Repeated(conversation_id, i),))}))


def repeating(repeated: Iterable[Repeated]) -> dict[str, Any]:
    """Return the metadata of a reply that repeats these, or says nothing of its own if there are none."""
    return {REPEATS: [_written(source) for source in repeated] or True}


def repeated_by(message: Message | NewMessage) -> frozenset[Repeated]:
    """Return what a reply or the output of a tool says again; what names no source, as of a client, is none."""
    listed = message.metadata.get(REPEATS) if message.role in ("assistant", "tool") else None
    if not isinstance(listed, list | tuple):
        return frozenset()
    return frozenset(source for one in listed if (source := _read(one)) is not None)


def _written(source: Repeated) -> dict[str, str]:
    if source.is_memory:
        return {"memory_id": source.id}
    return {"conversation_id": source.conversation_id, "message_id": source.id}


def _read(one: object) -> Repeated | None:
    if not isinstance(one, Mapping):
        return None
    match dict(one):
        case {"memory_id": str(memory_id)} if memory_id:
            return memory(memory_id)
        case {"conversation_id": str(conversation_id), "message_id": str(message_id)} if conversation_id and message_id:
            return Repeated(conversation_id, message_id)
    return None
