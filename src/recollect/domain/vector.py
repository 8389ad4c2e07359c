"""Vectors: what a text means to one embedding model, as both stores keep it."""

from __future__ import annotations

import msgspec

from recollect.domain.checks import check_id, check_items, check_text, check_type
from recollect.errors import InvalidInputError

MAX_MODEL = 200
MAX_DIMENSIONS = 4096
MAX_BATCH = 1_000


class Vector(msgspec.Struct, frozen=True):
    """The direction of a text, of length one, and the model that found it."""

    model: str
    #: Half precision floats, little endian.
    values: bytes

    def __post_init__(self) -> None:
        check_text(self.model, "model of a vector", at_most=MAX_MODEL, at_least=1)
        if (
            not isinstance(self.values, bytes)
            or not 2 <= len(self.values) <= 2 * MAX_DIMENSIONS
            or len(self.values) % 2
        ):
            raise InvalidInputError(f"a vector is the bytes of 1 to {MAX_DIMENSIONS} half precision floats")


class MessageVector(msgspec.Struct, frozen=True):
    """The vector of one message."""

    message_id: str
    vector: Vector

    def __post_init__(self) -> None:
        check_id(self.message_id, "message id")
        check_type(self.vector, Vector, "vector")


class MemoryVector(msgspec.Struct, frozen=True):
    """The vector of one memory, and the version whose text it is of."""

    memory_id: str
    version: int
    vector: Vector

    def __post_init__(self) -> None:
        check_id(self.memory_id, "memory id")
        check_type(self.vector, Vector, "vector")


class VectorBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors to keep for what is stored already, of one conversation or of memories."""

    conversation_id: str | None = None
    messages: tuple[MessageVector, ...] = ()
    memories: tuple[MemoryVector, ...] = ()

    def __post_init__(self) -> None:
        check_items(self.messages, MessageVector, "messages", at_most=MAX_BATCH)
        check_items(self.memories, MemoryVector, "memories", at_most=MAX_BATCH)
        if self.messages:
            check_id(self.conversation_id, "conversation id of messages")
