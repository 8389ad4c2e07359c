"""Preferences in SQL: one row per user."""

from __future__ import annotations

from typing import Any

from recollect.domain.preferences import PreferenceChanges, Preferences, changed_preferences
from recollect.domain.scope import Scope
from recollect.storage import damage
from recollect.storage.driver import Driver, Row, Transaction
from recollect.storage.rows import flag, instant, micros, optional_micros, scoped, sealed, unsealed


def values(scope: Scope, preferences: Preferences) -> dict[str, Any]:
    """Return the column values of preferences that were set."""
    row = {
        "user": scope.user,
        "memory_enabled": preferences.memory_enabled,
        "instructions": preferences.instructions,
        "version": preferences.version,
        "updated_at": optional_micros(preferences.updated_at),
    }
    return sealed(scope, row)


def preferences_from(scope: Scope, row: Row) -> Preferences:
    """Return the preferences of a row, or raise if the row was damaged."""
    user, remembers, *rest = row
    _, remembers, told, version, updated = unsealed(scope, "preferences", (user, flag(remembers), *rest))
    return Preferences(memory_enabled=remembers, instructions=told, version=version, updated_at=instant(updated))


def read(tx: Transaction, scope: Scope) -> Preferences:
    """Return what the user set, or the defaults."""
    row = tx.one("find_preferences", **scoped(scope))
    return Preferences() if row is None else preferences_from(scope, row)


def change(tx: Transaction, scope: Scope, changes: PreferenceChanges) -> Preferences:
    """Change the newest preferences, so that of two who expect one version the second is refused."""
    tx.run("add_user", **scoped(scope), at=micros(changes.at))
    # There may be no row to lock yet, but there is a user.
    tx.one("lock_user", **scoped(scope))
    before = read(tx, scope)
    after = changed_preferences(before, changes)
    if after is not before:
        tx.run("save_preferences", **values(scope, after))
    return after


class PreferenceRecords:
    """The part of the store that keeps preferences."""

    _driver: Driver

    async def get_preferences(self, scope: Scope) -> Preferences:
        reading = self._driver.read(scope, lambda tx: read(tx, scope), quick=True)
        return await damage.reported(self._driver, scope, reading)

    async def change_preferences(self, scope: Scope, changes: PreferenceChanges) -> Preferences:
        writing = self._driver.write(scope, lambda tx: change(tx, scope, changes))
        return await damage.reported(self._driver, scope, writing)
