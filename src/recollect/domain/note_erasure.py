"""Decide what is left of a note when the conversation that it was written in is erased.

A note is one text that grows, so each of its versions repeats what earlier ones said.
The unit is the line: it belongs to whoever wrote it first, and goes with them out of every version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from recollect.domain.checks import as_utc
from recollect.domain.note import Note, NoteVersion

#: How the history names the version that an erasure makes.
ERASE = "erase"


def without_lines(versions: Sequence[NoteVersion], is_erased: Callable[[NoteVersion], bool]) -> tuple[NoteVersion, ...]:
    """Return those versions that lose lines, without them; the versions are given in order, with none left out.

    What the first version says belongs to others unless it is erased itself.
    """
    is_gone: dict[str, bool] = {}
    left = []
    for version in versions:
        lines = version.notes.split("\n")
        erased = is_erased(version)
        for line in lines:
            is_gone.setdefault(line.strip(), erased and bool(line.strip()))
        kept = [line for line in lines if not is_gone[line.strip()]]
        if len(kept) < len(lines):
            left.append(msgspec.structs.replace(version, notes="\n".join(kept)))
    return tuple(left)


def lessened(note: Note, text: str, at: datetime) -> tuple[Note, NoteVersion]:
    """Return the note with what is left of its text, and the version that this makes.

    It is a new version, so that whoever read the old one cannot write it back as if nothing had happened.
    """
    at = as_utc(at)
    after = msgspec.structs.replace(note, notes=text, version=note.version + 1, updated_at=at)
    return after, version_of(after, ERASE, at)


def version_of(note: Note, operation: str, at: datetime) -> NoteVersion:
    """Return the version that a note is at."""
    return NoteVersion(
        agent=note.agent,
        notes=note.notes,
        version=note.version,
        operation=operation,
        conversation_id=None,
        created_at=at,
    )
