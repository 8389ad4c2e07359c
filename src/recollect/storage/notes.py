"""Notes in SQL: each function is the work of one transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

import msgspec

from recollect.domain.checks import as_utc
from recollect.domain.erasure import Erased, conversation_tombstone
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion, changed_note
from recollect.domain.note_erasure import ERASE, lessened, version_of, without_lines
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, ErasedError, NoteNotFoundError
from recollect.storage.conversations import add_agent
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Transaction
from recollect.storage.jobs import LAST
from recollect.storage.knowledge_rows import note_from, note_values, note_version_from, note_version_values
from recollect.storage.rows import instant, micros, scoped
from recollect.storage.tombstones import buried

#: A period of note changes, in microseconds, both ends included.
Period = tuple[int, int]
#: Before and after every time that can be stored.
ALWAYS: Period = (-(2**62), 2**62)


def read(tx: Transaction, scope: Scope) -> Note:
    """Return the note of the scope's agent; version 0 if nobody wrote it."""
    row = tx.one("read_note", **scoped(scope), agent=scope.agent)
    return _empty(scope) if row is None else note_from(scope, row)


def _empty(scope: Scope) -> Note:
    return Note(agent=scope.agent, notes="", version=0, created_at=None, updated_at=None)


def agents(tx: Transaction, scope: Scope) -> tuple[str, ...]:
    """Return the agents that have a note."""
    return tuple(sorted(agent for (agent,) in tx.all("noting_agents", **scoped(scope))))


def change(tx: Transaction, scope: Scope, change: NoteChange) -> Note:
    """Apply the operation to the newest text, so that concurrent changes all survive."""
    _refuse_if_erased(tx, scope, change.conversation_id)
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


def _refuse_if_erased(tx: Transaction, scope: Scope, conversation_id: str | None) -> None:
    """Raise if the conversation in which this is noted was erased."""
    # An erasure that is under way waits for this lock and then finds the version, or is waited for and is then seen.
    if conversation_id is None or tx.one("lock_conversation", **scoped(scope), id=conversation_id):
        return
    if buried(tx, scope, [conversation_tombstone(tx.salt, conversation_id)]):
        raise ErasedError("the conversation in which this was to be noted was erased")


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


def forget(tx: Transaction, scope: Scope, conversation_id: str, period: Period, at: datetime) -> Erased:
    """Take out of all notes what was first written in the conversation in this period."""
    since, until = period
    found = tx.all("notes_of_conversation", **scoped(scope), conversation_id=conversation_id, since=since, until=until)

    def is_erased(version: NoteVersion) -> bool:
        return version.conversation_id == conversation_id and since <= micros(version.created_at) <= until

    erased = Erased()
    for agent, first in found:
        erased = erased.plus(_forget(tx, msgspec.structs.replace(scope, agent=agent), first, is_erased, at))
    return erased


def _forget(
    tx: Transaction, scope: Scope, first: int, is_erased: Callable[[NoteVersion], bool], at: datetime
) -> Erased:
    """Take lines out of one note; a version that was damaged may hold them too, so it goes with what it added."""
    here = {**scoped(scope), "agent": scope.agent}
    tx.one("lock_agent", **here)
    versions, damaged = _versions_from(tx, scope, first)
    for number in damaged:
        tx.run("delete_note_version", **here, version=number)
    note = _intact(tx, scope)
    if note is not None and versions[-1].version < note.version:
        versions.append(version_of(note, ERASE, at))
    doubtful = {*damaged, *(number + 1 for number in damaged)}
    left = without_lines(versions, lambda version: is_erased(version) or version.version in doubtful)
    for version in left:
        values = note_version_values(scope, version)
        tx.run("rewrite_note_version", **{name: values[name] for name in _REWRITTEN})
    counted = Erased(note_versions=len({*damaged, *(version.version for version in left)}))
    newest = {version.version: version for version in (*versions, *left)}[versions[-1].version]
    if note is not None and note.notes == newest.notes:
        return counted
    if note is None:
        tx.run("delete_note", **here)
    after, version = lessened(note or _note_of(newest), newest.notes, at)
    tx.run("save_note", **note_values(scope, after))
    tx.run("insert_note_version", **note_version_values(scope, version))
    return counted.plus(Erased(notes=1))


_REWRITTEN = ("tenant", "user", "agent", "version", "notes", "checksum")


def _versions_from(tx: Transaction, scope: Scope, first: int) -> tuple[list[NoteVersion], list[int]]:
    """Return the sound versions of a note from the one before a version on, and the numbers of the damaged ones."""
    here = {**scoped(scope), "agent": scope.agent}
    before, _ = sound(partial(note_version_from, scope), tx.all("note_versions", **here, before=first, limit=50))
    versions, damaged = [before[0] if before else version_of(_empty(scope), ERASE, instant(0))], []
    for row in tx.all("note_versions_from", **here, version=first):
        try:
            versions.append(note_version_from(scope, row))
        except CorruptRecordError:
            damaged.append(row[1])
    return versions, damaged


def _intact(tx: Transaction, scope: Scope) -> Note | None:
    row = tx.one("find_note", **scoped(scope), agent=scope.agent)
    try:
        return None if row is None else note_from(scope, row)
    except CorruptRecordError:
        return None


def _note_of(version: NoteVersion) -> Note:
    """Return the note as a version left it, for one that was damaged since."""
    at = version.created_at
    return Note(agent=version.agent, notes=version.notes, version=version.version, created_at=at, updated_at=at)
