"""Secrets of every known shape are taken out, and what only looks like one stays."""

from __future__ import annotations

import hashlib
import random
import string
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain import secrets
from recollect.domain.secret_shapes import PHRASES
from recollect.domain.secret_shapes import SHAPES as KNOWN_SHAPES
from recollect.domain.secrets import Redaction, redacted
from recollect.extraction.rules import extract_by_rules
from tests.support.extraction import request, said

_CHANCE = random.Random(7)
_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def drawn(length: int, letters: str = _ALNUM) -> str:
    """Return a text with a digit and a letter in it, as a key has."""
    return "a1" + "".join(_CHANCE.choice(letters) for _ in range(length - 2))


def upper(length: int) -> str:
    return drawn(length, string.ascii_uppercase + string.digits).upper()


#: The kind that is found, and a secret of it; put together here, so that no scanner takes the file for a leak.
SHAPES = {
    "openai project": ("openai key", "sk-proj-" + drawn(48)),
    "openai service account": ("openai key", "sk-svcacct-" + drawn(48)),
    "openai legacy": ("api key", "sk-" + drawn(48)),
    "anthropic": ("anthropic key", "sk-ant-api03-" + drawn(80)),
    "openrouter": ("openrouter key", "sk-or-v1-" + drawn(64, _HEX)),
    "aws id": ("aws key", "AKIA" + upper(16)),
    "aws session": ("aws key", "ASIA" + upper(16)),
    "aws secret": ("key", "aws_secret_access_key = " + drawn(40)),
    "github personal": ("github token", "ghp_" + drawn(36)),
    "github server": ("github token", "ghs_" + drawn(36)),
    "github fine-grained": ("github token", "github_pat_" + drawn(22) + "_" + drawn(59)),
    "gitlab": ("gitlab token", "glpat-" + drawn(20)),
    "slack bot": ("slack token", "xoxb-123456789012-" + drawn(24)),
    "slack app": ("slack token", "xapp-1-" + drawn(40)),
    "slack webhook": ("slack webhook", "https://hooks.slack.com/services/T0001/B0001/" + drawn(24)),
    "stripe secret": ("stripe key", "sk_live_" + drawn(24)),
    "stripe restricted": ("stripe key", "rk_test_" + drawn(24)),
    "stripe webhook": ("stripe key", "whsec_" + drawn(32)),
    "google key": ("google key", "AIza" + drawn(35)),
    "google secret": ("google secret", "GOCSPX-" + drawn(28)),
    "google token": ("google token", "ya29." + drawn(60)),
    "azure storage": ("azure key", "AccountName=x;AccountKey=" + drawn(86) + "=="),
    "azure signature": ("azure signature", "https://x.blob.core.windows.net/c?sv=1&sig=" + drawn(40)),
    "azure client": ("azure secret", "abc8Q~" + drawn(34)),
    "npm": ("npm token", "npm_" + drawn(36)),
    "pypi": ("pypi token", "pypi-" + drawn(80)),
    "sendgrid": ("sendgrid key", "SG." + drawn(22) + "." + drawn(43)),
    "twilio": ("twilio key", "SK" + drawn(32, _HEX)),
    "hugging face": ("hugging face token", "hf_" + drawn(34)),
    "telegram": ("telegram token", "123456789:" + drawn(35)),
    "discord bot": ("discord token", "M" + drawn(23) + "." + drawn(6) + "." + drawn(27)),
    "discord webhook": ("discord webhook", "https://discord.com/api/webhooks/123456789012345678/" + drawn(60)),
    "jwt": ("jwt", "eyJ" + drawn(20) + ".eyJ" + drawn(40) + "." + drawn(43)),
    "rsa key": ("private key", f"-----BEGIN RSA PRIVATE KEY-----\n{drawn(64)}\n-----END RSA PRIVATE KEY-----"),
    "openssh key": ("private key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{drawn(64)}\n"),
    "pgp key": (
        "private key",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{drawn(9)}\n-----END PGP PRIVATE KEY BLOCK-----",
    ),
    "age key": ("private key", "AGE-SECRET-KEY-1" + upper(58)),
    "digitalocean": ("digitalocean token", "dop_v1_" + drawn(64, _HEX)),
    "shopify": ("shopify token", "shpat_" + drawn(32, _HEX)),
    "mailgun": ("mailgun key", "key-" + drawn(32, _HEX)),
    "mailchimp": ("mailchimp key", drawn(32, _HEX) + "-us12"),
    "databricks": ("databricks token", "dapi" + drawn(32, _HEX)),
    "linear": ("linear key", "lin_api_" + drawn(40)),
    "notion": ("notion token", "ntn_" + drawn(46)),
    "postman": ("postman key", "PMAK-" + drawn(24, _HEX) + "-" + drawn(34, _HEX)),
    "grafana": ("grafana token", "glsa_" + drawn(32)),
    "new relic": ("new relic key", "NRAK-" + upper(27)),
    "vault": ("vault token", "hvs." + drawn(90)),
    "groq": ("groq key", "gsk_" + drawn(52)),
    "replicate": ("replicate token", "r8_" + drawn(37)),
    "docker": ("docker token", "dckr_pat_" + drawn(27)),
    "atlassian": ("atlassian token", "ATATT3" + drawn(60)),
    "database address": ("password in a url", "postgresql://bob:s3cr3t-Word@db.example.org/main"),
    "basic auth in a url": ("password in a url", "https://bob:hunter2@example.org/"),
    "bearer": ("bearer token", "Authorization: Bearer " + drawn(40)),
    "basic auth": ("basic auth", "Authorization: Basic " + drawn(24)),
    "assignment": ("key", 'api_key = "' + drawn(24) + '"'),
    "client secret": ("key", "client_secret: " + drawn(24)),
    "visa": ("card", "4111 1111 1111 1111"),
    "mastercard": ("card", "5555-5555-5555-4444"),
    "amex": ("card", "378282246310005"),
    "iban": ("iban", "DE89 3704 0044 0532 0130 00"),
    "iban without spaces": ("iban", "GB82WEST12345698765432"),
    "social security number": ("ssn", "219-09-9999"),
}
PASSWORDS = [
    "My password is hunter2.",
    "password: swordfish",
    "the wifi password is Sunny-Day9, remember it",
    "pwd=Tr0ub4dor&3",
    "Mein Passwort lautet Geheim123!",
    "Mon mot de passe est tulipe42.",
    "Mi contraseña es girasol77",
    "La mia password è Roma2024",
    "A minha senha é lisboa99",
    "Мой пароль: берёза15",
    "我的密码是abc12345",
    "パスワードはsakura2024",
    "my PIN is 4821",
]
ORDINARY = [
    "The password is wrong.",
    "A password is required to log in.",
    "I forgot my password and my token.",
    "My secret is that I love cats.",
    "The key is under the mat, and the token is a coin.",
    "The api key is stored in the vault.",
    "token: 250",
    "password = request.form['password']",
    "password = db.Column(db.String(80), nullable=False)",
    "Commit da39a3ee5e6b4b0d3255bfef95601890afd80709 fixed it.",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "Call me at +1 555 123 4567 or 0047 22 22 55 55.",
    "Order number 4111111111111111 has shipped.",
    "Tracking no. 9400110200881234567890",
    "ISBN 978-3-16-148410-0 and 9783161484100",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "sk-learn-is-a-library-for-machine-learning",
    "The meeting is on 2024-03-15 at 10:30:00.",
    "We sold 1234567890123456 units, a made-up number.",
    "https://example.org:8080/path?query=1",
    "Version 1.2.3-rc.4+build.5678",
    "The year 1999-2000 and page 123-45-678",
]


@pytest.mark.spec("R27")
@pytest.mark.parametrize(("kind", "secret"), SHAPES.values(), ids=SHAPES)
def test_a_secret_of_a_known_shape_is_taken_out(kind: str, secret: str) -> None:
    found = redacted(f"Please use this one: {secret} and tell nobody.")
    assert kind in found.found
    assert f"[redacted: {kind}]" in found.text
    assert found.text.startswith("Please use this one: ")
    hidden = secret.split("=", 1)[-1] if kind == "key" else secret
    assert hidden.strip(' "')[-12:] not in found.text or kind == "password in a url"
    assert "s3cr3t" not in found.text
    assert "hunter2" not in found.text


@pytest.mark.spec("R27")
@pytest.mark.parametrize(("kind", "secret"), SHAPES.values(), ids=SHAPES)
def test_no_secret_comes_through_extraction(kind: str, secret: str) -> None:
    found = extract_by_rules(request(said(f"Remember that I use {secret} for work.")))
    assert secret[-12:] not in repr(found) or kind == "password in a url"
    assert "s3cr3t" not in repr(found)
    assert "hunter2" not in repr(found)


@pytest.mark.spec("R27")
def test_there_are_at_least_sixty_shapes() -> None:
    assert len(SHAPES) >= 60


@pytest.mark.parametrize("text", PASSWORDS)
def test_a_password_is_known_by_the_words_before_it(text: str) -> None:
    found = redacted(text)
    assert len(found.found) == 1
    for word in ("hunter2", "swordfish", "Sunny", "Tr0ub4dor", "Geheim", "tulipe", "girasol", "Roma2024", "lisboa99"):
        assert word not in found.text
    for word in ("берёза", "abc12345", "sakura", "4821"):
        assert word not in found.text


@pytest.mark.spec("R27")
@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redacted(text).text == text


@pytest.mark.spec("R27")
def test_less_than_one_in_a_hundred_numbers_and_ids_is_taken_for_a_secret() -> None:
    chance = random.Random(11)
    ids = [
        *(str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(1_000)),
        *(hashlib.sha1(str(n).encode()).hexdigest() for n in range(1_000)),
        *(hashlib.md5(str(n).encode()).hexdigest() for n in range(1_000)),
        *(f"+{chance.randrange(1, 99)} {chance.randrange(10**8, 10**10)}" for _ in range(1_000)),
        *(f"order number {chance.randrange(10**9, 10**16)}" for _ in range(1_000)),
    ]
    wrong = [one for one in ids if redacted(f"It is {one}, as you know.").found]
    assert len(wrong) < len(ids) / 100


def test_a_card_number_must_add_up() -> None:
    assert redacted("4111 1111 1111 1112").found == ()
    assert redacted("DE89 3704 0044 0532 0130 01").found == ()


@given(st.text(max_size=200))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redacted(f"{text} password is hunter2, key sk-proj-{'a1' * 20} {text}").text
    assert redacted(once).text == once


@pytest.mark.parametrize(
    "piece",
    ["a", "eyJ", "sk-", "password is ", "1", "1 ", "DE89 ", "-----BEGIN PRIVATE KEY-----", "://a:", "M", "bearer ",
     "api key for a b c d", "8Q~", "a.8Q~.", "-", "AC", "Private-Lines: 1 ", "SG.", "=", "AccountKey=", "token is "],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_much_hostile_text_ends_soon(piece: str, count: Callable[[int, int], int]) -> None:
    text = piece * (count(300_000, 1_000_000) // len(piece))
    assert len(redacted(text).text) > 0


_EVERY = (
    *((one.kind, one.hints, one.pattern) for one in KNOWN_SHAPES),
    *((p.kind, p.hints, p.pattern) for p in PHRASES),
)


def redacted_slowly(text: str) -> Redaction:
    """Look for every shape and phrase, one after the other, wherever one of its hints stands."""
    lowered, found = text.lower(), list[str]()
    for (kind, hints, pattern), (_, _, check) in zip(_EVERY, secrets._NAMED, strict=True):
        if any(hint in lowered for hint in hints):
            text = secrets._without(text, kind, pattern, check, found)
    text = secrets._without(text, "ssn", secrets._SSN, secrets._any, found)
    text = secrets._without(text, "card", secrets._CARD, secrets._is_card, found)
    text = secrets._without(text, "iban", secrets._IBAN, secrets._is_iban, found)
    return Redaction(text=text, found=tuple(found))


_HINTS = sorted({hint for _, hints, _ in _EVERY for hint in hints})
_PARTS = st.one_of(
    st.sampled_from([secret for _, secret in SHAPES.values()]),
    st.sampled_from([secret[:-1] for _, secret in SHAPES.values()]),
    st.sampled_from(_HINTS),
    st.text(max_size=12),
    st.sampled_from(["", " ", ".", ": ", "my password is ", "x"]),
)


@given(st.lists(_PARTS, max_size=6).map("".join))
def test_every_shape_is_looked_for_wherever_one_of_its_hints_stands(text: str) -> None:
    assert redacted(text) == redacted_slowly(text)
