"""The text of a key, what is kept of it, and what a caller may do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain import identity
from recollect.domain.identity import (
    ApiKey,
    Caller,
    Credentials,
    IssuedKey,
    NewKey,
    StoredKey,
    digest_of,
    is_proven,
    key_text,
    parsed_key,
)
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError, PermissionDeniedError
from recollect.service.keys import new_secret
from recollect.testing.samples import ALICE, after, api_key

SECRET = "s" * 43
ALPHABET = "abcXYZ019_-"


def key(**more: Any) -> ApiKey:
    return msgspec.structs.replace(api_key("k1", ALICE).key, **more)


@given(st.text("abcXYZ019-", min_size=1, max_size=64), st.text(ALPHABET, min_size=43, max_size=43))
def test_the_text_of_a_key_gives_back_its_parts(key_id: str, secret: str) -> None:
    assert parsed_key(key_text(key_id, secret)) == (key_id, secret)


@given(st.text(max_size=200))
def test_other_text_is_no_key(text: str) -> None:
    assert parsed_key(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"rk_{SECRET}",
        f"rk__{SECRET}",
        f"RK_k1_{SECRET}",
        f"rk_k1_{SECRET}x",
        f"rk_k1_{SECRET[1:]}",
        f"rk_k1_{SECRET}\n",
        f" rk_k1_{SECRET}",
        f"rk_k 1_{SECRET}",
        f"rk_{'k' * 65}_{SECRET}",
        f"rk_k1_{SECRET[1:]}é",
        f"rk_k1_{SECRET[1:]}\u0660",
    ],
)
def test_nearly_a_key_is_no_key(text: str) -> None:
    assert parsed_key(text) is None


def test_a_secret_has_32_random_bytes() -> None:
    made = {new_secret() for _ in range(1_000)}
    assert len(made) == 1_000
    assert {len(one) for one in made} == {43}
    assert all(parsed_key(key_text("k1", one)) == ("k1", one) for one in made)


def test_a_text_is_made_only_of_a_whole_secret() -> None:
    with pytest.raises(InvalidInputError, match="43 characters"):
        key_text("k1", "short")


def test_a_key_is_proven_by_its_own_secret_only() -> None:
    stored = StoredKey(key=key(), digest=digest_of(SECRET))
    assert is_proven(stored, SECRET, after(1))
    assert not is_proven(stored, "t" * 43, after(1))
    assert not is_proven(None, SECRET, after(1))


def test_no_secret_proves_a_key_that_is_not_there() -> None:
    assert not any(is_proven(None, secret, after(1)) for secret in ("", "0" * 64, identity._NO_DIGEST))


def test_secrets_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr("recollect.domain.identity.hmac.compare_digest", compare)
    stored = StoredKey(key=key(revoked_at=after(0)), digest=digest_of(SECRET))
    for one in (None, stored):
        assert not is_proven(one, SECRET, after(1))
    # As much is compared for a key that is not there or revoked as for any other.
    assert [len(expected) for expected, _ in compared] == [64, 64]
    assert {given for _, given in compared} == {digest_of(SECRET)}


def test_a_key_is_valid_until_it_expires_or_is_revoked() -> None:
    assert key().is_valid(after(10**9))
    assert key(expires_at=after(5)).is_valid(after(4.999))
    assert not key(expires_at=after(5)).is_valid(after(5))
    assert not key(revoked_at=after(99)).is_valid(after(1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "a_b"},
        {"id": ""},
        {"id": "alice"},
        {"name": ""},
        {"name": "a\nb"},
        {"user": ""},
        {"tenant": "\0"},
        {"rights": frozenset()},
        {"rights": frozenset({"fly"})},
        {"rights": {"read"}},
        {"expires_at": "soon"},
    ],
)
def test_a_wrong_part_of_a_key_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        key(**wrong)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=-1), 5])
def test_a_key_that_would_not_live_is_refused(lifetime: Any) -> None:
    with pytest.raises(InvalidInputError):
        NewKey(name="laptop", tenant="acme", user="alice", lifetime=lifetime)


def test_a_service_key_is_kept_under_its_own_id() -> None:
    assert key().owner == ALICE
    assert key(user=None, agent="guide").owner == Scope("acme", "k1", "guide")
    assert (key().is_service, key(user=None).is_service) == (False, True)


def test_a_caller_may_do_only_what_the_credential_allows() -> None:
    reader = Caller(ALICE, frozenset({"read"}))
    reader.require("read")
    with pytest.raises(PermissionDeniedError, match="may not write; it may read"):
        reader.require("write")
    with pytest.raises(PermissionDeniedError, match="do nothing"):
        Caller(ALICE, frozenset()).require("read")
    with pytest.raises(PermissionDeniedError):
        # No right includes another.
        Caller(ALICE, frozenset({"admin"})).require("read")


def test_nothing_prints_a_credential() -> None:
    issued = IssuedKey(key=key(), text=key_text("k1", SECRET))
    assert SECRET not in repr(issued)
    assert SECRET not in repr(Credentials(authorization=f"Bearer {issued.text}"))
