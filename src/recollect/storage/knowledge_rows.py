"""Turn memories, notes and jobs into rows and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any

import msgspec

from recollect.domain.job import Job
from recollect.domain.memory import Memory, MemoryVersion, Source, content_key
from recollect.domain.note import Note, NoteVersion
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError
from recollect.storage.driver import Row
from recollect.storage.rows import (
    checksum,
    flag,
    instant,
    json_object,
    json_text,
    micros,
    optional_instant,
    optional_micros,
    sealed,
    unsealed,
)

# Made on import: msgspec crashes if two threads are the first to read a type.
_memory = msgspec.json.Decoder(Memory).decode
_MEMORY = (
    "id",
    "agent",
    "memory_type",
    "category",
    "content",
    "importance",
    "confidence",
    "is_pinned",
    "is_archived",
    "origin",
    "trust",
    "quote",
    "conversation_id",
    "subject",
    "attribute",
    "valid_from",
    "valid_to",
    "superseded_by",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "access_count",
    "version",
    "deleted_at",
    "sources",
)
_MEMORY_TIMES = ("valid_from", "valid_to", "created_at", "updated_at", "last_accessed_at", "deleted_at")
#: Reading a memory changes these, so they are no part of what the checksum guards.
_MEMORY_COUNTERS = ("last_accessed_at", "access_count")


_guarded = itemgetter(*(name for name in _MEMORY if name not in _MEMORY_COUNTERS))


def _memory_checksum(scope: Scope, row: Mapping[str, Any]) -> int:
    return checksum(scope.tenant, scope.user, *_guarded(row))


def memory_values(scope: Scope, memory: Memory) -> dict[str, Any]:
    """Return the column values of a memory."""
    row: dict[str, Any] = msgspec.structs.asdict(memory)
    for name in _MEMORY_TIMES:
        if row[name] is not None:
            row[name] = micros(row[name])
    row["sources"] = json_text([(s.conversation_id, s.message_id) for s in memory.sources])
    row["checksum"] = _memory_checksum(scope, row)
    row["tenant"], row["user"], row["content_key"] = scope.tenant, scope.user, content_key(memory.content)
    return row


def memory_from(scope: Scope, row: Row) -> Memory:
    """Return the memory of a row, or raise if the row was damaged."""
    values: dict[str, Any] = dict(zip(_MEMORY, row[:-1], strict=True))
    for name in ("is_pinned", "is_archived"):
        values[name] = flag(values[name])
    if _memory_checksum(scope, values) != row[-1]:
        raise CorruptRecordError("memory", str(values["id"]))
    for name in _MEMORY_TIMES:
        values[name] = optional_instant(values[name])
    pairs: list[tuple[str, str]] = [] if values["sources"] is None else msgspec.json.decode(values["sources"])
    values["sources"] = tuple(Source(conversation, message) for conversation, message in pairs)
    return Memory(**values)


def version_values(scope: Scope, before: Memory, until: datetime) -> dict[str, Any]:
    """Return the column values of what a memory was before a change."""
    row = {
        "memory_id": before.id,
        "version": before.version,
        "memory": msgspec.json.encode(before).decode(),
        "until": micros(until),
    }
    return sealed(scope, row)


def version_from(scope: Scope, row: Row) -> MemoryVersion:
    """Return what a memory was before a change, or raise if the row was damaged."""
    _, _, memory, until = unsealed(scope, "memory version", row)
    return MemoryVersion(memory=_memory(memory), until=instant(until))


def note_values(scope: Scope, note: Note) -> dict[str, Any]:
    """Return the column values of a note that was written."""
    row = {
        "agent": note.agent,
        "notes": note.notes,
        "version": note.version,
        "created_at": optional_micros(note.created_at),
        "updated_at": optional_micros(note.updated_at),
    }
    return sealed(scope, row)


def note_version_values(scope: Scope, version: NoteVersion) -> dict[str, Any]:
    """Return the column values of a version of a note."""
    row = {name: getattr(version, name) for name in _NOTE_VERSION}
    return sealed(scope, {**row, "created_at": micros(version.created_at)})


_NOTE_VERSION = ("agent", "version", "notes", "operation", "conversation_id", "created_at")


def note_version_from(scope: Scope, row: Row) -> NoteVersion:
    """Return the version of a note of a row, or raise if the row was damaged."""
    values: dict[str, Any] = dict(zip(_NOTE_VERSION, unsealed(scope, "note version", row), strict=True))
    return NoteVersion(**{**values, "created_at": instant(values["created_at"])})


def note_from(scope: Scope, row: Row) -> Note:
    """Return the note of a row, or raise if the row was damaged."""
    agent, notes, version, created, updated = unsealed(scope, "note", row)
    return Note(agent=agent, notes=notes, version=version, created_at=instant(created), updated_at=instant(updated))


_JOB = (
    "id",
    "kind",
    "conversation_id",
    "key",
    "payload",
    "state",
    "attempts",
    "max_attempts",
    "run_at",
    "lease_until",
    "worker",
    "error",
    "created_at",
    "updated_at",
)


def job_values(scope: Scope, job: Job) -> dict[str, Any]:
    """Return the column values of a job."""
    row: dict[str, Any] = {name: getattr(job, name) for name in _JOB}
    for name in ("run_at", "lease_until", "created_at", "updated_at"):
        row[name] = optional_micros(row[name])
    row["payload"] = json_text(job.payload)
    return {**sealed(scope, row), "agent": scope.agent}


def job_from(scope: Scope, row: Row) -> Job:
    """Return the job of a row, or raise if the row was damaged."""
    values: dict[str, Any] = dict(zip(_JOB, unsealed(scope, "job", row), strict=True))
    for name in ("run_at", "lease_until", "created_at", "updated_at"):
        values[name] = optional_instant(values[name])
    values["payload"] = json_object(values["payload"])
    return Job(**values)
