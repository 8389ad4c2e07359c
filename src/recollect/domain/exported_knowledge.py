"""What is known of a user, in the format in which it leaves and comes back beside conversations.

Records of conversations are in `exported.py`; here are memories, notes, the end of a file, and how a line is read.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from recollect.domain.exported import (
    VERSION,
    ConversationRecord,
    DamagedRecord,
    ExportHeader,
    MessageRecord,
    SummaryRecord,
)
from recollect.domain.memory import Memory, MemoryType, MemoryVersion, NewMemory, Origin, Source, Trust
from recollect.domain.note import NoteVersion
from recollect.domain.preferences import PreferenceChanges, Preferences
from recollect.domain.secrets import redacted
from recollect.errors import InvalidInputError


class MemoryRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="memory"):
    """A memory as it is, current or not, with what it was before each change."""

    id: str
    agent: str
    content: str
    created_at: datetime
    memory_type: MemoryType = "fact"
    category: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    is_pinned: bool = False
    is_archived: bool = False
    origin: Origin = "import"
    trust: Trust = "pending"
    quote: str | None = None
    #: The conversation it was learned in or added to.
    conversation_id: str | None = None
    sources: tuple[Source, ...] = ()
    subject: str | None = None
    attribute: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    updated_at: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0
    version: int = 1
    #: Newest first.
    history: tuple[MemoryVersion, ...] = ()

    def new(self, *, trusted: bool) -> NewMemory:
        """Return the memory to store: an import, which waits for review and is not pinned unless it is trusted."""
        return NewMemory(
            id=self.id,
            content=redacted(self.content).text,
            at=self.created_at,
            memory_type=self.memory_type,
            category=self.category,
            agent=self.agent,
            importance=self.importance,
            confidence=self.confidence,
            is_pinned=self.is_pinned and trusted,
            origin="import",
            trust=self.trust if trusted or self.trust == "rejected" else "pending",
            quote=None if self.quote is None else redacted(self.quote).text,
            conversation_id=self.conversation_id,
            sources=self.sources,
            subject=self.subject,
            attribute=self.attribute,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
        )


class NoteRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="note"):
    """The note of an agent as one change left it; older versions come first."""

    agent: str
    version: int
    notes: str
    operation: str
    created_at: datetime
    conversation_id: str | None = None


class PreferenceRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="preferences"):
    """What the user set for themselves, if anything."""

    memory_enabled: bool = True
    instructions: str = ""
    updated_at: datetime

    def changes(self) -> PreferenceChanges:
        """Return what sets it again."""
        told = redacted(self.instructions).text
        return PreferenceChanges(at=self.updated_at, memory_enabled=self.memory_enabled, instructions=told)


class EndRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="end"):
    """The last record: how many came before it, so that a file that was cut off shows."""

    conversations: int = 0
    messages: int = 0
    summaries: int = 0
    memories: int = 0
    notes: int = 0
    preferences: int = 0
    damaged: int = 0


#: What an export of a user holds.
UserRecord = (
    ExportHeader
    | ConversationRecord
    | MessageRecord
    | SummaryRecord
    | DamagedRecord
    | MemoryRecord
    | NoteRecord
    | PreferenceRecord
    | EndRecord
)
#: Which field of `EndRecord` counts each.
COUNTED: dict[type, str] = {
    ConversationRecord: "conversations",
    MessageRecord: "messages",
    SummaryRecord: "summaries",
    MemoryRecord: "memories",
    NoteRecord: "notes",
    PreferenceRecord: "preferences",
    DamagedRecord: "damaged",
}

_decoder = msgspec.json.Decoder(UserRecord)
_PLACE = re.compile(r"at `(\$[\w.\[\]…]*)`\Z")


def memory_record(memory: Memory, history: tuple[MemoryVersion, ...]) -> MemoryRecord:
    """Return the memory as it is exported."""
    names = [name for name in MemoryRecord.__struct_fields__ if name != "history"]
    return MemoryRecord(**{name: getattr(memory, name) for name in names}, history=history)


def note_record(version: NoteVersion) -> NoteRecord:
    """Return a version of a note as it is exported."""
    return NoteRecord(**{name: getattr(version, name) for name in NoteRecord.__struct_fields__})


def preference_records(preferences: Preferences) -> tuple[PreferenceRecord, ...]:
    """Return what the user set as it is exported, or nothing if nothing was."""
    if preferences.updated_at is None:
        return ()
    return (PreferenceRecord(**{name: getattr(preferences, name) for name in PreferenceRecord.__struct_fields__}),)


def read_record(line: bytes) -> UserRecord:
    """Return the record of a line, or raise `InvalidInputError` with the fault but nothing of what the line says."""
    try:
        record: UserRecord = _decoder.decode(line)
    except msgspec.ValidationError as exc:
        raise InvalidInputError(_fault(str(exc))) from exc
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InvalidInputError("it is no JSON object on one line") from exc
    if isinstance(record, ExportHeader) and record.version != VERSION:
        raise InvalidInputError(f"the file has version {record.version}, and only {VERSION} can be read here")
    return record


def _fault(told: str) -> str:
    """Return what is wrong with a record, without values of it."""
    place = _PLACE.search(told)
    where = f" at {place[1]}" if place else ""
    if told.startswith(("Object missing", "Expected")):
        return told.replace("`", "")
    return f"a value{where} is not one of those that the format has"
