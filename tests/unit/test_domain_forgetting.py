"""What is left of a memory when a source of it is erased."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.erasure import (
    Erased,
    Tombstone,
    conversation_tombstone,
    memory_tombstone,
    message_tombstone,
    original_tombstone,
)
from recollect.domain.forgetting import without_sources
from recollect.domain.memory import Memory, Source, memory_from
from recollect.testing.samples import memory

M1, M2, FAR = Source("c1", "m1"), Source("c1", "m2"), Source("c2", "m1")


def drawn_from(*sources: Source, home: str | None = "c1") -> Memory:
    return memory_from(memory("k1", quote="their words", conversation_id=home, sources=sources))


def test_a_memory_with_another_source_outlives_one_of_them_without_the_quote() -> None:
    left = without_sources(drawn_from(M1, M2), M1.__eq__)
    assert left == msgspec.structs.replace(drawn_from(M2), quote=None)


def test_a_memory_with_no_other_source_goes() -> None:
    assert without_sources(drawn_from(M1), M1.__eq__) is None
    assert without_sources(drawn_from(M1, M2), lambda source: True) is None


def test_a_memory_of_other_sources_is_untouched() -> None:
    kept = drawn_from(M2)
    assert without_sources(kept, M1.__eq__) is kept


def test_a_memory_added_by_hand_goes_only_with_the_conversation_it_was_added_to() -> None:
    by_hand = drawn_from()
    assert without_sources(by_hand, M1.__eq__) is by_hand
    assert without_sources(by_hand, lambda source: source.conversation_id == "c1", "c1") is None
    assert without_sources(by_hand, lambda source: source.conversation_id == "c2", "c2") is by_hand


def test_a_memory_borne_out_elsewhere_moves_to_the_conversation_that_is_left() -> None:
    left = without_sources(drawn_from(M1, FAR), lambda source: source.conversation_id == "c1", "c1")
    assert left is not None
    assert (left.conversation_id, left.sources, left.quote) == ("c2", (FAR,), None)


@given(st.lists(st.sampled_from((M1, M2, FAR)), max_size=3), st.sets(st.sampled_from((M1, M2, FAR))))
def test_no_erased_source_is_left(sources: list[Source], gone: set[Source]) -> None:
    left = without_sources(drawn_from(*sources), lambda source: source in gone)
    if left is None:
        assert set(sources) <= gone
    else:
        assert not gone.intersection(left.sources)
        assert set(left.sources) == set(sources) - gone


def test_a_mark_tells_nothing_without_the_salt_and_mixes_nothing_up() -> None:
    marks: list[Tombstone] = [
        message_tombstone(b"salt", "c1", "m1"),
        message_tombstone(b"salt", "c1m", "1"),
        message_tombstone(b"other", "c1", "m1"),
        original_tombstone(b"salt", "c1", "m1"),
        conversation_tombstone(b"salt", "c1"),
        memory_tombstone(b"salt", "c1"),
    ]
    assert len(set(marks)) == len(marks)
    assert message_tombstone(b"salt", "c1", "m1") == marks[0]


def test_a_statement_stays_forgotten_however_it_is_written() -> None:
    assert memory_tombstone(b"salt", "Likes tea") == memory_tombstone(b"salt", " likes TEA. ")


def test_counts_add_up() -> None:
    both = Erased(messages=1, jobs=2).plus(Erased(messages=3))
    assert both == Erased(messages=4, jobs=2)
    assert both.any()
    assert not Erased().any()
