"""Titles, and how a conversation changes."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.appending import conversation_from
from recollect.domain.conversation import AUTO_TITLE, ConversationChanges, apply_changes, title_from
from recollect.errors import InvalidInputError
from recollect.testing.clock import START
from recollect.testing.samples import conversation

HERE = conversation_from(conversation("c1"))


def changed(before: Any = HERE, **changes: Any) -> Any:
    return apply_changes(before, ConversationChanges(at=START + timedelta(hours=1), **changes))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("  Plan \n my\t trip  ", "Plan my trip"),
        ("", None),
        (" \n\u3000", None),
        (" " * 1_000 + "late words", "late words"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("word " * 20, "word word word word word word word word word word word…"),
        ("a " + "x" * 80, "a " + "x" * 57 + "…"),
        ("我想计划一次旅行", "我想计划一次旅行"),
        ("茶" * 100, "茶" * 59 + "…"),
    ],
)
def test_a_title_is_made_of_the_first_words(text: str, title: str | None) -> None:
    assert title_from(text) == title


@given(st.text())
def test_a_title_is_short_and_on_one_line(text: str) -> None:
    title = title_from(text)
    if title is None:
        assert not text.strip()
    else:
        assert 0 < len(title) <= AUTO_TITLE
        assert title == title.strip()
        assert len(title.splitlines()) == 1


def test_what_is_unset_stays_and_what_is_set_makes_a_new_version() -> None:
    assert changed() is HERE
    after = changed(title="Trip", is_pinned=True, metadata={"k": 1})
    assert (after.title, after.is_pinned, after.metadata, after.is_archived) == ("Trip", True, {"k": 1}, False)
    assert after.version == HERE.version + 1
    assert after.updated_at == START + timedelta(hours=1)
    assert after.last_activity_at == HERE.last_activity_at


def test_a_title_of_a_person_is_never_replaced_by_an_automatic_one() -> None:
    made = changed(title="made", title_source="auto")
    assert (made.title, made.title_source) == ("made", "auto")
    chosen = changed(made, title="chosen")
    assert (chosen.title, chosen.title_source) == ("chosen", "user")
    assert changed(chosen, title="made again", title_source="auto") is chosen
    assert changed(chosen, title="chosen again").title == "chosen again"


def test_moving_the_head_makes_a_branch() -> None:
    there = msgspec.structs.replace(HERE, head_id="m2")
    assert changed(there, head_id="m2") is there
    moved = changed(there, head_id="m1")
    assert (moved.head_id, moved.is_branched, moved.version) == ("m1", True, 2)


def test_going_back_before_the_first_message_makes_a_branch() -> None:
    assert changed(head_id=None) is HERE
    moved = changed(msgspec.structs.replace(HERE, head_id="m2"), head_id=None)
    assert (moved.head_id, moved.is_branched, moved.version) == (None, True, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": ""},
        {"title": " "},
        {"title": "x" * 256},
        {"title": None},
        {"title_source": "model"},
        {"is_archived": 1},
        {"is_pinned": None},
        {"metadata": []},
        {"head_id": ""},
        {"expected_version": -1},
        {"at": START.replace(tzinfo=None)},
    ],
)
def test_wrong_changes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ConversationChanges(**{"at": START} | wrong)


def test_times_are_kept_in_utc() -> None:
    local = START.astimezone(timezone(timedelta(hours=9)))
    after = apply_changes(HERE, ConversationChanges(at=local, title="x"))
    assert after.updated_at.utcoffset() == timedelta(0)
