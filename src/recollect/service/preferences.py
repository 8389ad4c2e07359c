"""What a user sets for themselves: read, and changed by nobody else."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import as_utc
from recollect.domain.preferences import PreferenceChanges, Preferences, changed_preferences
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.errors import StaleVersionError
from recollect.ports.preferences import PreferenceStore
from recollect.service.means import Means

#: The event that tells a user's sessions to read the preferences again; its entity is the user.
SETTINGS_UPDATED = "settings.updated"


class PreferenceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants to be otherwise; what is unset stays."""

    memory_enabled: bool | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    #: Change nothing if the preferences are at another version.
    expected_version: int | None = None


class UserPreferences:
    """Keep what users set; whoever tells a model something, learns or notes obeys it."""

    def __init__(self, store: PreferenceStore, means: Means) -> None:
        self._store = store
        self._means = means

    async def get(self, scope: Scope) -> Preferences:
        """Return what the user set; version 0 and the defaults if nothing was."""
        return await self._store.get_preferences(scope)

    async def change(self, scope: Scope, request: PreferenceRequest) -> Preferences:
        """Change what the request sets and return the preferences; secrets in the instructions are redacted.

        Raise `StaleVersionError` if an expected version does not hold; then nothing is changed.
        """
        changes = PreferenceChanges(
            at=self._means.clock(),
            memory_enabled=request.memory_enabled,
            instructions=request.instructions,
            expected_version=request.expected_version,
        )
        if changes.instructions is not UNSET:
            # Checked first, for only text can be searched for secrets.
            clean = redacted(changes.instructions).text
            changes = msgspec.structs.replace(changes, instructions=clean)
        changed = await self._store.change_preferences(scope, changes)
        if changed.updated_at == as_utc(changes.at):
            self._means.tell(scope, SETTINGS_UPDATED, (scope.user,))
        return changed


async def set_first(store: PreferenceStore, scope: Scope, changes: PreferenceChanges) -> bool:
    """Set preferences for a user who set none before, and tell whether that changed anything."""
    first = msgspec.structs.replace(changes, expected_version=0)
    try:
        return (await store.change_preferences(scope, first)).version > 0
    except StaleVersionError:
        return False


async def is_set(store: PreferenceStore, scope: Scope, changes: PreferenceChanges) -> bool:
    """Tell whether the user's preferences are these already."""
    now = await store.get_preferences(scope)
    return changed_preferences(now, msgspec.structs.replace(changes, expected_version=None)) is now
