"""A question admits the memories that it asks for, and of those only what holds and is there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from recollect.domain.memory import Memory, memory_from
from recollect.domain.recalling import RecallRequest
from recollect.testing.clock import START
from recollect.testing.samples import memory

PLAIN = memory_from(memory("m1", "Likes tea", category="food", conversation_id="c1"))
DAY = timedelta(days=1)


def changed(**more: Any) -> Memory:
    return msgspec.structs.replace(PLAIN, **more)


def admits(one: Memory, **asked: Any) -> bool:
    return RecallRequest(text="tea", **asked).memory_filter()(one)


def test_what_holds_and_is_in_use_is_admitted_unless_more_is_asked() -> None:
    assert admits(PLAIN)


@pytest.mark.parametrize(
    "differs",
    [
        {"deleted_at": START},
        {"trust": "pending"},
        {"is_archived": True},
        {"superseded_by": "m2"},
        {"valid_to": START},
    ],
)
def test_what_is_gone_waits_or_no_longer_holds_is_not(differs: dict[str, Any]) -> None:
    assert not admits(changed(**differs))


def test_a_deleted_memory_is_never_admitted() -> None:
    assert not admits(changed(deleted_at=START), trust=None, archived=None, as_of=START + DAY)


@pytest.mark.parametrize(
    ("asked", "differs"),
    [
        ({"conversation_id": "c1"}, {"conversation_id": "c2"}),
        ({"conversation_id": "c1"}, {"conversation_id": None}),
        ({"memory_type": "fact"}, {"memory_type": "preference"}),
        ({"category": "food"}, {"category": "work"}),
        ({"category": "food"}, {"category": None}),
        ({"origin": "manual"}, {"origin": "tool"}),
        ({"trust": "active"}, {"trust": "rejected"}),
        ({"pinned": False}, {"is_pinned": True}),
        ({"archived": False}, {"is_archived": True}),
        ({"without": frozenset({"m2"})}, {"id": "m2"}),
        ({"since": START}, {"created_at": START - DAY}),
        ({"until": START + DAY}, {"created_at": START + DAY}),
        ({"as_of": START}, {"created_at": START + DAY}),
    ],
)
def test_what_is_asked_for_is_admitted_and_nothing_else(asked: dict[str, Any], differs: dict[str, Any]) -> None:
    assert admits(PLAIN, **asked)
    assert not admits(changed(**differs), **asked)


def test_what_is_not_asked_for_is_not_compared() -> None:
    other = changed(trust="pending", is_archived=True, is_pinned=True, category=None, conversation_id=None)
    assert admits(other, trust=None, archived=None)


def test_a_value_that_held_then_is_admitted_for_then() -> None:
    past = changed(superseded_by="m2", valid_to=START + DAY)
    assert admits(past, as_of=START)
    assert not admits(past, as_of=START + DAY)
