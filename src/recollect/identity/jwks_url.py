"""A JSON Web Key Set that an issuer publishes at an address and changes when it rolls its keys over.

What was fetched is used for as long as the issuer cannot be reached; only a token that names a key we have never
seen then waits. No redirect is followed, and no proxy is taken from the environment.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Any

import httpx2

from recollect.errors import ProviderUnavailableError
from recollect.identity.verifying_keys import NoKeyError, named_key, parsed_set
from recollect.ports.clock import Clock

_log = logging.getLogger(__name__)

#: How long a fetch may take, in seconds.
TIMEOUT = 5.0
#: Unknown names do not make us fetch more often than this.
LEAST_PAUSE = timedelta(minutes=1)
#: A key that the issuer has withdrawn is believed no longer than this.
MOST_AGE = timedelta(minutes=10)
MOST_BYTES = 256 * 1024


class PublishedKeys:
    """The keys at an address, fetched when a token needs them."""

    def __init__(
        self, url: str, algorithm: str, clock: Clock, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._url = url
        self._algorithm = algorithm
        self._clock = clock
        self._transport = transport
        self._keys: dict[str | None, Any] = {}
        self._tried_at: datetime | None = None
        self._has_failed = False
        self._fetching: asyncio.Task[None] | None = None

    async def key_for(self, kid: str | None) -> Any:
        """Return the key of this name; fetch the set again if it has none, but not too often."""
        key = named_key(self._keys, kid)
        if key is not None:
            if self._is_older_than(MOST_AGE):
                self._fetch()
            return key
        if self._fetching is not None or self._is_older_than(LEAST_PAUSE):
            # Whoever waits may be cancelled; the others still want the answer.
            await asyncio.shield(self._fetch())
            key = named_key(self._keys, kid)
        if key is None and self._has_failed:
            raise ProviderUnavailableError("the keys that verify tokens cannot be fetched right now; try again later")
        return key

    async def close(self) -> None:
        """Give up a fetch that is under way."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait({self._fetching})

    def _is_older_than(self, age: timedelta) -> bool:
        return self._tried_at is None or abs(self._clock() - self._tried_at) >= age

    def _fetch(self) -> asyncio.Task[None]:
        """Begin to fetch unless that is under way."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch_once())
            self._fetching.add_done_callback(self._ended)
        return self._fetching

    def _ended(self, fetching: asyncio.Task[None]) -> None:
        self._fetching = None

    async def _fetch_once(self) -> None:
        self._tried_at = self._clock()
        try:
            async with asyncio.timeout(TIMEOUT):
                self._keys = parsed_set(await self._document(), self._algorithm)
            self._has_failed = False
        except (httpx2.HTTPError, httpx2.InvalidURL, NoKeyError, OSError, TimeoutError) as exc:
            self._has_failed = True
            _log.warning("the keys that verify tokens cannot be fetched: %s", type(exc).__name__)

    async def _document(self) -> bytes:
        headers = {"accept": "application/jwk-set+json, application/json", "accept-encoding": "identity"}
        client = httpx2.AsyncClient(transport=self._transport, timeout=TIMEOUT, trust_env=False, headers=headers)
        async with client, client.stream("GET", self._url) as response:
            # A compressed answer could unfold beyond any limit.
            if response.status_code != 200 or "content-encoding" in response.headers:
                raise NoKeyError(f"answers {response.status_code}")
            raw = b""
            async for part in response.aiter_bytes():
                raw += part
                if len(raw) > MOST_BYTES:
                    raise NoKeyError("is too large for a set of keys")
            return raw
