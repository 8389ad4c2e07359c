"""Notes: read, changed, looked back on and undone, by a person or by the model's own tool."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

import msgspec

from recollect.domain.checks import as_utc
from recollect.domain.note import (
    Note,
    NoteChange,
    NoteHistoryQuery,
    NoteOperation,
    NoteVersion,
    changed_note,
    section_headers,
)
from recollect.domain.note_tool import NOTE_TOOL, NOTE_TOOL_DESCRIPTION, ManageLTMInput, note_parameters, read_call
from recollect.domain.rendering import NO_NOTES
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.errors import InvalidNoteOperationError, RecollectError
from recollect.ports.chat_model import ToolSpec
from recollect.ports.clock import Clock
from recollect.ports.events import Event, Events
from recollect.ports.notes import NoteStore

#: The event that tells a user's other sessions to read the note again; its entity is the agent.
NOTES_UPDATED = "notes.updated"
#: Headers that a model is told after a call.
MOST_HEADERS = 50

_log = logging.getLogger(__name__)


class NoteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An operation on the note of the scope's agent."""

    operation: NoteOperation = "read"
    content: str | None = None
    section_header: str | None = None
    #: Change nothing if the note is at another version.
    expected_version: int | None = None
    #: The conversation in which the agent writes it.
    conversation_id: str | None = None


class _Applied(msgspec.Struct, frozen=True, kw_only=True):
    """The note after an operation."""

    note: Note
    has_changed: bool = False
    #: The kinds of secrets that were taken out of the content.
    redacted: tuple[str, ...] = ()


class Notes:
    """Keep what an agent notes about a user."""

    def __init__(self, store: NoteStore, events: Events, *, clock: Clock) -> None:
        self._store = store
        self._events = events
        self._clock = clock

    async def read(self, scope: Scope) -> Note:
        """Return the note of the scope's agent; version 0 if nobody wrote it."""
        return await self._store.get_note(scope)

    async def apply(self, scope: Scope, request: NoteRequest) -> Note:
        """Do the operation on the newest text, and return the note; concurrent operations all take effect.

        Secrets in the content are redacted before anything is stored.
        Raise `StaleVersionError` or `InvalidNoteOperationError` as the store does; then nothing is changed.
        """
        return (await self._apply(scope, request)).note

    async def undo(self, scope: Scope) -> Note:
        """Bring back the text before the last change, as a new version; raise `NoteNotFoundError` if there is none."""
        at = self._clock()
        note = await self._store.undo_note(scope, at)
        self._tell(scope, note, at)
        return note

    async def history(self, scope: Scope, query: NoteHistoryQuery | None = None) -> tuple[NoteVersion, ...]:
        """List the versions of the note, newest first."""
        return await self._store.note_history(scope, query or NoteHistoryQuery())

    async def call(self, scope: Scope, given: object, conversation_id: str | None = None) -> str:
        """Do what a model asks by the tool, and return what it is told.

        `given` is the input of the call, as an object or as JSON.
        Whatever is wrong with it or with the store is told as text, so that the chat goes on.
        """
        try:
            asked = read_call(given)
            applied = await self._apply(
                scope,
                NoteRequest(
                    operation=asked.operation,
                    content=asked.content,
                    section_header=asked.section_header,
                    conversation_id=conversation_id,
                ),
            )
        except InvalidNoteOperationError as exc:
            return f"Error: {exc}. Nothing was changed.{await self._sections(scope)}"
        except RecollectError as exc:
            _log.warning("a call of %s failed: %s", NOTE_TOOL, exc.code)
            return f"Error: the notes cannot be used now ({exc.code}). Nothing was changed; go on without them."
        return _outcome(asked, applied)

    async def _apply(self, scope: Scope, request: NoteRequest) -> _Applied:
        change, found = self._change(request)
        if change.operation == "read":
            return _Applied(note=changed_note(await self._store.get_note(scope), change))
        note = await self._store.change_note(scope, change)
        return _Applied(note=note, has_changed=self._tell(scope, note, change.at), redacted=found)

    def _change(self, request: NoteRequest) -> tuple[NoteChange, tuple[str, ...]]:
        change = NoteChange(
            operation=request.operation,
            at=self._clock(),
            content=request.content,
            section_header=request.section_header,
            expected_version=request.expected_version,
            conversation_id=request.conversation_id,
        )
        if change.content is None:
            return change, ()
        clean = redacted(change.content)
        return msgspec.structs.replace(change, content=clean.text), clean.found

    def _tell(self, scope: Scope, note: Note, at: datetime) -> bool:
        """Tell the user's other sessions if this call changed the note, and return whether it did."""
        has_changed = note.updated_at == as_utc(at)
        if has_changed:
            self._events.publish([Event(kind=NOTES_UPDATED, scope=scope, entity_id=scope.agent)])
        return has_changed

    async def _sections(self, scope: Scope) -> str:
        """Return what a model needs to know to ask again."""
        try:
            headers = section_headers((await self._store.get_note(scope)).notes)
        except RecollectError as exc:
            _log.warning("the notes cannot be read: %s", exc.code)
            return ""
        if not headers:
            return " The notes have no sections; use append to add text."
        return f" The notes have these sections:\n{_listed(headers)}\nUse append to add a new one."


def note_tool() -> ToolSpec:
    """Return the tool for our own providers."""
    return ToolSpec(name=NOTE_TOOL, description=NOTE_TOOL_DESCRIPTION, parameters=note_parameters())


def _outcome(asked: ManageLTMInput, applied: _Applied) -> str:
    note = applied.note
    if asked.operation == "read":
        return note.notes or NO_NOTES
    if not applied.has_changed:
        return f"Nothing changed: the notes say that already (version {note.version})."
    told = f"Saved: {asked.operation}. The notes are at version {note.version}"
    headers = section_headers(note.notes)
    told += f" and have these sections:\n{_listed(headers)}" if headers else f" and have {len(note.notes)} characters."
    if applied.redacted:
        told += f"\nSecrets were not kept: {', '.join(dict.fromkeys(applied.redacted))}."
    return told


def _listed(headers: Sequence[str]) -> str:
    more = [] if len(headers) <= MOST_HEADERS else [f"… and {len(headers) - MOST_HEADERS} more"]
    return "\n".join([*headers[:MOST_HEADERS], *more])
