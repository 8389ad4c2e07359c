"""Who calls and what they may do: API keys, and the caller that a credential stands for.

The text of a key is `rk_<id>_<secret>`: the id finds the key, and the secret proves it.
Only a digest of the secret is kept, which is enough: it is as long as it is random, so nobody can guess their way back.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime, timedelta
from typing import Literal, get_args

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_id,
    check_limit,
    check_optional_id,
    check_optional_time,
    check_text,
    check_time,
    check_type,
)
from recollect.domain.scope import DEFAULT_AGENT, Scope
from recollect.errors import ConflictError, InvalidInputError, PermissionDeniedError

Right = Literal["read", "write", "admin"]
#: Every right, the least first; none includes another.
RIGHTS: tuple[Right, ...] = get_args(Right)
#: What a caller may do if nothing else is said.
USUAL_RIGHTS: frozenset[Right] = frozenset(("read", "write"))

#: What everybody is told whose credential proves nothing, so that it does not tell what is wrong with it.
REFUSED = "the API key or token is not valid here: it is unknown, malformed, expired or revoked; get a new one"

PREFIX = "rk_"
#: When a key was last used is told to this precision, so that using it costs at most one write in that time.
USE_PRECISION = timedelta(minutes=1)

_KEY_ID = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_TEXT = re.compile(r"rk_([A-Za-z0-9-]{1,64})_([A-Za-z0-9_-]{43})\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
#: What a secret is compared with if there is no such key.
_NO_DIGEST = "0" * 64
#: Three words with dots between them, as every JWT is.
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\Z")


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key, but for its secret."""

    id: str
    #: What people call it.
    name: str
    tenant: str
    #: The user whose key it is; None is a service key, which acts for any user of the tenant.
    user: str | None
    #: The agent that acts; None is the usual one.
    agent: str | None = None
    rights: frozenset[Right] = USUAL_RIGHTS
    created_at: datetime
    #: From when on it is refused; None is never.
    expires_at: datetime | None = None
    #: Since when it is refused for good.
    revoked_at: datetime | None = None
    #: When it was last used, to the minute.
    last_used_at: datetime | None = None

    def __post_init__(self) -> None:
        check_id(self.id, "key id")
        if not _KEY_ID.match(self.id):
            raise InvalidInputError("key id must be 1 to 64 letters, digits and hyphens")
        check_id(check_text(self.name, "name"), "name")
        check_id(self.tenant, "tenant")
        check_optional_id(self.user, "user")
        if self.user == self.id:
            raise InvalidInputError("a key cannot have the id of its user")
        check_optional_id(self.agent, "agent")
        check_rights(self.rights)
        check_time(self.created_at, "created_at")
        for name in ("expires_at", "revoked_at", "last_used_at"):
            check_optional_time(getattr(self, name), name)

    @property
    def is_service(self) -> bool:
        """Tell whether it acts for users instead of being one's own."""
        return self.user is None

    @property
    def owner(self) -> Scope:
        """Return where it is kept: with its user, or by itself under its own id."""
        return Scope(self.tenant, self.user or self.id, self.agent or DEFAULT_AGENT)

    def is_valid(self, at: datetime) -> bool:
        """Tell whether it can be used at this time."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


def check_rights(rights: object) -> frozenset[Right]:
    """Return the rights if they are some that exist."""
    if not isinstance(rights, frozenset) or not rights or not rights <= set(RIGHTS):
        raise InvalidInputError(f"rights must be some of {', '.join(RIGHTS)}")
    return rights


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is kept: what is known of it, and the digest of its secret."""

    key: ApiKey
    digest: str

    def __post_init__(self) -> None:
        check_type(self.key, ApiKey, "key")
        if not _DIGEST.match(check_text(self.digest, "digest")):
            raise InvalidInputError("digest must be 64 hexadecimal digits")


def in_utc(stored: StoredKey) -> StoredKey:
    """Return the key with all its times in UTC."""
    names = ("created_at", "expires_at", "revoked_at", "last_used_at")
    times = {name: as_utc(at) for name in names if (at := getattr(stored.key, name)) is not None}
    return msgspec.structs.replace(stored, key=msgspec.structs.replace(stored.key, **times))


class KeyQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which keys to list: those of a tenant, a page at a time."""

    tenant: str
    #: The last id of the page before.
    after: str | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        check_id(self.tenant, "tenant")
        check_optional_id(self.after, "after")
        check_limit(self.limit)


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for a key: whose it is, what it may do and how long."""

    name: str
    tenant: str
    #: The user whose key it is; None is a service key.
    user: str | None
    agent: str | None = None
    rights: frozenset[Right] = USUAL_RIGHTS
    #: None is for ever.
    lifetime: timedelta | None = None

    def __post_init__(self) -> None:
        if self.lifetime is not None and check_type(self.lifetime, timedelta, "lifetime") <= timedelta(0):
            raise InvalidInputError("a key must live for some time")


class IssuedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A new key with its text, which is told this once and never again."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"IssuedKey(key={self.key!r}, text='***')"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of who calls: two headers, as they came."""

    #: The header `Authorization`.
    authorization: str | None = None
    #: The header `Recollect-User`: whom a service acts for.
    acts_for: str | None = None

    def __repr__(self) -> str:
        return "Credentials(***)"


class Caller(msgspec.Struct, frozen=True):
    """Who calls, once that is proven: whose data is touched, and what may be done to it."""

    scope: Scope
    rights: frozenset[Right]
    #: The API key that was shown; None is a JWT or the one local user.
    key_id: str | None = None

    def require(self, right: Right) -> None:
        """Refuse a caller who lacks the right."""
        if right not in self.rights:
            raise PermissionDeniedError(f"this credential may not {right}; it may {_listed(self.rights)}")


def _listed(rights: frozenset[Right]) -> str:
    return ", ".join(right for right in RIGHTS if right in rights) or "do nothing"


def is_placeholder(authorization: str) -> bool:
    """Tell whether a header only fills a place: a bearer word that is neither a key of ours nor a JWT.

    >>> [is_placeholder(f"Bearer {word}") for word in ("anything", "sk-1234", "rk_a1_x", "eyJhbGc.eyJzdWI.c2ln", "")]
    [True, True, False, False, False]
    """
    scheme, _, word = authorization.partition(" ")
    word = word.strip(" ")
    is_word = scheme.lower() == "bearer" and bool(word) and word.isascii() and word.isprintable()
    return is_word and not word.startswith(PREFIX) and not _JWT.match(word)


def key_text(key_id: str, secret: str) -> str:
    """Return what the holder of a key is given.

    >>> key_text("a1", "x" * 43)[:8]
    'rk_a1_xx'
    """
    text = f"{PREFIX}{key_id}_{secret}"
    if parsed_key(text) is None:
        raise InvalidInputError("a secret must be 43 characters that are safe in an address")
    return text


def parsed_key(text: str) -> tuple[str, str] | None:
    """Return the id and the secret of a key's text, or None if it is no such text."""
    found = _TEXT.match(text)
    return None if found is None else (found[1], found[2])


def digest_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_proven(stored: StoredKey | None, secret: str, at: datetime) -> bool:
    """Tell whether the secret is that of the key and the key is valid.

    How long it takes tells nothing of the secret, nor whether there is such a key.
    """
    expected = _NO_DIGEST if stored is None else stored.digest
    is_equal = hmac.compare_digest(expected, digest_of(secret))
    return is_equal and stored is not None and stored.key.is_valid(at)


def same_key(stored: StoredKey, new: StoredKey) -> ApiKey:
    """Return the key that is kept if it is the new one, or refuse the new one because of its id."""
    if (stored.digest, stored.key.owner, stored.key.name) != (new.digest, new.key.owner, new.key.name):
        raise ConflictError("another API key has this id; make a new one")
    return stored.key


def revoked(key: ApiKey, at: datetime) -> ApiKey:
    """Return the key, refused from now on; one that is refused already stays as it is."""
    return key if key.revoked_at is not None else msgspec.structs.replace(key, revoked_at=as_utc(at))


def used(key: ApiKey, at: datetime) -> ApiKey:
    """Return the key as used at this time, or as it is if its last use was hardly earlier."""
    if key.last_used_at is not None and at < key.last_used_at + USE_PRECISION:
        return key
    return msgspec.structs.replace(key, last_used_at=as_utc(at))
