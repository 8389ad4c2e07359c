"""What is left of a note when a conversation is erased: every line of others, and none of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.note import Note, NoteVersion
from recollect.domain.note_erasure import lessened, without_lines
from recollect.testing.clock import START
from recollect.testing.samples import after

LINES = ("a", "b", "", "# c", "d e")


def version(number: int, lines: list[str], place: str | None) -> NoteVersion:
    text = "\n".join(lines)
    return NoteVersion(
        agent="x", notes=text, version=number, operation="overwrite", conversation_id=place, created_at=START
    )


drawn = st.lists(
    st.tuples(st.lists(st.sampled_from(LINES), max_size=6), st.sampled_from((None, "c1", "c2"))), max_size=6
)


@given(drawn)
def test_a_line_goes_with_whoever_wrote_it_first_and_all_others_stay(
    changes: list[tuple[list[str], str | None]],
) -> None:
    versions = [version(number, lines, place) for number, (lines, place) in enumerate(changes, 1)]
    left = {one.version: one for one in without_lines(versions, lambda one: one.conversation_id == "c1")}
    first = {line: place for lines, place in reversed(changes) for line in lines}
    for one, (lines, _) in zip(versions, changes, strict=True):
        kept = [line for line in lines if not line or first[line] != "c1"]
        if kept == lines:
            assert one.version not in left
        else:
            assert left[one.version].notes == "\n".join(kept)


def test_a_lessened_note_is_a_new_version_that_names_no_conversation() -> None:
    note = Note(agent="x", notes="a\nb", version=3, created_at=START, updated_at=START)
    now, made = lessened(note, "a", after(5))
    assert (now.notes, now.version, now.created_at, now.updated_at) == ("a", 4, START, after(5))
    assert (made.notes, made.version, made.operation, made.conversation_id) == ("a", 4, "erase", None)
