"""A token is believed for its configured signature, issuer, audience and time, and refused in one way for all else."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from recollect.domain.identity import REFUSED, Caller
from recollect.domain.scope import Scope
from recollect.errors import SettingsError, UnauthenticatedError
from recollect.identity.choose import open_verifier
from recollect.identity.jwt import Expected, JwtVerifier, open_jwt_verifier
from recollect.settings import AuthSettings
from recollect.testing.clock import START, FakeClock

ISSUER, AUDIENCE = "https://issuer.example", "recollect"
SECRET = b"a secret of more than thirty-two bytes"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
PRIVATE: dict[str, Any] = {"RS256": RSA, "ES256": EC, "EdDSA": ED, "HS256": SECRET}


def pem(private: Any) -> bytes:
    encoded: bytes = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def jwk(private: Any, **more: Any) -> dict[str, Any]:
    kinds = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    algorithm: Any = next(found for kind, found in kinds.items() if isinstance(private, kind))
    return {**json.loads(algorithm.to_jwk(private.public_key())), **more}


def seconds(at: datetime) -> int:
    return int(at.timestamp())


def claims(**more: Any) -> dict[str, Any]:
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": seconds(START) + 60}
    return {name: value for name, value in (usual | more).items() if value is not ...}


def signed(given: dict[str, Any] | None = None, key: Any = RSA, alg: str = "RS256", **header: Any) -> str:
    return jwt.encode(claims() if given is None else given, key, algorithm=alg, headers=header)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


Make = Callable[..., JwtVerifier]


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock) -> Make:
    def made(algorithm: Any = "RS256", content: bytes | None = None) -> JwtVerifier:
        file = tmp_path / "key"
        if content is None:
            content = SECRET if algorithm == "HS256" else pem(PRIVATE[algorithm])
        file.write_bytes(content)
        auth = AuthSettings(
            jwt_algorithm=algorithm, jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_key_file=str(file), mode="token"
        )
        return open_jwt_verifier(auth, clock)

    return made


async def refused(verifier: JwtVerifier, token: str) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        await verifier.caller(token)
    assert str(caught.value) == REFUSED
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("algorithm", ["HS256", "RS256", "ES256", "EdDSA"])
async def test_a_token_of_the_configured_algorithm_is_believed(algorithm: str, make: Make) -> None:
    verifier = make(algorithm)
    assert await verifier.caller(signed(key=PRIVATE[algorithm], alg=algorithm)) == Caller(
        Scope("default", "alice", "assistant"), frozenset({"read", "write"})
    )


@pytest.mark.parametrize("configured", ["HS256", "RS256", "ES256", "EdDSA"])
async def test_a_token_of_any_other_algorithm_is_refused(configured: str, make: Make) -> None:
    verifier = make(configured)
    for algorithm in {*PRIVATE, "HS512", "RS512", "PS256"} - {configured}:
        key = PRIVATE.get(algorithm, SECRET * 2 if algorithm.startswith("HS") else RSA)
        await refused(verifier, signed(key=key, alg=algorithm))


@pytest.mark.parametrize("none", ["none", "None", "NONE", "nOnE", ""])
async def test_an_unsigned_token_is_refused(none: str, make: Make) -> None:
    for algorithm in PRIVATE:
        verifier = make(algorithm)
        for ending in ("", "AAAA"):
            await refused(verifier, f"{part({'alg': none, 'typ': 'JWT'})}.{part(claims())}.{ending}")
            await refused(verifier, f"{part({'alg': algorithm})}.{part(claims())}.{ending}")


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def hs256(key: bytes, header: dict[str, Any]) -> str:
    """Sign by hand, since no library does this on purpose."""
    import hashlib
    import hmac

    body = f"{part(header)}.{part(claims())}"
    digest = hmac.digest(key, body.encode(), hashlib.sha256)
    return f"{body}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


async def test_the_public_key_is_no_secret(make: Make) -> None:
    verifier = make("RS256")
    for key in (pem(RSA), pem(RSA).rstrip(b"\n"), json.dumps(jwk(RSA)).encode()):
        for algorithm in ("HS256", "RS256"):
            await refused(verifier, hs256(key, {"alg": algorithm, "typ": "JWT"}))


async def test_a_token_brings_no_key_of_its_own(make: Make) -> None:
    verifier = make("RS256")
    for header in ({"jwk": jwk(OTHER_RSA)}, {"jku": "https://evil.example/keys"}, {"x5u": "https://evil.example"}):
        await refused(verifier, signed(key=OTHER_RSA, **header))


async def test_a_token_with_parts_that_must_be_understood_is_refused(make: Make) -> None:
    await refused(make("RS256"), signed(crit=["exp"]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://evil.example"},
        {"iss": f"{ISSUER}/"},
        {"iss": [ISSUER]},
        {"iss": None},
        {"iss": ...},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": []},
        {"aud": AUDIENCE + "x"},
        {"aud": ...},
        {"sub": ...},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "x" * 129},
        {"sub": 7},
        {"sub": None},
        {"exp": ...},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": 10**400},
        {"nbf": "now"},
        {"nbf": float("nan")},
        {"tenant": ""},
        {"tenant": 5},
        {"tenant": None},
        {"agent": "\0"},
        {"agent": ["guide"]},
        {"scope": ["read"]},
        {"scope": None},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(wrong: dict[str, Any], make: Make) -> None:
    given = claims(**wrong)
    token = jwt.PyJWS().encode(json.dumps(given).encode(), RSA, algorithm="RS256")
    await refused(make("RS256"), token)


async def test_a_token_is_believed_between_its_times_and_half_a_minute_around_them(
    make: Make, clock: FakeClock
) -> None:
    verifier = make("RS256")
    token = signed(claims(nbf=seconds(START) + 100, exp=seconds(START) + 200, iat=seconds(START) + 100))
    clock.advance(seconds=69)
    await refused(verifier, token)
    clock.advance(seconds=1)
    await verifier.caller(token)
    clock.advance(seconds=159)
    await verifier.caller(token)
    clock.advance(seconds=1)
    await refused(verifier, token)


async def test_claims_name_the_scope_and_the_rights(make: Make) -> None:
    verifier = make("RS256")

    async def caller(**more: Any) -> Caller:
        return await verifier.caller(signed(claims(**more)))

    named = await caller(tenant="acme", agent="guide", aud=["other", AUDIENCE], sub="Ålice 茶")
    assert named.scope == Scope("acme", "Ålice 茶", "guide")
    assert named.key_id is None
    assert (await caller(scope="read")).rights == {"read"}
    assert (await caller(scope="openid admin write")).rights == {"admin", "write"}
    assert (await caller(scope="openid readwrite")).rights == frozenset()
    assert (await caller(scope="")).rights == frozenset()


async def test_a_token_that_is_no_token_is_refused(make: Make) -> None:
    verifier = make("RS256")
    whole = signed()
    head, body, signature = whole.split(".")
    cut = [whole[:length] for length in range(0, len(whole), 7)]
    odd = ["", ".", "..", "a.b.c", "é.é.é", "\ud800.a.b", "\0", f"{whole}.x", f"{head}.{body}", f"{head}..{signature}"]
    odd += [f"{head}.{part(claims(sub='bob'))}.{signature}", f"{part([])}.{body}.{signature}"]
    odd += [f"{part({'alg': 'RS256', 'kid': 7})}.{body}.{signature}", "x" * 16_385, f"{head}.{'a' * 20_000}.x"]
    deep = base64.urlsafe_b64encode(b"[" * 8_000).rstrip(b"=").decode()
    odd += [f"{deep}.{body}.{signature}", f"{whole[:-4]}AAAA"]
    for token in (*cut, *odd):
        await refused(verifier, token)


async def test_a_huge_token_is_refused_although_it_is_signed(make: Make) -> None:
    verifier = make("RS256")
    assert (await verifier.caller(signed(claims(pad="x" * 8_000)))).scope.user == "alice"
    await refused(verifier, signed(claims(pad="x" * 16_384)))


async def test_the_key_set_of_a_file_is_chosen_from_by_name(make: Make) -> None:
    keys = [
        jwk(RSA, kid="new", use="sig", alg="RS256"),
        jwk(OTHER_RSA, kid="old"),
        jwk(EC, kid="curve"),
        {"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(SECRET).decode()},
        jwk(RSA, kid="for encryption", use="enc"),
        jwk(RSA, kid="of another algorithm", alg="PS256"),
        {"kty": "RSA", "kid": "broken"},
        "nothing",
    ]
    verifier = make("RS256", json.dumps({"keys": keys}).encode())
    await verifier.caller(signed(kid="new"))
    await verifier.caller(signed(key=OTHER_RSA, kid="old"))
    await refused(verifier, signed(key=RSA, kid="old"))
    for kid in ("curve", "shared", "for encryption", "of another algorithm", "broken", "unknown", "", "../new"):
        await refused(verifier, signed(kid=kid))
    await refused(verifier, signed())
    await refused(verifier, signed(key=EC, alg="ES256", kid="curve"))
    await refused(verifier, signed(key=SECRET, alg="HS256", kid="shared"))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_a_set_of_one_key_needs_no_name(algorithm: str, make: Make) -> None:
    document = {"keys": [jwk(PRIVATE[algorithm], kid="only"), jwk(EC if algorithm != "ES256" else RSA)]}
    verifier = make(algorithm, json.dumps(document).encode())
    await verifier.caller(signed(key=PRIVATE[algorithm], alg=algorithm))
    await refused(verifier, signed(key=PRIVATE[algorithm], alg=algorithm, kid="other"))


SMALL = rsa.generate_private_key(public_exponent=65537, key_size=1024)
PRIVATE_PEM = RSA.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)


@pytest.mark.parametrize(
    ("algorithm", "content", "problem"),
    [
        ("HS256", b"", "holds 0 bytes"),
        ("HS256", b"x" * 31 + b"\n", "holds 31 bytes"),
        ("HS256", pem(RSA), "not a secret"),
        ("RS256", b"", "neither a public key"),
        ("RS256", b"nonsense", "neither a public key"),
        ("RS256", pem(EC), "RS256 needs an RSA public key of at least 2048 bits"),
        ("RS256", pem(SMALL), "of at least 2048 bits"),
        ("RS256", PRIVATE_PEM, "private key"),
        ("ES256", pem(ec.generate_private_key(ec.SECP384R1())), "P-256"),
        ("ES256", pem(RSA), "P-256"),
        ("EdDSA", pem(RSA), "Ed25519"),
        ("RS256", b"{", "is no JSON Web Key Set"),
        ("RS256", b"{}", "has no list"),
        ("RS256", b'{"keys": []}', "holds no key for RS256"),
        ("RS256", json.dumps({"keys": [jwk(EC, kid="a")]}).encode(), "holds no key for RS256"),
        ("RS256", json.dumps({"keys": [jwk(SMALL, kid="a")]}).encode(), "holds no key for RS256"),
        ("RS256", json.dumps({"keys": [jwk(RSA, kid="a"), jwk(OTHER_RSA, kid="a")]}).encode(), "same kid"),
        ("RS256", b"x" * (1024 * 1024 + 1), "too large"),
    ],
)
def test_a_key_that_cannot_verify_refuses_to_start(algorithm: str, content: bytes, problem: str, make: Make) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        make(algorithm, content)
    assert "auth.jwt_key_file" in str(caught.value)


def test_a_key_file_that_is_missing_refuses_to_start(tmp_path: Path, clock: FakeClock) -> None:
    for file in (tmp_path / "missing", tmp_path):
        auth = AuthSettings(jwt_algorithm="RS256", jwt_issuer="i", jwt_audience="a", jwt_key_file=str(file))
        with pytest.raises(SettingsError, match=r"auth.jwt_key_file cannot be read"):
            open_jwt_verifier(auth, clock)


def test_the_newline_of_an_editor_is_not_part_of_a_secret(make: Make) -> None:
    make("HS256", SECRET + b"\n")


def test_nothing_is_compared_with_a_value_that_is_not_set(clock: FakeClock) -> None:
    assert open_verifier(AuthSettings(), clock) is None
    with pytest.raises(SettingsError):
        open_jwt_verifier(AuthSettings(jwt_key_file="key"), clock)
    for unset in ({"algorithm": ""}, {"issuer": ""}, {"audience": ""}):
        with pytest.raises(SettingsError):
            Expected(**{"algorithm": "RS256", "issuer": ISSUER, "audience": AUDIENCE} | unset)
