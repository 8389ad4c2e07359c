"""What `Identity` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.identity import Caller, Credentials
from recollect.sync.signatures.keys import BlockingKeys


class BlockingIdentity(Protocol):
    """Turn credentials into the caller whose data is touched."""

    keys: BlockingKeys

    def caller(self, credentials: Credentials) -> Caller:
        """Return who calls."""

    def close(self) -> None:
        """Finish what is being noted, then release everything."""
