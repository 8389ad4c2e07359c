"""Vectors: what a text means to one embedding model, as both stores keep it."""

from __future__ import annotations

import msgspec

from recollect.domain.checks import check_count, check_id, check_items, check_type
from recollect.errors import InvalidInputError

MAX_DIMENSIONS = 4096
MAX_BATCH = 1_000
#: The upper bytes of all half precision floats that are numbers: the others are infinite or no numbers at all.
_FINITE = bytes(upper for upper in range(256) if upper & 0x7C != 0x7C)


class Vector(msgspec.Struct, frozen=True):
    """The direction of a text, of length one, and the model that found it."""

    model: str
    #: Half precision floats, little endian.
    values: bytes

    def __post_init__(self) -> None:
        check_id(self.model, "model of a vector")
        size = len(check_type(self.values, bytes, "values of a vector"))
        if size % 2 or not 2 <= size <= 2 * MAX_DIMENSIONS:
            raise InvalidInputError(f"a vector is the bytes of 1 to {MAX_DIMENSIONS} half precision floats")
        if self.values[1::2].translate(None, _FINITE):
            raise InvalidInputError("a vector must hold finite numbers only")


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
        check_count(self.version, "version")
        check_type(self.vector, Vector, "vector")


class VectorBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors to keep for what is stored already, of one conversation or of memories."""

    conversation_id: str | None = None
    messages: tuple[MessageVector, ...] = ()
    memories: tuple[MemoryVector, ...] = ()

    def __post_init__(self) -> None:
        check_items(self.messages, MessageVector, "messages", at_most=MAX_BATCH)
        check_items(self.memories, MemoryVector, "memories", at_most=MAX_BATCH)
        if self.messages or self.conversation_id is not None:
            check_id(self.conversation_id, "conversation id of messages")
