"""Erasing: what was removed, and what makes sure that it stays removed."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

import msgspec

from recollect.domain.checks import check_flag, check_id, check_time
from recollect.domain.memory import normalised
from recollect.domain.repeating import Repeated
from recollect.errors import ConflictError

#: How a receipt says that what was learned stays.
KEPT = "memories"

TombstoneKind = Literal["conversation", "message", "original", "memory", "memory_id"]


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for something to be erased, and name the receipt that will prove it."""

    receipt_id: str
    at: datetime
    #: Whether what was learned goes too: memories that have no other source, and what an agent noted there.
    memories: bool = True
    #: Erase a conversation only if it had no activity after this time.
    idle_since: datetime | None = None

    def __post_init__(self) -> None:
        check_id(self.receipt_id, "receipt id")
        check_time(self.at, "at")
        check_flag(self.memories, "memories")
        if self.idle_since is not None:
            check_time(self.idle_since, "idle_since")

    def refuse_if_used(self, last_activity_at: datetime) -> None:
        """Refuse to erase a conversation that is to be erased only while nobody uses it."""
        if self.idle_since is not None and last_activity_at > self.idle_since:
            raise ConflictError("the conversation was used meanwhile, so it is not erased because of its age")


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """How many records of each kind are gone, or have lost what they said of it."""

    conversations: int = 0
    messages: int = 0
    summaries: int = 0
    turns: int = 0
    batches: int = 0
    memories: int = 0
    memory_versions: int = 0
    vectors: int = 0
    notes: int = 0
    note_versions: int = 0
    jobs: int = 0
    requests: int = 0
    usage: int = 0
    keys: int = 0
    preferences: int = 0

    def plus(self, other: Erased) -> Erased:
        """Return both counts added up."""
        return Erased(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def any(self) -> bool:
        """Tell whether anything was erased."""
        return any(getattr(self, name) for name in self.__struct_fields__)


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The proof of an erasure."""

    receipt_id: str
    at: datetime
    erased: Erased


class Tombstone(msgspec.Struct, frozen=True):
    """A salted digest of something erased, kept so that no writer brings it back."""

    kind: TombstoneKind
    digest: str


def message_tombstone(salt: bytes, conversation_id: str, message_id: str) -> Tombstone:
    """Return what keeps this message id from being stored again."""
    return Tombstone("message", _digest(salt, "message", conversation_id, message_id))


def original_tombstone(salt: bytes, conversation_id: str, message_id: str) -> Tombstone:
    """Return what keeps a message from being stored again that its summary took the place of."""
    return Tombstone("original", _digest(salt, "message", conversation_id, message_id))


def conversation_tombstone(salt: bytes, conversation_id: str) -> Tombstone:
    """Return what keeps this conversation id from being created again."""
    return Tombstone("conversation", _digest(salt, "conversation", conversation_id))


def memory_tombstone(salt: bytes, content: str) -> Tombstone:
    """Return what keeps this statement from being learned again."""
    return Tombstone("memory", _digest(salt, "memory", normalised(content)))


def memory_id_tombstone(salt: bytes, memory_id: str) -> Tombstone:
    """Return what keeps replies from being stored again that repeat this memory."""
    return Tombstone("memory_id", _digest(salt, "memory_id", memory_id))


def repeated_tombstones(salt: bytes, source: Repeated) -> tuple[Tombstone, ...]:
    """Return the marks of which one says that this can no longer be repeated."""
    if source.is_memory:
        return (memory_id_tombstone(salt, source.id),)
    return (
        message_tombstone(salt, source.conversation_id, source.id),
        conversation_tombstone(salt, source.conversation_id),
    )


def _digest(salt: bytes, *parts: str) -> str:
    digest = hashlib.blake2b(key=salt, digest_size=16)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()
