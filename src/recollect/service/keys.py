"""API keys: made, listed and revoked by whoever runs the server, and looked up on every call.

The text of a key is told once, by `create`. A key is looked up in the store every time it is used and never kept here,
so that a revoked one is refused on the next call, whichever server is asked.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from datetime import datetime

from recollect.domain.checks import later
from recollect.domain.identity import (
    USE_PRECISION,
    ApiKey,
    IssuedKey,
    KeyQuery,
    NewKey,
    StoredKey,
    digest_of,
    is_proven,
    key_text,
    parsed_key,
)
from recollect.errors import RecollectError
from recollect.ports.clock import Clock
from recollect.ports.keys import KeyStore

_log = logging.getLogger(__name__)

#: Of so many keys at most it is remembered when their use was last noted.
MOST_REMEMBERED = 10_000


def new_secret() -> str:
    """Return 32 random bytes in 43 characters that are safe in an address."""
    return secrets.token_urlsafe(32)


class Keys:
    """Look after API keys."""

    def __init__(
        self,
        store: KeyStore,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        new_secret: Callable[[], str] = new_secret,
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._new_secret = new_secret
        self._noted: dict[str, datetime] = {}
        self._noting: set[asyncio.Task[None]] = set()

    async def create(self, new: NewKey) -> IssuedKey:
        """Make a key and return it with its text, which nobody can tell again."""
        secret, now = self._new_secret(), self._clock()
        key = ApiKey(
            id=self._new_id(),
            name=new.name,
            tenant=new.tenant,
            user=new.user,
            agent=new.agent,
            rights=new.rights,
            created_at=now,
            expires_at=None if new.lifetime is None else later(now, new.lifetime),
        )
        text = key_text(key.id, secret)
        await self._store.create_key(StoredKey(key=key, digest=digest_of(secret)))
        return IssuedKey(key=key, text=text)

    async def list(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        """List the keys of a tenant, oldest first, those that are refused included."""
        return await self._store.list_keys(query)

    async def revoke(self, key_id: str) -> ApiKey:
        """Refuse a key from the next call on."""
        return await self._store.revoke_key(key_id, self._clock())

    async def proven(self, text: str) -> ApiKey | None:
        """Return the key whose text this is, or None if it proves nothing; that it was used is noted meanwhile."""
        parsed = parsed_key(text)
        if parsed is None:
            return None
        key_id, secret = parsed
        stored, now = await self._store.find_key(key_id), self._clock()
        if stored is None or not is_proven(stored, secret, now):
            return None
        self._note_use(stored.key, now)
        return stored.key

    async def flush(self) -> None:
        """Wait for what is being noted."""
        while self._noting:
            await asyncio.wait(self._noting)

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        """Note that a key was used, at most once a minute and without letting anybody wait for it."""
        for last in (key.last_used_at, self._noted.get(key.id)):
            if last is not None and now < last + USE_PRECISION:
                return
        if len(self._noted) >= MOST_REMEMBERED:
            self._noted.clear()
        self._noted[key.id] = now
        noting = asyncio.create_task(self._note(key.id, now))
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)

    async def _note(self, key_id: str, at: datetime) -> None:
        try:
            await self._store.touch_key(key_id, at)
        except RecollectError as exc:
            _log.warning("that an API key was used cannot be noted: %s", exc.code)
