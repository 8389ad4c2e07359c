"""Turn turns into rows and back.

What a model was told came to the table later, so it is guarded apart from the rest: it begins with a checksum of its
own, and the checksum of the row says, above its 32 bits, whether it is there.
"""

from __future__ import annotations

from typing import Any, Final

from recollect.domain.context_record import ContextRecord, packed_record, unpacked_record
from recollect.domain.scope import Scope
from recollect.domain.turn import Turn, Usage
from recollect.errors import CorruptRecordError
from recollect.storage.driver import Row
from recollect.storage.rows import checksum, instant, json_ids, json_object, json_text, micros, sealed, unsealed

_GUARD: Final = 4
_HAS_CONTEXT: Final = 1 << 32


def turn_values(scope: Scope, conversation: int, turn: Turn) -> dict[str, Any]:
    """Return the column values of a turn."""
    values = {
        "id": turn.id,
        "status": turn.status,
        "mode": turn.mode,
        "metadata": json_text(turn.metadata),
        "input_tokens": turn.usage.input_tokens,
        "output_tokens": turn.usage.output_tokens,
        "memory_ids": json_text(turn.memory_ids),
        "created_at": micros(turn.created_at),
    }
    row = {**sealed(scope, values, turn.conversation_id), "conversation": conversation, "context": None}
    if turn.context is not None:
        packed = packed_record(turn.context)
        row["context"] = _guard(scope, turn.conversation_id, turn.id, packed) + packed
        row["checksum"] |= _HAS_CONTEXT
    return row


def turn_from(scope: Scope, conversation_id: str, row: Row) -> Turn:
    """Return the turn of a row, or raise if the row was damaged."""
    *values, context, guard = row
    if context is not None:
        guard ^= _HAS_CONTEXT
    found = unsealed(scope, "turn", (*values, guard), conversation_id)
    i, status, mode, metadata, read, written, memory_ids, created = found
    return Turn(
        id=i,
        conversation_id=conversation_id,
        status=status,
        mode=mode,
        metadata=json_object(metadata),
        usage=Usage(input_tokens=read, output_tokens=written),
        memory_ids=json_ids(memory_ids),
        created_at=instant(created),
        context=None if context is None else _context(scope, conversation_id, i, context),
    )


def _context(scope: Scope, conversation_id: str, turn_id: str, stored: object) -> ContextRecord:
    if not isinstance(stored, bytes):
        raise CorruptRecordError("turn", turn_id)
    packed = stored[_GUARD:]
    if _guard(scope, conversation_id, turn_id, packed) != stored[:_GUARD]:
        raise CorruptRecordError("turn", turn_id)
    return unpacked_record(packed)


def _guard(scope: Scope, *values: str | bytes) -> bytes:
    return checksum(scope.tenant, scope.user, *values).to_bytes(_GUARD, "big")
