"""What the service needs to believe a token that somebody else signed."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.identity import Caller


class TokenVerifier(Protocol):
    """Prove who calls by a signed token."""

    async def caller(self, token: str) -> Caller:
        """Return whom the token stands for.

        Raise `UnauthenticatedError` if it proves nothing, whatever is wrong with it, and
        `ProviderUnavailableError` if the keys that could prove it cannot be had right now.
        """

    async def close(self) -> None:
        """Release what it holds."""
