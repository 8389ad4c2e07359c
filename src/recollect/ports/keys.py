"""What the service needs to know callers by their API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.domain.identity import ApiKey, KeyQuery, StoredKey


class KeyStore(Protocol):
    """Keep API keys; every method is one transaction.

    A key is looked up to find out whose data may be touched, so no method here takes a scope, and none tells or
    changes anything but keys. Only a digest of a secret is ever given, so nothing kept opens anything.
    Erasing a user erases the user's keys; a service key belongs to no user.
    """

    async def create_key(self, new: StoredKey) -> ApiKey:
        """Keep a key; the same again changes nothing, and another with its id raises `ConflictError`."""

    async def find_key(self, wanted: str) -> StoredKey | None:
        """Return the key with this id, or None; one that was damaged proves nothing and is not returned."""

    async def list_keys(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        """List the keys of a tenant by their ids, those that are refused included."""

    async def revoke_key(self, key_id: str, at: datetime) -> ApiKey:
        """Refuse a key from now on; a second time changes nothing, and a missing one raises `NotFoundError`."""

    async def touch_key(self, key_id: str, at: datetime) -> ApiKey:
        """Note that a key was used, unless the last use noted is less than a minute before.

        A missing one raises `NotFoundError`.
        """
