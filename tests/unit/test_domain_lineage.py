"""Which memories stood in the place of one another."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from recollect.domain.lineage import lineage
from recollect.domain.memory import Memory, memory_from
from recollect.testing.samples import after, memory


def stored(name: str, at: int, **more: Any) -> Memory:
    return msgspec.structs.replace(memory_from(memory(name)), created_at=after(at), **more)


BERGEN = stored("bergen", 1, superseded_by="oslo", valid_to=after(5))
OSLO = stored("oslo", 5, superseded_by="rome", valid_to=after(9))
ROME = stored("rome", 9)
TEA = stored("tea", 2)


def test_values_are_told_in_the_order_in_which_they_came_to_hold_from_whichever_is_asked() -> None:
    known = [TEA, ROME, OSLO, BERGEN]
    for asked in (BERGEN, OSLO, ROME):
        random.Random(1).shuffle(known)
        assert lineage(asked, known) == (BERGEN, OSLO, ROME)


def test_a_memory_that_took_no_place_is_alone() -> None:
    assert lineage(TEA, [BERGEN, TEA]) == (TEA,)


def test_values_of_the_slot_belong_to_it_though_nothing_took_their_place() -> None:
    ended = stored("ended", 0, valid_from=after(7), valid_to=after(8))
    assert lineage(ROME, [ended, ROME], [ended, ROME]) == (ended, ROME)


def test_what_waits_for_review_holds_no_place_unless_it_is_asked_about() -> None:
    waits = stored("waits", 3, trust="pending", superseded_by="rome")
    assert lineage(ROME, [waits, ROME], [waits, ROME]) == (ROME,)
    assert lineage(waits, [waits, ROME]) == (waits, ROME)


def test_an_erased_successor_and_a_circle_end_the_search() -> None:
    assert lineage(OSLO, [OSLO]) == (OSLO,)
    one, other = stored("one", 1, superseded_by="other"), stored("other", 2, superseded_by="one")
    assert lineage(one, [one, other]) == (one, other)
