"""Whatever a prompt was made of, its record holds nobody's words, and with them it gives the same prompt again."""

from __future__ import annotations

import msgspec
from hypothesis import given

from recollect.domain.context import BLOCK_KINDS, Context, ContextParts
from recollect.domain.context_record import (
    KINDS,
    Asked,
    ContextRecord,
    packed_record,
    record_of,
    unpacked_record,
)
from recollect.domain.packing import build
from recollect.domain.retelling import Remains, retold
from tests.properties.test_context import CANARY, budgets, parts
from tests.support.context_parts import a_message

CONVERSATION = "c1"


def recorded(given_parts: ContextParts, context: Context) -> ContextRecord:
    return record_of(given_parts, context, CONVERSATION, Asked("question", given_parts.message))


def everything(given_parts: ContextParts) -> Remains:
    """Return all that the prompt was made of, as if it were read from a store."""
    passages = [one.message for one in given_parts.recalled if one.message is not None]
    learned = [one.memory for one in given_parts.recalled if one.memory is not None]
    homes = {one.id: None if one.conversation_id == CONVERSATION else one.conversation_id for one in passages}
    return Remains(
        system=given_parts.system,
        instructions=given_parts.instructions,
        given=given_parts.given,
        question=a_message("question", given_parts.message) if given_parts.message else None,
        memories={memory.id: memory for memory in (*given_parts.pinned, *learned)},
        note=None if given_parts.note is None else given_parts.note.notes,
        summaries={summary.id: summary for summary in given_parts.summaries},
        passages={(homes[one.id], one.id): one for one in passages},
        window=given_parts.window,
    )


def without_reasons(context: Context) -> Context:
    """Return the prompt without why things are told: those of the parts here are made up."""
    blocks = tuple(
        msgspec.structs.replace(block, items=tuple(msgspec.structs.replace(item, why="") for item in block.items))
        for block in context.blocks
    )
    left_out = tuple(msgspec.structs.replace(one, why="") for one in context.left_out)
    return msgspec.structs.replace(context, blocks=blocks, left_out=left_out)


def test_every_kind_of_block_can_be_recorded() -> None:
    assert set(KINDS) == set(BLOCK_KINDS)


@given(parts(), budgets)
def test_a_prompt_is_told_again_byte_for_byte(given_parts: ContextParts, budget: int) -> None:
    context = build(given_parts, budget)
    again = retold(recorded(given_parts, context), everything(given_parts))
    assert without_reasons(again) == without_reasons(context)
    known = [item.why for block in again.blocks for item in block.items] + [one.why for one in again.left_out]
    told = [item.why for block in context.blocks for item in block.items] + [one.why for one in context.left_out]
    made_up = ("it fits", "it fits; cut to fit")
    assert [one for one in zip(known, told, strict=True) if one[0] != one[1] and one[1] not in made_up] == []


@given(parts(), budgets)
def test_a_record_is_packed_without_loss_and_without_words(given_parts: ContextParts, budget: int) -> None:
    record = recorded(given_parts, build(given_parts, budget))
    packed = packed_record(record)
    assert unpacked_record(packed) == record
    assert CANARY.encode() not in packed
    assert b"it fits" not in packed
    assert msgspec.json.decode(msgspec.json.encode(record), type=ContextRecord) == record


@given(parts(), budgets)
def test_of_what_was_erased_nothing_is_told_again(given_parts: ContextParts, budget: int) -> None:
    context = build(given_parts, budget)
    again = retold(recorded(given_parts, context), Remains(system=given_parts.system))
    for block, before in zip(again.blocks, context.blocks, strict=True):
        assert (block.kind, block.tokens) == (before.kind, before.tokens)
        for item, then in zip(block.items, before.items, strict=True):
            assert item.tokens == then.tokens
            if item.id == "system":
                assert (item.text, item.state) == (then.text, "same")
            elif item.id == "instructions":
                assert (item.text, item.state) == ("", "changed")
            else:
                assert (item.text, item.state) == ("", "erased")
    assert CANARY not in msgspec.json.encode(again).decode()
    assert again.messages == ()
