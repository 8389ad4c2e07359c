"""Archive tokens: how long they are good, for whom, and on which servers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.scope import Scope
from recollect.domain.signing import claimed, is_signed
from recollect.errors import InvalidInputError, UnauthenticatedError
from recollect.service.archive_tokens import LIFETIME, ArchiveTokens
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB


async def test_a_token_stands_for_one_session_of_one_user(clock: FakeClock) -> None:
    tokens = ArchiveTokens(InMemoryStore(), clock=clock)
    guide = Scope(ALICE.tenant, ALICE.user, "guide")
    token, given_pass = await tokens.issue(guide, "c1")
    assert await tokens.proven(token) == given_pass
    assert (given_pass.scope, given_pass.session_id) == (guide, "c1")
    assert given_pass.expires_at == clock() + timedelta(minutes=5)


async def test_a_token_ends_with_its_time(clock: FakeClock) -> None:
    tokens = ArchiveTokens(InMemoryStore(), clock=clock)
    token, _ = await tokens.issue(ALICE, "c1")
    clock.advance(seconds=LIFETIME.total_seconds(), microseconds=-1)
    await tokens.proven(token)
    clock.advance(microseconds=1)
    with pytest.raises(UnauthenticatedError, match="ask for a new one"):
        await tokens.proven(token)


async def test_servers_on_one_database_know_each_others_tokens_and_no_others(clock: FakeClock) -> None:
    store = InMemoryStore()
    token, given_pass = await ArchiveTokens(store, clock=clock).issue(ALICE, "c1")
    assert await ArchiveTokens(store, clock=clock).proven(token) == given_pass
    with pytest.raises(UnauthenticatedError):
        await ArchiveTokens(InMemoryStore(), clock=clock).proven(token)


async def test_what_one_user_was_given_says_nothing_for_another(clock: FakeClock) -> None:
    tokens = ArchiveTokens(InMemoryStore(), clock=clock)
    (hers, _), (his, _) = await tokens.issue(ALICE, "c1"), await tokens.issue(BOB, "c1")
    for one, other in ((hers, his), (his, hers)):
        with pytest.raises(UnauthenticatedError):
            await tokens.proven(f"{one.split('.')[0]}.{other.split('.')[1]}")


async def test_a_session_must_have_a_name(clock: FakeClock) -> None:
    tokens = ArchiveTokens(InMemoryStore(), clock=clock)
    for wrong in ("", "x" * 129, "a\nb"):
        with pytest.raises(InvalidInputError):
            await tokens.issue(ALICE, wrong)


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]{0,60}\.[A-Za-z0-9_-]{0,60}", fullmatch=True))
def test_nothing_that_we_did_not_write_is_signed(word: str) -> None:
    if claimed(word) is not None:
        assert not is_signed(word, b"k" * 32)
