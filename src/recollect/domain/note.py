"""Notes: what an agent keeps about a user in its own words, and the seven operations on them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, get_args

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_count,
    check_limit,
    check_one_of,
    check_optional_id,
    check_optional_text,
    check_text,
    check_time,
)
from recollect.errors import InvalidNoteOperationError, StaleVersionError

NoteOperation = Literal[
    "read",
    "overwrite",
    "append",
    "prepend",
    "delete_section_by_header",
    "replace_section_by_header",
    "delete_all_notes",
]
OPERATIONS: tuple[str, ...] = get_args(NoteOperation)
MAX_NOTE = 200_000

#: A closing run of hashes stands apart, so `# C#` is about C#.
_HEADER = re.compile(r"^(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NoteChange(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on the note of (user, agent)."""

    operation: NoteOperation
    at: datetime
    content: str | None = None
    section_header: str | None = None
    expected_version: int | None = None
    #: The conversation in which the agent wrote it.
    conversation_id: str | None = None

    def __post_init__(self) -> None:
        wrong = InvalidNoteOperationError
        check_one_of(self.operation, OPERATIONS, "operation", wrong)
        check_time(self.at, "at", wrong)
        check_optional_text(self.content, "content", at_most=MAX_NOTE, error=wrong)
        check_optional_text(self.section_header, "section_header", at_most=500, error=wrong)
        if self.expected_version is not None:
            check_count(self.expected_version, "expected_version", error=wrong)
        check_optional_id(self.conversation_id, "conversation id", wrong)
        if self.operation in _NEEDS_CONTENT and self.content is None:
            raise wrong(f"{self.operation} needs content")
        if self.operation in _NEEDS_HEADER and not (self.section_header or "").strip("# \t"):
            raise wrong(f"{self.operation} needs section_header")


_NEEDS_CONTENT = ("overwrite", "append", "prepend", "replace_section_by_header")
_NEEDS_HEADER = ("delete_section_by_header", "replace_section_by_header")


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """The note of (user, agent); version 0 is the note nobody has written yet."""

    agent: str
    notes: str
    version: int
    created_at: datetime | None
    updated_at: datetime | None


class NoteVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The note as one change left it."""

    agent: str
    notes: str
    version: int
    operation: str
    conversation_id: str | None
    created_at: datetime


class NoteHistoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which versions to list, newest first."""

    limit: int = 50
    before_version: int | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if self.before_version is not None:
            check_count(self.before_version, "before_version")


def changed_note(note: Note, change: NoteChange) -> Note:
    """Return the note after the operation, or the same note if nothing changes."""
    if change.expected_version is not None and change.expected_version != note.version:
        raise StaleVersionError(f"the note is at version {note.version}, not {change.expected_version}")
    text = changed_text(note.notes, change)
    if text == note.notes:
        return note
    check_text(text, "the note", at_most=MAX_NOTE, error=InvalidNoteOperationError)
    at = as_utc(change.at)
    return msgspec.structs.replace(
        note, notes=text, version=note.version + 1, created_at=note.created_at or at, updated_at=at
    )


def changed_text(text: str, change: NoteChange) -> str:
    """Return the text after the operation."""
    content = change.content or ""
    match change.operation:
        case "read":
            return text
        case "overwrite":
            return content
        case "append":
            return _joined(text, content)
        case "prepend":
            return _joined(content, text)
        case "delete_all_notes":
            return ""
        case "delete_section_by_header":
            start, end = _section(text, change.section_header or "")
            return text[:start] + text[end:]
        case "replace_section_by_header":
            start, end = _section(text, change.section_header or "")
            return _with_section(text, start, end, content)


def _joined(first: str, second: str) -> str:
    if not first or not second:
        return first or second
    return first + second if first.endswith("\n") else f"{first}\n{second}"


def _with_section(text: str, start: int, end: int, content: str) -> str:
    """Keep the header line unless the content brings its own."""
    old = text[start:end]
    header, newline, _ = old.partition("\n")
    if not _HEADER.match(content.split("\n", 1)[0]):
        content = f"{header}\n{content}"
    if newline and end < len(text) and not content.endswith("\n"):
        content += "\n"
    return text[:start] + content + text[end:]


def _section(text: str, header: str) -> tuple[int, int]:
    """Find the first section with this header: up to the next header of the same or a higher level."""
    wanted = _title(f"# {header.strip().lstrip('#')}")
    start, level, position, fence = -1, 0, 0, ""
    for line in _LINE.findall(text):
        fence = _fence_after(line, fence)
        found = None if fence else _HEADER.match(line)
        if found and start >= 0 and len(found[1]) <= level:
            return start, position
        if found and start < 0 and _title(line) == wanted:
            start, level = position, len(found[1])
        position += len(line)
    if start < 0:
        raise InvalidNoteOperationError("the note has no section with this header; read it to see its headers")
    return start, position


def section_headers(text: str) -> list[str]:
    """Return the header lines of the sections, in their order."""
    headers, fence = [], ""
    for line in _LINE.findall(text):
        fence = _fence_after(line, fence)
        if not fence and _HEADER.match(line):
            headers.append(line.strip())
    return headers


def _title(line: str) -> str | None:
    """Return the title of a header line as it is compared, or None if it is no header."""
    found = _HEADER.match(line)
    return None if found is None else found[2].casefold()


def _fence_after(line: str, fence: str) -> str:
    """Return what fences the code that follows the line, if anything; only its own kind ends a fence."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not found[2].strip() else fence
