"""API keys in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from recollect.domain import identity as rule
from recollect.domain.identity import ApiKey, KeyQuery, StoredKey
from recollect.errors import NotFoundError
from recollect.storage.inmemory.shelves import Shelves


class KeyShelf(Shelves):
    """Keep API keys."""

    async def create_key(self, new: StoredKey) -> ApiKey:
        stored = await self.find_key(new.key.id)
        if stored is not None:
            return rule.same_key(stored, new)
        with self._writing(new.key.owner) as data:
            data.keys[new.key.id] = rule.in_utc(new)
        return new.key

    async def find_key(self, wanted: str) -> StoredKey | None:
        self._refuse_if_closed()
        for data in self._users.values():
            if wanted in data.keys:
                return data.keys[wanted]
        return None

    async def list_keys(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        self._refuse_if_closed()
        keys = [stored.key for data in self._users.values() for stored in data.keys.values()]
        listed = [key for key in keys if key.tenant == query.tenant and key.id > (query.after or "")]
        return tuple(sorted(listed, key=lambda key: key.id)[: query.limit])

    async def revoke_key(self, key_id: str, at: datetime) -> ApiKey:
        return await self._change_key(key_id, lambda key: rule.revoked(key, at))

    async def touch_key(self, key_id: str, at: datetime) -> ApiKey:
        return await self._change_key(key_id, lambda key: rule.used(key, at))

    async def _change_key(self, key_id: str, changed: Callable[[ApiKey], ApiKey]) -> ApiKey:
        stored = await self.find_key(key_id)
        if stored is None:
            raise NotFoundError("there is no API key with this id")
        key = changed(stored.key)
        with self._writing(stored.key.owner) as data:
            data.keys[key_id] = msgspec.structs.replace(stored, key=key)
        return key
