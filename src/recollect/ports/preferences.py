"""What the service needs to keep what users set for themselves."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.preferences import PreferenceChanges, Preferences
from recollect.domain.scope import Scope


class PreferenceStore(Protocol):
    """Keep the preferences of each user, the same for all of their agents; every method is one transaction."""

    async def get_preferences(self, scope: Scope) -> Preferences:
        """Return what the user set; version 0 and the defaults if nothing was."""

    async def change_preferences(self, scope: Scope, changes: PreferenceChanges) -> Preferences:
        """Change the newest preferences and return them; what changes nothing makes no version.

        Raise `StaleVersionError` if an expected version is given and does not hold.
        """
