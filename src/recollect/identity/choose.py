"""Choose what verifies tokens, by the settings; the packages for it are loaded only if something does."""

from __future__ import annotations

from recollect.ports.clock import Clock
from recollect.ports.tokens import TokenVerifier
from recollect.settings.groups import AuthSettings


def open_verifier(auth: AuthSettings, clock: Clock) -> TokenVerifier | None:
    """Return what verifies tokens, or None if the settings name nobody who signs them.

    Raise `SettingsError` if its key cannot be used, and `MissingExtraError` if its packages are not installed.
    """
    if auth.jwt_algorithm is None:
        return None
    from recollect.identity.jwt import open_jwt_verifier

    return open_jwt_verifier(auth, clock)
