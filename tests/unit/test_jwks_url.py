"""An issuer's published keys are fetched when they are needed, not too often, and used while it is away."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from recollect.domain.identity import Caller
from recollect.errors import ProviderUnavailableError, UnauthenticatedError
from recollect.identity.jwks_url import PublishedKeys
from recollect.identity.jwt import Expected, JwtVerifier
from recollect.testing.clock import FakeClock
from tests.unit.test_jwt import AUDIENCE, ISSUER, claims, jwk, signed

KEYS = {name: rsa.generate_private_key(public_exponent=65537, key_size=2048) for name in ("a", "b")}
URL = "https://issuer.example/jwks.json"


class Issuer(httpx2.AsyncBaseTransport):
    """An issuer that publishes some keys and counts who asks."""

    def __init__(self) -> None:
        self.published: tuple[str, ...] = ("a",)
        self.asked = 0
        self.was_asked = asyncio.Event()
        self.answer: Callable[[], httpx2.Response] | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert str(request.url) == URL
        self.asked += 1
        self.was_asked.set()
        await self.may_answer.wait()
        if self.answer is not None:
            return self.answer()
        keys = [jwk(KEYS[name], kid=name) for name in self.published]
        return httpx2.Response(200, content=json.dumps({"keys": keys}).encode())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
async def verifier(issuer: Issuer, clock: FakeClock) -> AsyncIterator[JwtVerifier]:
    expected = Expected(algorithm="RS256", issuer=ISSUER, audience=AUDIENCE)
    opened = JwtVerifier(expected, PublishedKeys(URL, "RS256", clock, issuer), clock)
    yield opened
    await opened.close()


async def show(verifier: JwtVerifier, name: str) -> Caller:
    return await verifier.caller(signed(claims(exp=2**40), key=KEYS[name], kid=name))


def down() -> httpx2.Response:
    raise httpx2.ConnectError("no route")


async def test_keys_are_fetched_for_the_first_token_and_kept(verifier: JwtVerifier, issuer: Issuer) -> None:
    assert issuer.asked == 0
    callers = await asyncio.gather(*(show(verifier, "a") for _ in range(50)))
    assert {caller.scope.user for caller in callers} == {"alice"}
    assert issuer.asked == 1


async def test_a_new_key_is_fetched_at_most_once_a_minute(
    verifier: JwtVerifier, issuer: Issuer, clock: FakeClock
) -> None:
    await show(verifier, "a")
    issuer.published = ("a", "b")
    for _ in range(5):
        with pytest.raises(UnauthenticatedError):
            await show(verifier, "b")
    assert issuer.asked == 1
    clock.advance(seconds=60)
    await show(verifier, "b")
    await show(verifier, "a")
    assert issuer.asked == 2


@pytest.mark.parametrize(
    "answer",
    [
        down,
        lambda: httpx2.Response(500),
        lambda: httpx2.Response(302, headers={"location": "https://evil.example"}),
        lambda: httpx2.Response(200, content=b"<html>"),
        lambda: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=gzip.compress(b"{}")),
        lambda: httpx2.Response(200, content=b"{}"),
        lambda: httpx2.Response(200, content=b" " * (256 * 1024 + 1)),
    ],
)
async def test_an_issuer_that_is_away_stops_only_unknown_keys(
    answer: Callable[[], httpx2.Response],
    verifier: JwtVerifier,
    issuer: Issuer,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await show(verifier, "a")
    issuer.answer = answer
    clock.advance(seconds=60)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(ProviderUnavailableError):
                await show(verifier, "b")
            await show(verifier, "a")
    assert issuer.asked == 2
    assert "cannot be fetched" in caplog.text
    issuer.answer, issuer.published = None, ("a", "b")
    clock.advance(seconds=60)
    await show(verifier, "b")


async def test_nobody_gets_in_before_the_keys_are_there(verifier: JwtVerifier, issuer: Issuer) -> None:
    issuer.answer = down
    for name in ("a", "b"):
        with pytest.raises(ProviderUnavailableError):
            await show(verifier, name)


async def test_a_withdrawn_key_is_believed_for_ten_minutes_at_most(
    verifier: JwtVerifier, issuer: Issuer, clock: FakeClock
) -> None:
    await show(verifier, "a")
    issuer.published = ()
    clock.advance(minutes=9)
    await show(verifier, "a")
    assert issuer.asked == 1
    clock.advance(minutes=1)
    # Nobody waits for the look that this token causes.
    issuer.may_answer.clear()
    await show(verifier, "a")
    issuer.may_answer.set()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    assert issuer.asked == 2
    with pytest.raises(UnauthenticatedError):
        await show(verifier, "a")


async def test_whoever_gives_up_does_not_stop_the_fetch_of_others(verifier: JwtVerifier, issuer: Issuer) -> None:
    issuer.may_answer.clear()
    impatient, patient = (asyncio.create_task(show(verifier, "a")) for _ in range(2))
    await issuer.was_asked.wait()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    issuer.may_answer.set()
    assert (await patient).scope.user == "alice"
    assert issuer.asked == 1


async def test_an_issuer_that_does_not_answer_is_not_waited_for(
    verifier: JwtVerifier, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.identity.jwks_url.TIMEOUT", 0.01)
    issuer.may_answer.clear()
    with pytest.raises(ProviderUnavailableError):
        await show(verifier, "a")


async def test_closing_gives_up_a_fetch(issuer: Issuer, clock: FakeClock) -> None:
    issuer.may_answer.clear()
    keys = PublishedKeys(URL, "RS256", clock, issuer)
    waiting: asyncio.Task[Any] = asyncio.create_task(keys.key_for("a"))
    await issuer.was_asked.wait()
    await keys.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
