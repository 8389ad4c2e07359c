"""Verify a JSON Web Token: signature, issuer, audience and times, by what the settings say and never the token.

The algorithm is the configured one, the key is of that algorithm, and every refusal reads the same, so that nobody
learns from it what to try next.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

import msgspec

from recollect.domain.identity import REFUSED, RIGHTS, USUAL_RIGHTS, Caller, Right
from recollect.domain.scope import DEFAULT_AGENT, DEFAULT_TENANT, Scope
from recollect.errors import InvalidInputError, SettingsError, UnauthenticatedError
from recollect.identity.jwt_packages import jwt
from recollect.identity.verifying_keys import VerifyingKeys, read_keys
from recollect.ports.clock import Clock
from recollect.settings.groups import AuthSettings

#: How far the clocks of the issuer and ours may be apart.
LEEWAY = timedelta(seconds=30)
MOST_CHARACTERS = 16 * 1024


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a token must be signed with, and by and for whom."""

    algorithm: str
    issuer: str
    audience: str

    def __post_init__(self) -> None:
        # An empty one would match a token that names nobody.
        if not (self.algorithm and self.issuer and self.audience):
            raise SettingsError("a JWT is believed only if its algorithm, its issuer and its audience are set")


class JwtVerifier:
    """Believe the tokens of one issuer."""

    def __init__(self, expected: Expected, keys: VerifyingKeys, clock: Clock) -> None:
        self._expected = expected
        self._keys = keys
        self._clock = clock

    async def caller(self, token: str) -> Caller:
        """Return whom the token stands for; the port tells how it is refused."""
        kid = self._named_key(token)
        key = await self._keys.key_for(kid)
        if key is None:
            _refuse()
        claims = self._claims(token, key)
        self._check_times(claims)
        return _caller(claims)

    async def close(self) -> None:
        """Release the keys."""
        await self._keys.close()

    def _named_key(self, token: str) -> str | None:
        """Return what the token calls its key, once its form is right; nothing of it is believed yet."""
        if len(token) > MOST_CHARACTERS or not token.isascii():
            _refuse()
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError):
            _refuse()
        kid = header.get("kid")
        if header.get("alg") != self._expected.algorithm or "crit" in header or not isinstance(kid, str | None):
            _refuse()
        return kid

    def _claims(self, token: str, key: Any) -> dict[str, Any]:
        expected = self._expected
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[expected.algorithm],
                issuer=expected.issuer,
                audience=expected.audience,
                # Times are compared below, with our own clock.
                options={
                    "require": ["iss", "aud", "exp", "sub"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            _refuse()

    def _check_times(self, claims: dict[str, Any]) -> None:
        now, leeway = self._clock().timestamp(), LEEWAY.total_seconds()
        if now >= _number(claims["exp"]) + leeway:
            _refuse()
        if "nbf" in claims and now < _number(claims["nbf"]) - leeway:
            _refuse()


def _number(value: object) -> float:
    """Return a time of a token; what is no number is no time, and NaN is before and after nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        _refuse()
    return value


def _caller(claims: dict[str, Any]) -> Caller:
    try:
        scope = Scope(claims.get("tenant", DEFAULT_TENANT), claims["sub"], claims.get("agent", DEFAULT_AGENT))
    except InvalidInputError:
        _refuse()
    return Caller(scope, _rights(claims))


def _rights(claims: dict[str, Any]) -> frozenset[Right]:
    """Return what the token allows; words that are not ours are for somebody else."""
    if "scope" not in claims:
        return USUAL_RIGHTS
    told = claims["scope"]
    if not isinstance(told, str):
        _refuse()
    words = told.split()
    return frozenset(right for right in RIGHTS if right in words)


def _refuse() -> NoReturn:
    raise UnauthenticatedError(REFUSED) from None


def open_jwt_verifier(auth: AuthSettings, clock: Clock) -> JwtVerifier:
    """Return what verifies tokens by the settings.

    Raise `SettingsError` if its key cannot be used; an address is asked only when a token comes.
    """
    expected = Expected(
        algorithm=auth.jwt_algorithm or "", issuer=auth.jwt_issuer or "", audience=auth.jwt_audience or ""
    )
    if auth.jwt_jwks_url:
        from recollect.identity.jwks_url import PublishedKeys

        return JwtVerifier(expected, PublishedKeys(auth.jwt_jwks_url, expected.algorithm, clock), clock)
    return JwtVerifier(expected, read_keys(auth.jwt_key_file or "", expected.algorithm), clock)
