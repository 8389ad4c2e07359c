"""A turn whose row was damaged is noticed, also if only what the model was told was damaged, lost or moved."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.domain.turn import turn_from as turn_of
from recollect.errors import CorruptRecordError
from recollect.storage.driver import Row
from recollect.storage.turn_rows import turn_from, turn_values
from recollect.testing.samples import ALICE, BOB, append, context_record, turn

COLUMNS = (
    *("id", "status", "mode", "metadata", "input_tokens", "output_tokens", "memory_ids", "created_at"),
    *("context", "checksum"),
)


def row(turn_id: str = "t1", **more: Any) -> Row:
    values = turn_values(ALICE, 1, turn_of(turn(turn_id, append("c1", "m1"), **more)))
    return tuple(values[name] for name in COLUMNS)


@pytest.mark.parametrize("context", [None, context_record()])
def test_a_turn_comes_back_from_its_row(context: Any) -> None:
    assert turn_from(ALICE, "c1", row(context=context)).context == context


@pytest.mark.parametrize("at", range(0, len(row(context=context_record())[-2]), 7))
def test_a_flipped_bit_in_what_was_told_is_noticed(at: int) -> None:
    *values, context, guard = row(context=context_record())
    flipped = bytes(one ^ (4 if place == at else 0) for place, one in enumerate(context))
    with pytest.raises(CorruptRecordError):
        turn_from(ALICE, "c1", (*values, flipped, guard))


def test_what_was_told_cannot_be_lost_added_or_moved_unnoticed() -> None:
    *values, context, guard = row(context=context_record())
    *others, _, other_guard = row("t2")
    for damaged in ((*values, None, guard), (*others, context, other_guard), (*values, str(context), guard)):
        with pytest.raises(CorruptRecordError):
            turn_from(ALICE, "c1", damaged)
    for scope, conversation_id in ((BOB, "c1"), (ALICE, "c2")):
        with pytest.raises(CorruptRecordError):
            turn_from(scope, conversation_id, row(context=context_record()))
