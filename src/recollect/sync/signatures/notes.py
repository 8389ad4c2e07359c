"""What `Notes` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.note import Note, NoteHistoryQuery, NoteVersion
from recollect.domain.scope import Scope
from recollect.service.notes import NoteRequest


class BlockingNotes(Protocol):
    """Keep what an agent notes about a user."""

    def read(self, scope: Scope) -> Note:
        """Return the note of the scope's agent; version 0 if nobody wrote it."""

    def apply(self, scope: Scope, request: NoteRequest) -> Note:
        """Do the operation on the newest text, and return the note; concurrent operations all take effect."""

    def undo(self, scope: Scope) -> Note:
        """Bring back the text before the last change, as a new version; raise `NoteNotFoundError` if there is none."""

    def history(self, scope: Scope, query: NoteHistoryQuery | None = None) -> tuple[NoteVersion, ...]:
        """List the versions of the note, newest first."""

    def call(self, scope: Scope, given: object, conversation_id: str | None = None) -> str:
        """Do what a model asks by the tool, and return what it is told."""
