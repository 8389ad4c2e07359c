"""Turn turns into rows and back."""

from __future__ import annotations

from typing import Any

from recollect.domain.context_record import packed_record, unpacked_record
from recollect.domain.scope import Scope
from recollect.domain.turn import Turn, Usage
from recollect.storage.driver import Row
from recollect.storage.rows import instant, json_ids, json_object, json_text, micros, sealed, unsealed


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
        "context": None if turn.context is None else packed_record(turn.context),
    }
    return {**sealed(scope, values, turn.conversation_id), "conversation": conversation}


def turn_from(scope: Scope, conversation_id: str, row: Row) -> Turn:
    """Return the turn of a row, or raise if the row was damaged."""
    found = unsealed(scope, "turn", row, conversation_id)
    i, status, mode, metadata, read, written, memory_ids, created, context = found
    return Turn(
        id=i,
        conversation_id=conversation_id,
        status=status,
        mode=mode,
        metadata=json_object(metadata),
        usage=Usage(input_tokens=read, output_tokens=written),
        memory_ids=json_ids(memory_ids),
        created_at=instant(created),
        context=None if context is None else unpacked_record(context),
    )
