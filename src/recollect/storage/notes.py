"""Notes in SQL: each function is the work of one transaction."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from recollect.domain.checks import as_utc
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion, changed_note
from recollect.domain.scope import Scope
from recollect.errors import NoteNotFoundError
from recollect.storage.conversations import add_agent
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Transaction
from recollect.storage.jobs import LAST
from recollect.storage.knowledge_rows import note_from, note_values, note_version_from, note_version_values
from recollect.storage.rows import micros, scoped


def read(tx: Transaction, scope: Scope) -> Note:
    """Return the note of the scope's agent; version 0 if nobody wrote it."""
    row = tx.one("read_note", **scoped(scope), agent=scope.agent)
    return _empty(scope) if row is None else note_from(scope, row)


def _empty(scope: Scope) -> Note:
    return Note(agent=scope.agent, notes="", version=0, created_at=None, updated_at=None)


def change(tx: Transaction, scope: Scope, change: NoteChange) -> Note:
    """Apply the operation to the newest text, so that concurrent changes all survive."""
    add_agent(tx, scope, scope.agent, micros(change.at))
    tx.one("lock_agent", **scoped(scope), agent=scope.agent)
    row = tx.one("find_note", **scoped(scope), agent=scope.agent)
    before = _empty(scope) if row is None else note_from(scope, row)
    after = changed_note(before, change)
    if after is not before:
        tx.run("save_note", **note_values(scope, after))
        version = NoteVersion(
            agent=scope.agent,
            version=after.version,
            notes=after.notes,
            operation=change.operation,
            conversation_id=change.conversation_id,
            created_at=as_utc(change.at),
        )
        tx.run("insert_note_version", **note_version_values(scope, version))
    return after


def undo(tx: Transaction, scope: Scope, at: datetime) -> Note:
    """Bring back the text before the last change, as a new version."""
    current = read(tx, scope)
    if current.version == 0:
        raise NoteNotFoundError("nothing was written yet, so there is nothing to undo")
    row = tx.one("note_version", **scoped(scope), agent=scope.agent, version=current.version - 1)
    text = "" if row is None else note_version_from(scope, row).notes
    again = NoteChange(operation="overwrite", content=text, at=at, expected_version=current.version)
    return change(tx, scope, again)


def history(tx: Transaction, scope: Scope, query: NoteHistoryQuery) -> Sound[NoteVersion]:
    """List the versions of the note, newest first."""
    before = LAST if query.before_version is None else query.before_version
    found = tx.all("note_versions", **scoped(scope), agent=scope.agent, before=before, limit=query.limit)
    return sound(partial(note_version_from, scope), found)
