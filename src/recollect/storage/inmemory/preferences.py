"""Preferences in memory."""

from __future__ import annotations

from recollect.domain.preferences import PreferenceChanges, Preferences, changed_preferences
from recollect.domain.scope import Scope
from recollect.storage.inmemory.shelves import Shelves, UserData


def read(data: UserData) -> Preferences:
    """Return what the user set, or the defaults."""
    return data.preferences[0] if data.preferences else Preferences()


class PreferenceShelf(Shelves):
    """Keep preferences."""

    async def get_preferences(self, scope: Scope) -> Preferences:
        return read(self._reading(scope))

    async def change_preferences(self, scope: Scope, changes: PreferenceChanges) -> Preferences:
        with self._writing(scope) as data:
            after = changed_preferences(read(data), changes)
            data.preferences[:] = [after] if after.version else []
            return after
