"""Secrets for signatures in memory."""

from __future__ import annotations

from recollect.domain.scope import Scope
from recollect.domain.signing import derived_key
from recollect.storage.inmemory.shelves import Shelves


class SigningShelf(Shelves):
    """Give secrets for signatures."""

    async def signing_key(self, scope: Scope, purpose: str) -> bytes:
        return derived_key(self._reading(scope).salt, scope, purpose)
