"""What verifies tokens is set as a whole, or Recollect does not start."""

from __future__ import annotations

import pytest

from recollect.errors import SettingsError
from recollect.settings import Settings

WHOLE = {
    "auth.jwt_algorithm": "RS256",
    "auth.jwt_issuer": "https://issuer.example",
    "auth.jwt_audience": "recollect",
    "auth.jwt_key_file": "key.pem",
}
URL = "https://issuer.example/jwks.json"


def load(**more: str | None) -> Settings:
    given = WHOLE | {f"auth.{name}": value for name, value in more.items()}
    return Settings.load({name: value for name, value in given.items() if value is not None}, {})


def test_a_file_or_an_address_is_enough() -> None:
    assert load().auth.jwt_key_file == "key.pem"
    assert load(jwt_key_file=None, jwt_jwks_url=URL).auth.jwt_jwks_url == URL
    for loopback in ("http://localhost:9/keys", "http://127.0.0.1/keys", "http://[::1]:9/keys"):
        assert load(jwt_key_file=None, jwt_jwks_url=loopback).auth.jwt_jwks_url == loopback


@pytest.mark.parametrize("name", ["jwt_algorithm", "jwt_issuer", "jwt_audience", "jwt_key_file"])
def test_half_of_what_verifies_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"set auth\.{name} too"):
        load(**{name: None})
    with pytest.raises(SettingsError):
        load(**{name: ""})


def test_two_places_for_keys_are_refused() -> None:
    with pytest.raises(SettingsError, match="exclude each other"):
        load(jwt_jwks_url=URL)


def test_a_secret_is_not_published() -> None:
    with pytest.raises(SettingsError, match="HS256 needs a secret"):
        load(jwt_algorithm="HS256", jwt_key_file=None, jwt_jwks_url=URL)


@pytest.mark.parametrize(
    "address",
    [
        "http://issuer.example/jwks.json",
        "http://127.0.0.1.evil.example/keys",
        "file:///etc/keys",
        "https://",
        "https://me:secret@issuer.example/keys",
        "https://issuer.example/keys#part",
        "issuer.example/keys",
        "https://issuer.example/a b",
    ],
)
def test_an_address_where_keys_could_be_exchanged_is_refused(address: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(jwt_key_file=None, jwt_jwks_url=address)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("algorithm", ["none", "None", "HS512", "rs256", "RS256,HS256"])
def test_an_algorithm_that_is_not_one_of_ours_is_refused(algorithm: str) -> None:
    with pytest.raises(SettingsError):
        load(jwt_algorithm=algorithm)
