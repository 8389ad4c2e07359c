"""What `Keys` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.identity import ApiKey, IssuedKey, KeyQuery, NewKey


class BlockingKeys(Protocol):
    """Look after API keys."""

    def create(self, new: NewKey) -> IssuedKey:
        """Make a key and return it with its text, which nobody can tell again."""

    def list(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        """List the keys of a tenant, oldest first, those that are refused included."""

    def revoke(self, key_id: str) -> ApiKey:
        """Refuse a key from the next call on."""

    def proven(self, text: str) -> ApiKey | None:
        """Return the key whose text this is, or None if it proves nothing; that it was used is noted meanwhile."""

    def flush(self) -> None:
        """Wait for what is being noted."""
