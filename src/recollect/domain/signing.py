"""Words that prove who gave them: what they say, and a signature that only a server on the same database can make.

Whose word it is stands in it, and the key is that user's own, so a word of one user proves nothing of another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import datetime

import msgspec

from recollect.domain.checks import check_id, check_time
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError

#: A longer word is none of ours.
MAX_WORD = 4_000


class ArchivePass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lets its holder archive messages of one session for a while, and nothing else."""

    tenant: str
    user: str
    agent: str
    session_id: str
    expires_at: datetime

    def __post_init__(self) -> None:
        for name in ("tenant", "user", "agent", "session_id"):
            check_id(getattr(self, name), name)
        check_time(self.expires_at, "expires_at")

    @property
    def scope(self) -> Scope:
        """Return whose session it is."""
        return Scope(self.tenant, self.user, self.agent)


def derived_key(salt: bytes, scope: Scope, purpose: str) -> bytes:
    """Return the secret of a user for one purpose, from which nobody finds the salt or another secret."""
    digest = hashlib.blake2b(key=salt, digest_size=32, person=b"signing key")
    for part in (purpose, scope.tenant, scope.user):
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


def signed(given: ArchivePass, key: bytes) -> str:
    """Return the word for a pass.

    >>> from datetime import UTC
    >>> one = ArchivePass(tenant="t", user="u", agent="a", session_id="s", expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> claimed(signed(one, b"k" * 32)) == one, is_signed(signed(one, b"k" * 32), b"k" * 32)
    (True, True)
    """
    said = _written(msgspec.json.encode(given))
    return f"{said}.{_written(_signature(said, key))}"


def claimed(word: str) -> ArchivePass | None:
    """Return what a word says, whoever wrote it, or None if it says nothing."""
    if len(word) > MAX_WORD or not word.isascii():
        return None
    try:
        return msgspec.json.decode(_read(word.partition(".")[0]), type=ArchivePass)
    except (binascii.Error, ValueError, InvalidInputError):
        return None


def is_signed(word: str, key: bytes) -> bool:
    """Tell whether the holder of the key wrote the word; how long it takes tells nothing of the signature."""
    said, _, signature = word.partition(".")
    return hmac.compare_digest(_written(_signature(said, key)).encode(), signature.encode())


def _signature(said: str, key: bytes) -> bytes:
    return hmac.new(key, said.encode(), hashlib.sha256).digest()


def _written(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read(word: str) -> bytes:
    return base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
