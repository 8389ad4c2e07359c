"""Let a request in: who calls, whether they may, and not too often."""

from __future__ import annotations

from fastapi import Request

from recollect.domain.identity import Caller, Credentials, Right, is_placeholder
from recollect.errors import PermissionDeniedError
from recollect.http.rates import Rates
from recollect.service.identity import Identity, Mode

#: A service key acts for the user that this header names.
ACTS_FOR = "Recollect-User"
#: A browser shows its credential in this cookie, which no script can read.
SESSION_COOKIE = "recollect_session"


class Gate:
    """Know the caller of each request."""

    def __init__(self, identity: Identity, rates: Rates, mode: Mode) -> None:
        self._identity = identity
        self._rates = rates
        #: Whether callers are asked who they are.
        self.mode: Mode = mode

    async def admit(self, request: Request, right: Right, *, placeholders: bool = False) -> Caller:
        """Return the caller, or raise `UnauthenticatedError`, `PermissionDeniedError` or `RateLimitedError`.

        With `placeholders`, a word that only fills the place of a key counts as none where no key is asked for.
        """
        known = await self.identify(request, placeholders=placeholders)
        if right not in known.rights:
            raise PermissionDeniedError(f"this key may not {right}; use one that has the right {right}")
        self._rates.take(known.scope)
        return known

    async def identify(self, request: Request, *, placeholders: bool = False) -> Caller:
        """Return the caller, whatever they may do."""
        authorization = request.headers.get("authorization")
        if placeholders and self.mode == "local" and authorization is not None and is_placeholder(authorization):
            authorization = None
        cookie = request.cookies.get(SESSION_COOKIE)
        # The local user needs no credential, and a browser may still have one of another server on this machine.
        if authorization is None and cookie is not None and self.mode == "token":
            authorization = f"Bearer {cookie}"
        return await self._identity.caller(
            Credentials(authorization=authorization, acts_for=request.headers.get(ACTS_FOR))
        )

    async def holder(self, token: str) -> Caller:
        """Return whose credential this is."""
        return await self._identity.caller(Credentials(authorization=f"Bearer {token}"))
