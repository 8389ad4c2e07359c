"""The keys that verify a token: one in a PEM file or a secret file, or several in a JSON Web Key Set.

A key is taken only if it is of the configured algorithm, so a token can never choose how it is verified.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from recollect.errors import SettingsError
from recollect.identity.jwt_packages import (
    SECP256R1,
    Ed25519PublicKey,
    EllipticCurvePublicKey,
    RSAPublicKey,
    UnsupportedAlgorithm,
    jwt,
    load_pem_public_key,
)

#: A shorter secret can be found by trying.
LEAST_SECRET = 32
LEAST_RSA_BITS = 2048
MOST_BYTES = 1024 * 1024
SETTING = "auth.jwt_key_file"

#: What the key of each algorithm is.
_FITS: dict[str, Callable[[object], bool]] = {
    "RS256": lambda key: isinstance(key, RSAPublicKey) and key.key_size >= LEAST_RSA_BITS,
    "ES256": lambda key: isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1),
    "EdDSA": lambda key: isinstance(key, Ed25519PublicKey),
}
_NEEDED = {
    "RS256": f"an RSA public key of at least {LEAST_RSA_BITS} bits",
    "ES256": "a P-256 public key",
    "EdDSA": "an Ed25519 public key",
}


class VerifyingKeys(Protocol):
    """Find the key that verifies a token."""

    async def key_for(self, kid: str | None) -> Any:
        """Return the key that the token names, or None if there is none that could verify it."""

    async def close(self) -> None:
        """Release what it holds."""


class OneKey:
    """The only key there is, whatever a token calls it."""

    def __init__(self, key: Any) -> None:
        self._key = key

    async def key_for(self, kid: str | None) -> Any:
        """Return the key."""
        return self._key

    async def close(self) -> None:
        """Do nothing."""


class KeySet:
    """Keys by their names, read once."""

    def __init__(self, keys: dict[str | None, Any]) -> None:
        self._keys = keys

    async def key_for(self, kid: str | None) -> Any:
        """Return the key of this name."""
        return named_key(self._keys, kid)

    async def close(self) -> None:
        """Do nothing."""


def named_key(keys: dict[str | None, Any], kid: str | None) -> Any:
    """Return the key of this name; a token may leave the name out only if there is one key."""
    if kid is None and len(keys) == 1:
        return next(iter(keys.values()))
    return keys.get(kid)


class NoKeyError(Exception):
    """A document holds no key that can be used; the message says why."""


def read_keys(file: str, algorithm: str) -> VerifyingKeys:
    """Return the keys in a file, or raise `SettingsError`."""
    try:
        with Path(file).expanduser().open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as exc:
        raise SettingsError(f"{SETTING} cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc
    if len(raw) > MOST_BYTES:
        raise SettingsError(f"{SETTING} is too large for a key")
    try:
        if algorithm == "HS256":
            return OneKey(_secret(raw))
        if raw.lstrip().startswith(b"{"):
            return KeySet(_some(parsed_set(raw, algorithm), algorithm))
        return OneKey(_public(raw, algorithm))
    except NoKeyError as exc:
        raise SettingsError(f"{SETTING} {exc}") from exc


def _secret(raw: bytes) -> bytes:
    # An editor leaves a newline, which was not meant.
    secret = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(secret) < LEAST_SECRET:
        raise NoKeyError(f"holds {len(secret)} bytes; a secret for HS256 must have at least {LEAST_SECRET}")
    if secret.lstrip().startswith((b"-----BEGIN", b"ssh-", b"ecdsa-")):
        raise NoKeyError("holds a key that others know, not a secret; HS256 needs a secret, or set auth.jwt_algorithm")
    return secret


def _public(raw: bytes, algorithm: str) -> Any:
    if b"PRIVATE KEY" in raw:
        raise NoKeyError("holds a private key, which signs; give only the public one, which verifies")
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise NoKeyError("holds neither a public key in PEM nor a JSON Web Key Set") from exc
    if not _FITS[algorithm](key):
        raise NoKeyError(f"does not fit: {algorithm} needs {_NEEDED[algorithm]}")
    return key


def parsed_set(raw: bytes, algorithm: str) -> dict[str | None, Any]:
    """Return the keys of a set that fit the algorithm, by their names; others are not for us."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise NoKeyError("is no JSON Web Key Set") from exc
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise NoKeyError('is no JSON Web Key Set: it has no list "keys"')
    keys: dict[str | None, Any] = {}
    for one in listed:
        key = _from_jwk(one, algorithm)
        if key is None:
            continue
        kid = one.get("kid")
        if kid in keys:
            raise NoKeyError("holds two keys of the same kid")
        keys[kid] = key
    return keys


def _some(keys: dict[str | None, Any], algorithm: str) -> dict[str | None, Any]:
    if not keys:
        raise NoKeyError(f"holds no key for {algorithm}, which needs {_NEEDED[algorithm]}")
    return keys


def _from_jwk(one: object, algorithm: str) -> Any:
    """Return the key, or None if it is not for signatures by this algorithm."""
    if not isinstance(one, dict) or "d" in one or one.get("use", "sig") != "sig":
        return None
    if one.get("alg", algorithm) != algorithm or not isinstance(one.get("kid"), str | None):
        return None
    try:
        key = jwt.PyJWK(one, algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if _FITS[algorithm](key) else None
