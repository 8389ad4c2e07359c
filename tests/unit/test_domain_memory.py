"""Memories: when two say the same, how one changes, and when it holds."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.memory import (
    MAX_MEMORY,
    MEMORY_TYPES,
    Extraction,
    Memory,
    MemoryChanges,
    Source,
    changed,
    content_key,
    holds,
    memory_from,
    normalised,
)
from recollect.errors import InvalidInputError
from recollect.testing.clock import START
from recollect.testing.samples import after, memory

HERE = memory_from(memory("k1", "Likes tea", confidence=0.5, sources=(Source("c1", "m1"),)))
LOCAL = timezone(timedelta(hours=-3))


def change(before: Memory = HERE, **changes: Any) -> Memory:
    return changed(before, MemoryChanges(**{"at": after(60)} | changes))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea", "likes TEA."),
        ("Likes tea, coffee", "likes  tea coffee!"),
        ('"Likes tea"', "(likes tea)"),
        ("Straße", "STRASSE"),
        ("caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"),
        ("Has １２ cats", "has 12 cats"),
        ("喜欢茶", "喜欢茶。"),
        ("पसंद है।", "पसंद है"),
        ("يحب الشاي؟", "يحب الشاي"),
    ],
)
def test_case_width_spacing_and_outer_punctuation_make_no_difference(one: str, other: str) -> None:
    assert content_key(one) == content_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea", "Likes tee"),
        ("Likes tea", "Does not like tea"),
        ("Knows C", "Knows C++"),
        ("Knows C", "Knows C#"),
        ("Owes 5", "Owes -5"),
        ("Owes $5", "Owes €5"),
        ("Version 1.5", "Version 15"),
        ("Version 1.5", "Version 1-5"),
        ("March 15", "March 16"),
        ("Likes 🍕", "Likes 🍣"),
        ("का", "की"),
        ("มี", "มิ"),
        ("café", "cafe"),
    ],
)
def test_statements_that_differ_in_a_sign_are_kept_apart(one: str, other: str) -> None:
    assert content_key(one) != content_key(other)


@given(st.text())
def test_space_around_a_statement_makes_no_difference(text: str) -> None:
    assert content_key(f" {text}\n") == content_key(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ascii_says_what_the_same_letters_of_another_width_say(text: str) -> None:
    wide = "".join(letter if letter == " " else chr(ord(letter) + 0xFEE0) for letter in text)
    assert normalised(wide) == normalised(text)


@pytest.mark.parametrize("text", ["!!!", "…", "?", "🍕"])
def test_a_statement_of_signs_alone_still_has_a_key_of_its_own(text: str) -> None:
    assert normalised(text)


def test_there_are_six_types() -> None:
    assert set(MEMORY_TYPES) == {"fact", "preference", "insight", "entity", "project", "decision"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": "x" * (MAX_MEMORY + 1)},
        {"memory_type": "rumour"},
        {"importance": 1.01},
        {"importance": -0.1},
        {"importance": True},
        {"confidence": float("nan")},
        {"origin": "web"},
        {"trust": "maybe"},
        {"category": "x" * 101},
        {"sources": [Source("c", "m")]},
        {"valid_from": after(1), "valid_to": after(0)},
    ],
)
def test_a_memory_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        memory("k1", **wrong)


def test_a_new_memory_starts_at_version_1_and_names_each_source_once() -> None:
    source = Source("c1", "m1")
    made = memory_from(memory("k1", importance=1, sources=(source, source), at=START.astimezone(LOCAL)))
    assert (made.version, made.access_count, made.is_archived, made.deleted_at) == (1, 0, False, None)
    assert made.sources == (source,)
    assert made.created_at == made.updated_at == made.last_accessed_at == START
    assert made.created_at.utcoffset() == timedelta(0)


def test_a_change_keeps_what_is_unset_and_counts_versions() -> None:
    new = change(content="Likes coffee", category=None, is_pinned=True, valid_to=after(5))
    assert (new.content, new.is_pinned, new.valid_to, new.importance) == ("Likes coffee", True, after(5), 0.5)
    assert (new.version, new.updated_at, new.created_at) == (2, after(60), START)


@pytest.mark.parametrize("same", [{}, {"content": "Likes tea"}, {"importance": 0.5}, {"more_sources": HERE.sources}])
def test_a_change_of_nothing_is_no_change(same: dict[str, Any]) -> None:
    assert change(**same) is HERE


def test_sources_are_added_once_each_and_in_order() -> None:
    more = (Source("c1", "m1"), Source("c2", "m1"), Source("c2", "m1"))
    assert change(more_sources=more).sources == (Source("c1", "m1"), Source("c2", "m1"))


@pytest.mark.parametrize("field", ["importance", "confidence"])
@pytest.mark.parametrize("share", [0, 1])
def test_a_whole_number_is_kept_as_the_float_that_a_store_reads_back(field: str, share: int) -> None:
    changes: dict[str, Any] = {field: share}
    kept = getattr(change(**changes), field)
    assert isinstance(kept, float)
    assert kept == share


def test_changed_times_are_kept_in_utc() -> None:
    new = change(
        at=after(9).astimezone(LOCAL), deleted_at=after(9).astimezone(LOCAL), valid_to=after(9).astimezone(LOCAL)
    )
    for time in (new.updated_at, new.deleted_at, new.valid_to):
        assert time == after(9)
        assert time is not None
        assert time.utcoffset() == timedelta(0)


def test_without_a_time_only_current_values_hold() -> None:
    assert holds(HERE, None)
    assert not holds(change(superseded_by="k2"), None)
    assert not holds(change(valid_to=after(5)), None)


def test_a_value_holds_from_its_start_until_just_before_its_end() -> None:
    spell = memory_from(memory("k1", valid_from=after(10), valid_to=after(20)))
    assert [holds(spell, after(seconds)) for seconds in (9, 10, 19, 20)] == [False, True, True, False]
    assert not holds(HERE, after(-1))
    assert holds(HERE, after(0))
    assert holds(HERE, after(10**9))


def test_an_extraction_goes_forward() -> None:
    Extraction(conversation_id="c1", from_seq=3, to_seq=3, at=START)
    for first, last in ((3, 2), (-1, 2), (0, 1.5)):
        with pytest.raises(InvalidInputError):
            Extraction(conversation_id="c1", from_seq=first, to_seq=last, at=START)  # type: ignore[arg-type]
