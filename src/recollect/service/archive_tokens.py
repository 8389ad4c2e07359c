"""Short-lived words with which a page that closes may still archive its messages.

A beacon cannot carry a header, so it shows who it is by a word in its address; such a word is good for one session,
for a few minutes and for archiving alone.
"""

from __future__ import annotations

from datetime import timedelta

from recollect.domain.checks import as_utc
from recollect.domain.scope import Scope
from recollect.domain.signing import ArchivePass, claimed, is_signed, signed
from recollect.errors import UnauthenticatedError
from recollect.ports.clock import Clock
from recollect.ports.store import Store

LIFETIME = timedelta(minutes=5)
_PURPOSE = "archive messages"
_REFUSED = "the archive token is not valid, or no longer; ask for a new one"


class ArchiveTokens:
    """Give archive tokens, and know them again on every server of the same database."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def issue(self, scope: Scope, session_id: str) -> tuple[str, ArchivePass]:
        """Return a token for a session of this user, and what it stands for; the session need not exist yet."""
        given = ArchivePass(
            tenant=scope.tenant,
            user=scope.user,
            agent=scope.agent,
            session_id=session_id,
            expires_at=as_utc(self._clock()) + LIFETIME,
        )
        return signed(given, await self._store.signing_key(scope, _PURPOSE)), given

    async def proven(self, token: str) -> ArchivePass:
        """Return what a token stands for, or raise `UnauthenticatedError` with the same words whatever is wrong."""
        given = claimed(token)
        if given is None or not is_signed(token, await self._store.signing_key(given.scope, _PURPOSE)):
            raise UnauthenticatedError(_REFUSED)
        if not self._clock() < given.expires_at:
            raise UnauthenticatedError(_REFUSED)
        return given
