"""Find out who calls, from what a request says of it and from nothing else.

A credential is believed or refused, never ignored: also where none is asked for, a wrong one is refused.
"""

from __future__ import annotations

from typing import Literal

from recollect.domain.identity import PREFIX, REFUSED, RIGHTS, ApiKey, Caller, Credentials
from recollect.domain.scope import DEFAULT_AGENT, Scope
from recollect.errors import PermissionDeniedError, UnauthenticatedError
from recollect.ports.tokens import TokenVerifier
from recollect.service.keys import Keys

Mode = Literal["local", "token"]

#: Longer than any credential: a header of this size is not looked into.
MOST_CHARACTERS = 16 * 1024

_MISSING = "this server asks who calls; send the header Authorization: Bearer <API key or JWT>"
_NOBODY = "a service key acts for a user; name them in the header Recollect-User: <user id>"
_NOT_YOURS = "only a service key may act for another user; leave the header Recollect-User out"


class Identity:
    """Turn credentials into the caller whose data is touched."""

    def __init__(self, keys: Keys, *, verifier: TokenVerifier | None = None, mode: Mode = "token") -> None:
        #: The API keys that are believed.
        self.keys: Keys = keys
        self._verifier = verifier
        self._mode = mode

    async def caller(self, credentials: Credentials) -> Caller:
        """Return who calls.

        Raise `UnauthenticatedError` if the credential proves nothing, in the same words whatever is wrong with it,
        and `PermissionDeniedError` if it is proven but may not act for whom it says.
        """
        if credentials.authorization is None:
            return self._without_credential(credentials)
        token = _bearer(credentials.authorization)
        if token.startswith(PREFIX):
            return await self._by_key(token, credentials.acts_for)
        if self._verifier is None:
            raise UnauthenticatedError(REFUSED)
        caller = await self._verifier.caller(token)
        if credentials.acts_for is not None:
            raise PermissionDeniedError(_NOT_YOURS)
        return caller

    async def close(self) -> None:
        """Finish what is being noted, then release everything."""
        await self.keys.flush()
        if self._verifier is not None:
            await self._verifier.close()

    def _without_credential(self, credentials: Credentials) -> Caller:
        if self._mode != "local":
            raise UnauthenticatedError(_MISSING)
        if credentials.acts_for is not None:
            raise PermissionDeniedError(_NOT_YOURS)
        return Caller(Scope(), frozenset(RIGHTS))

    async def _by_key(self, text: str, acts_for: str | None) -> Caller:
        key = await self.keys.proven(text)
        if key is None:
            raise UnauthenticatedError(REFUSED)
        return Caller(_scope(key, acts_for), key.rights, key.id)


def _bearer(header: str) -> str:
    """Return the token of the header, or refuse it."""
    scheme, _, token = header.partition(" ")
    token = token.strip(" ")
    if len(header) > MOST_CHARACTERS or scheme.lower() != "bearer" or not token.isascii():
        raise UnauthenticatedError(REFUSED)
    return token


def _scope(key: ApiKey, acts_for: str | None) -> Scope:
    """Return whose data a key touches: its user's, or that of whom a service key acts for."""
    if key.user is not None:
        if acts_for is not None:
            raise PermissionDeniedError(_NOT_YOURS)
        return key.owner
    if acts_for is None:
        raise PermissionDeniedError(_NOBODY)
    return Scope(key.tenant, acts_for, key.agent or DEFAULT_AGENT)
