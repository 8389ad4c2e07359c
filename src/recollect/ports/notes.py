"""What the service needs to keep notes."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion
from recollect.domain.scope import Scope


class NoteStore(Protocol):
    """Keep one note per (user, agent), with every version of it; every method is one transaction."""

    async def get_note(self, scope: Scope) -> Note:
        """Return the note of the scope's agent; version 0 if nothing was written."""

    async def noting_agents(self, scope: Scope) -> tuple[str, ...]:
        """Return the names of the user's agents that ever noted something, in order."""

    async def change_note(self, scope: Scope, change: NoteChange) -> Note:
        """Apply an operation to the newest text; concurrent operations all take effect, one after the other.

        Raise `StaleVersionError` if an expected version is given and does not hold,
        `InvalidNoteOperationError` if the operation does not fit the note.
        """

    async def undo_note(self, scope: Scope, at: datetime) -> Note:
        """Bring back the text before the last change, as a new version."""

    async def note_history(self, scope: Scope, query: NoteHistoryQuery) -> tuple[NoteVersion, ...]:
        """List the versions, newest first."""
