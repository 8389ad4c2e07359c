"""The seven operations on a note."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.note import MAX_NOTE, OPERATIONS, Note, NoteChange, NoteOperation, changed_note, changed_text
from recollect.errors import InvalidNoteOperationError, StaleVersionError
from recollect.testing.clock import START

EMPTY = Note(agent="assistant", notes="", version=0, created_at=None, updated_at=None)
NOTE = """\
Intro
# Tea
green
## Brand
any
# Coffee
black
"""


def change(operation: str, content: str | None = None, header: str | None = None, **more: Any) -> NoteChange:
    return NoteChange(operation=operation, at=START, content=content, section_header=header, **more)  # type: ignore[arg-type]


def without(header: str, text: str = NOTE) -> str:
    return changed_text(text, change("delete_section_by_header", header=header))


def replaced(header: str, content: str, text: str = NOTE) -> str:
    return changed_text(text, change("replace_section_by_header", content, header))


def test_there_are_exactly_the_seven_operations() -> None:
    assert set(OPERATIONS) == {
        *("read", "overwrite", "append", "prepend", "delete_all_notes"),
        *("delete_section_by_header", "replace_section_by_header"),
    }


@pytest.mark.parametrize(
    ("operation", "content", "expected"),
    [
        ("read", None, "old"),
        ("overwrite", "new", "new"),
        ("append", "new", "old\nnew"),
        ("prepend", "new", "new\nold"),
        ("delete_all_notes", None, ""),
    ],
)
def test_operations_on_the_whole_note(operation: str, content: str | None, expected: str) -> None:
    assert changed_text("old", change(operation, content)) == expected


def test_text_is_joined_by_one_line_break_and_only_where_there_is_text_on_both_sides() -> None:
    assert changed_text("", change("append", "new")) == "new"
    assert changed_text("old", change("append", "")) == "old"
    assert changed_text("old\n", change("append", "new")) == "old\nnew"
    assert changed_text("old", change("prepend", "new\n")) == "new\nold"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_needs_what_it_works_with(operation: NoteOperation) -> None:
    needs_content = operation in {"overwrite", "append", "prepend", "replace_section_by_header"}
    needs_header = operation.endswith("_by_header")
    if needs_content:
        with pytest.raises(InvalidNoteOperationError, match="needs content"):
            change(operation, None, "# Tea")
    if needs_header:
        for missing in (None, "", "  ", "#", "## "):
            with pytest.raises(InvalidNoteOperationError, match="needs section_header"):
                change(operation, "text", missing)
    enough = change(operation, "text" if needs_content else None, "Tea" if needs_header else None)
    assert enough.operation == operation


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(InvalidNoteOperationError, match="operation must be one of"):
        change("delete_everything")


def test_a_section_reaches_to_the_next_header_of_its_level_and_holds_the_deeper_ones() -> None:
    assert without("# Tea") == "Intro\n# Coffee\nblack\n"
    assert without("## Brand") == "Intro\n# Tea\ngreen\n# Coffee\nblack\n"
    assert without("# Coffee") == "Intro\n# Tea\ngreen\n## Brand\nany\n"


def test_a_deeper_section_ends_at_a_higher_header() -> None:
    assert without("Deep", "### Deep\nx\n# Top\ny") == "# Top\ny"


@pytest.mark.parametrize("header", ["Tea", "tea", " TEA ", "# Tea", "### Tea", "#Tea", "# Tea #", "## tea ##"])
def test_a_header_is_found_without_regard_to_case_level_or_closing_hashes(header: str) -> None:
    assert without(header) == without("# Tea")


def test_the_case_of_any_script_is_disregarded() -> None:
    assert without("STRASSE", "# Straße\nx\n# Ёлка\ny") == "# Ёлка\ny"
    assert without("ёлка", "# Straße\nx\n# Ёлка\ny") == "# Straße\nx\n"


def test_a_hash_at_the_end_of_a_word_belongs_to_the_title() -> None:
    text = "# C\nold\n# C#\nnew"
    assert without("C#", text) == "# C\nold\n"
    assert without("# C", text) == "# C#\nnew"


def test_a_missing_section_is_a_clear_error() -> None:
    for text in ("", "Tea", "#Tea\n", "####### Tea\n", " \n"):
        with pytest.raises(InvalidNoteOperationError, match="no section with this header"):
            without("Tea", text)


@pytest.mark.parametrize(
    "fenced",
    [
        "```\n# Tea\n```\n",
        "~~~ python\n# Tea\n~~~\n",
        "~~~\n```\n# Tea\n~~~\n",
        "````\n```\n# Tea\n```\n# Tea\n````\n",
        "```\n``` no end\n# Tea\n```\n",
        "   ```\n# Tea\n   ```\n",
    ],
)
def test_a_header_in_fenced_code_is_no_header(fenced: str) -> None:
    with pytest.raises(InvalidNoteOperationError):
        without("Tea", fenced)
    assert without("Tea", f"{fenced}# Tea\nx\n") == fenced
    assert without("First", f"# First\n{fenced}# Next\n") == "# Next\n"


def test_code_that_is_never_closed_reaches_to_the_end() -> None:
    assert without("First", "# First\n```\n# Next\n") == ""


def test_only_line_breaks_part_lines() -> None:
    text = "# Tea\ngreen\u2028# Coffee\x0c# Milk\n# Last\n"
    assert without("Tea", text) == "# Last\n"
    assert without("Tea", "# Tea\r\ngreen\r\n# Last\r\n") == "# Last\r\n"


def test_replacing_keeps_the_header_unless_the_content_brings_its_own() -> None:
    assert replaced("Tea", "white") == "Intro\n# Tea\nwhite\n# Coffee\nblack\n"
    assert replaced("Tea", "## Herbs\nmint\n") == "Intro\n## Herbs\nmint\n# Coffee\nblack\n"
    assert replaced("Coffee", "none") == "Intro\n# Tea\ngreen\n## Brand\nany\n# Coffee\nnone"
    assert replaced("Coffee", "none", "# Coffee") == "# Coffee\nnone"


@given(content=st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20))
def test_replacing_touches_nothing_outside_of_the_section(content: str) -> None:
    text = replaced("Tea", content)
    assert text.startswith("Intro\n")
    assert text.endswith("# Coffee\nblack\n")


@given(st.text("# `~\nTea", max_size=40), st.sampled_from(("Tea", "a", "T")))
def test_deleting_a_section_shortens_the_note_or_says_that_there_is_none(text: str, header: str) -> None:
    try:
        left = without(header, text)
    except InvalidNoteOperationError:
        return
    assert len(left) < len(text)


def test_a_change_makes_a_new_version_and_a_change_of_nothing_does_not() -> None:
    first = changed_note(EMPTY, change("append", "x"))
    assert (first.notes, first.version, first.created_at, first.updated_at) == ("x", 1, START, START)
    for nothing in (change("read"), change("append", ""), change("overwrite", "x")):
        assert changed_note(first, nothing) is first
    later = START + timedelta(hours=1)
    second = changed_note(first, NoteChange(operation="delete_all_notes", at=later))
    assert (second.notes, second.version, second.created_at, second.updated_at) == ("", 2, START, later)


def test_an_expected_version_must_hold() -> None:
    assert changed_note(EMPTY, change("append", "x", expected_version=0)).version == 1
    with pytest.raises(StaleVersionError, match="at version 0, not 3"):
        changed_note(EMPTY, change("append", "x", expected_version=3))
    with pytest.raises(StaleVersionError):
        changed_note(EMPTY, change("read", expected_version=3))


def test_a_note_has_a_longest_length() -> None:
    full = changed_note(EMPTY, change("overwrite", "x" * MAX_NOTE))
    with pytest.raises(InvalidNoteOperationError, match="at most"):
        changed_note(full, change("append", "y"))


def test_times_are_kept_in_utc() -> None:
    local = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    note = changed_note(EMPTY, NoteChange(operation="append", content="x", at=local))
    assert note.created_at == START
    assert note.created_at is not None
    assert note.created_at.utcoffset() == timedelta(0)
