"""Notes in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from recollect.domain.checks import as_utc
from recollect.domain.erasure import Erased, conversation_tombstone
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion, changed_note
from recollect.domain.note_erasure import lessened, without_lines
from recollect.domain.scope import Scope
from recollect.errors import ErasedError, NoteNotFoundError
from recollect.storage.inmemory.shelves import Shelves, UserData


def read(data: UserData, agent: str) -> Note:
    """Return the note of the agent; version 0 if nobody wrote it."""
    empty = Note(agent=agent, notes="", version=0, created_at=None, updated_at=None)
    return data.notes.get(agent, empty)


def write(data: UserData, agent: str, change: NoteChange) -> Note:
    """Apply the operation, and keep the version that it makes."""
    before = read(data, agent)
    after = changed_note(before, change)
    if after.version != before.version:
        data.notes[agent] = after
        data.note_versions[agent, after.version] = NoteVersion(
            agent=agent,
            notes=after.notes,
            version=after.version,
            operation=change.operation,
            conversation_id=change.conversation_id,
            created_at=as_utc(change.at),
        )
    return after


def forget(data: UserData, is_erased: Callable[[NoteVersion], bool], at: datetime) -> Erased:
    """Take out of all notes what was first written in these versions."""
    erased = Erased()
    for agent in {version.agent for version in data.note_versions.values() if is_erased(version)}:
        versions = [version for version in data.note_versions.values() if version.agent == agent]
        versions.sort(key=lambda version: version.version)
        first = next(place for place, version in enumerate(versions) if is_erased(version))
        left = without_lines(versions[max(first - 1, 0) :], is_erased)
        data.note_versions.update({(agent, version.version): version for version in left})
        text = data.note_versions[agent, versions[-1].version].notes
        changed = text != data.notes[agent].notes
        if changed:
            note, version = lessened(data.notes[agent], text, at)
            data.notes[agent] = note
            data.note_versions[agent, version.version] = version
        erased = erased.plus(Erased(notes=int(changed), note_versions=len(left)))
    return erased


class Notes(Shelves):
    """Keep notes."""

    async def get_note(self, scope: Scope) -> Note:
        return read(self._reading(scope), scope.agent)

    async def noting_agents(self, scope: Scope) -> tuple[str, ...]:
        return tuple(sorted(self._reading(scope).notes))

    async def change_note(self, scope: Scope, change: NoteChange) -> Note:
        with self._writing(scope) as data:
            place = change.conversation_id
            if place is not None and conversation_tombstone(data.salt, place) in data.tombstones:
                raise ErasedError("the conversation in which this was to be noted was erased")
            return write(data, scope.agent, change)

    async def undo_note(self, scope: Scope, at: datetime) -> Note:
        with self._writing(scope) as data:
            version = read(data, scope.agent).version
            if version == 0:
                raise NoteNotFoundError("nothing was written yet, so there is nothing to undo")
            text = "" if version == 1 else data.note_versions[scope.agent, version - 1].notes
            return write(data, scope.agent, NoteChange(operation="overwrite", content=text, at=at))

    async def note_history(self, scope: Scope, query: NoteHistoryQuery) -> tuple[NoteVersion, ...]:
        own = [version for version in self._reading(scope).note_versions.values() if version.agent == scope.agent]
        own.sort(key=lambda version: -version.version)
        if query.before_version is not None:
            own = [version for version in own if version.version < query.before_version]
        return tuple(own[: query.limit])
