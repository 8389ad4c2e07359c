"""Secrets for signatures, made from the salt that every process on one database shares."""

from __future__ import annotations

from recollect.domain.scope import Scope
from recollect.domain.signing import derived_key
from recollect.storage.driver import Driver


class Signing:
    """The part of the store that gives secrets for signatures."""

    _driver: Driver

    async def signing_key(self, scope: Scope, purpose: str) -> bytes:
        return await self._driver.read(scope, lambda tx: derived_key(tx.salt, scope, purpose), quick=True)
