"""Who calls: a credential is believed or refused, never ignored, and a service acts only for whom it names."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import datetime, timedelta
from typing import Any

import pytest

from recollect.domain.identity import REFUSED, RIGHTS, ApiKey, Caller, Credentials, IssuedKey, KeyQuery, NewKey
from recollect.domain.scope import Scope
from recollect.errors import (
    InvalidInputError,
    PermissionDeniedError,
    StorageUnavailableError,
    UnauthenticatedError,
)
from recollect.ports.store import Store
from recollect.service.identity import Identity
from recollect.service.keys import Keys
from recollect.service.recollect import Recollect
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.clock import FakeClock, ids
from recollect.testing.samples import ALICE, after, erasure
from tests.service.conftest import Make

EVERYTHING = frozenset(RIGHTS)
TOKEN_USER = Caller(Scope("acme", "carol"), frozenset({"read"}))


class OneToken:
    """Believe one token."""

    is_closed = False

    async def caller(self, token: str) -> Caller:
        if token != "good.token.here":
            raise UnauthenticatedError(REFUSED)
        return TOKEN_USER

    async def close(self) -> None:
        self.is_closed = True


def bearer(text: str, acts_for: str | None = None) -> Credentials:
    return Credentials(authorization=f"Bearer {text}", acts_for=acts_for)


async def issue(identity: Identity, **more: Any) -> IssuedKey:
    given: dict[str, Any] = {"name": "laptop", "tenant": "acme", "user": "alice"}
    return await identity.keys.create(NewKey(**given | more))


async def refused(identity: Identity, credentials: Credentials) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        await identity.caller(credentials)
    assert str(caught.value) == REFUSED


@pytest.fixture
def identity(make: Make) -> Identity:
    return make(auth__mode="token").identity


async def test_a_key_stands_for_its_user(identity: Identity) -> None:
    mine = await issue(identity)
    reader = await issue(identity, tenant="other", agent="guide", rights=frozenset({"read"}))
    assert await identity.caller(bearer(mine.text)) == Caller(ALICE, frozenset({"read", "write"}), mine.key.id)
    assert await identity.caller(bearer(reader.text)) == Caller(
        Scope("other", "alice", "guide"), frozenset({"read"}), reader.key.id
    )


async def test_only_a_digest_of_a_key_is_kept(identity: Identity, service: Recollect) -> None:
    issued = await issue(identity)
    stored = await service.store.find_key(issued.key.id)
    assert stored is not None
    secret = issued.text.removeprefix(f"rk_{issued.key.id}_")
    assert stored.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert stored.key == issued.key


async def test_whatever_is_wrong_with_a_credential_is_refused_in_the_same_words(
    identity: Identity, clock: FakeClock
) -> None:
    good, revoked, short = [await issue(identity, lifetime=life) for life in (None, None, timedelta(minutes=1))]
    await identity.keys.revoke(revoked.key.id)
    await identity.caller(bearer(short.text))
    clock.advance(minutes=1)
    head, secret = good.text[:-43], good.text[-43:]
    texts = [
        revoked.text,
        short.text,
        f"rk_unknown_{secret}",
        head + "A" * 43,
        good.text[:-1],
        f"{good.text}x",
        good.text.replace("rk_", "rk_x", 1),
        good.text.swapcase(),
        head + secret[:-1] + "é",
        "rk_",
        "",
        "good",
        "x" * 20_000,
        f"rk_{'k' * 20_000}_{secret}",
        f"{good.text}\n",
        f"{good.text}, Bearer {good.text}",
    ]
    for text in texts:
        await refused(identity, bearer(text))
    headers = ["", "Bearer", "Bearer ", f"Basic {good.text}", good.text, f"Bearer\t{good.text}", f"\ud800 {good.text}"]
    for header in headers:
        await refused(identity, Credentials(authorization=header))
    assert (await identity.caller(Credentials(authorization=f"bearer  {good.text}"))).key_id == good.key.id


async def test_nobody_gets_in_without_a_credential(identity: Identity) -> None:
    for acts_for in (None, "alice"):
        with pytest.raises(UnauthenticatedError, match="Authorization: Bearer"):
            await identity.caller(Credentials(acts_for=acts_for))


async def test_a_revoked_key_is_refused_on_the_next_call_of_every_server(make: Make) -> None:
    one, other = make(auth__mode="token").identity, make(auth__mode="token").identity
    issued = await issue(one)
    for server in (one, other):
        await server.caller(bearer(issued.text))
    assert (await other.keys.revoke(issued.key.id)).revoked_at is not None
    for server in (one, other):
        await refused(server, bearer(issued.text))


async def test_a_service_key_acts_for_whom_it_names(identity: Identity) -> None:
    issued = await issue(identity, user=None, agent="guide", rights=EVERYTHING)
    for user in ("alice", "Ålice 茶"):
        caller = await identity.caller(bearer(issued.text, user))
        assert caller == Caller(Scope("acme", user, "guide"), EVERYTHING, issued.key.id)


async def test_a_service_key_is_nobody_by_itself(identity: Identity) -> None:
    issued = await issue(identity, user=None)
    with pytest.raises(PermissionDeniedError, match="Recollect-User"):
        await identity.caller(bearer(issued.text))
    for wrong in ("", "a\nb", "x" * 129, "\0"):
        with pytest.raises(InvalidInputError, match="user must"):
            await identity.caller(bearer(issued.text, wrong))


async def test_a_revoked_service_key_acts_for_nobody(identity: Identity) -> None:
    issued = await issue(identity, user=None)
    await identity.keys.revoke(issued.key.id)
    for acts_for in (None, "alice", ""):
        await refused(identity, bearer(issued.text, acts_for))


async def test_nobody_else_acts_for_another(identity: Identity) -> None:
    issued = await issue(identity)
    for acts_for in ("bob", "alice", ""):
        with pytest.raises(PermissionDeniedError, match="only a service key"):
            await identity.caller(bearer(issued.text, acts_for))
    # Who is not known is not told what they may not do.
    await refused(identity, bearer(issued.text[:-1], "bob"))


async def test_the_local_user_may_do_everything_and_names_nobody(make: Make) -> None:
    identity = make().identity
    assert await identity.caller(Credentials()) == Caller(Scope(), EVERYTHING)
    with pytest.raises(PermissionDeniedError):
        await identity.caller(Credentials(acts_for="alice"))


async def test_a_credential_is_checked_also_where_none_is_asked_for(make: Make) -> None:
    identity = make().identity
    issued = await issue(identity, rights=frozenset({"read"}))
    assert (await identity.caller(bearer(issued.text))).scope == ALICE
    for text in (issued.text[:-1], "a.b.c", ""):
        await refused(identity, bearer(text))
    await refused(identity, Credentials(authorization=""))
    await identity.keys.revoke(issued.key.id)
    await refused(identity, bearer(issued.text))


def with_token(verifier: OneToken, store: Store | None = None) -> Identity:
    made = ids()
    keys = Keys(store or InMemoryStore(), clock=FakeClock(), new_id=lambda: next(made))
    return Identity(keys, verifier=verifier)


async def test_a_token_stands_for_whom_it_says_and_nobody_else() -> None:
    verifier = OneToken()
    identity = with_token(verifier)
    assert await identity.caller(bearer("good.token.here")) == TOKEN_USER
    with pytest.raises(PermissionDeniedError, match="only a service key"):
        await identity.caller(bearer("good.token.here", "alice"))
    await refused(identity, bearer("bad.token.here", "alice"))
    issued = await issue(identity)
    assert (await identity.caller(bearer(issued.text))).scope == ALICE
    await identity.close()
    assert verifier.is_closed


async def test_without_an_issuer_no_token_is_believed(identity: Identity) -> None:
    await refused(identity, bearer("good.token.here"))


class CountingStore(InMemoryStore):
    """A store that counts and may hold or refuse the notes of uses."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[datetime] = []
        self.may_touch = asyncio.Event()
        self.may_touch.set()
        self.is_down = False

    async def touch_key(self, key_id: str, at: datetime) -> ApiKey:
        self.touched.append(at)
        await self.may_touch.wait()
        if self.is_down:
            raise StorageUnavailableError("down")
        return await super().touch_key(key_id, at)


@pytest.fixture
def counting() -> CountingStore:
    return CountingStore()


def counted(store: CountingStore, clock: FakeClock) -> Keys:
    made = ids()
    return Keys(store, clock=clock, new_id=lambda: next(made))


NEW = NewKey(name="laptop", tenant="acme", user="alice")


async def last_use(keys: Keys) -> datetime | None:
    await keys.flush()
    (key,) = await keys.list(KeyQuery(tenant="acme"))
    return key.last_used_at


async def test_the_last_use_is_noted_once_a_minute_for_each_key(counting: CountingStore, clock: FakeClock) -> None:
    keys = counted(counting, clock)
    text = (await keys.create(NEW)).text
    assert await last_use(keys) is None
    await asyncio.gather(*(keys.proven(text) for _ in range(50)))
    assert await last_use(keys) == after(0)
    clock.advance(seconds=59)
    await keys.proven(text)
    assert await last_use(keys) == after(0)
    clock.advance(seconds=1)
    await keys.proven(text)
    assert await last_use(keys) == after(60)
    # Another server sees in the key itself that its use was noted.
    await counted(counting, clock).proven(text)
    assert counting.touched == [after(0), after(60)]


async def test_nobody_waits_until_a_use_is_noted(counting: CountingStore, clock: FakeClock) -> None:
    keys = counted(counting, clock)
    text = (await keys.create(NEW)).text
    counting.may_touch.clear()
    assert await keys.proven(text) is not None
    assert (await counting.list_keys(KeyQuery(tenant="acme")))[0].last_used_at is None
    counting.may_touch.set()
    assert await last_use(keys) == after(0)


async def test_a_use_that_cannot_be_noted_stops_nobody(
    counting: CountingStore, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    keys = counted(counting, clock)
    issued = await keys.create(NEW)
    counting.is_down = True
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert await keys.proven(issued.text) == issued.key
            await keys.flush()
    assert len(counting.touched) == 1
    assert "storage_unavailable" in caplog.text
    assert issued.text not in caplog.text


async def test_a_refused_key_is_not_noted_as_used(counting: CountingStore, clock: FakeClock) -> None:
    keys = counted(counting, clock)
    issued = await keys.create(NEW)
    await keys.revoke(issued.key.id)
    assert await keys.proven(issued.text) is None
    assert await keys.proven(issued.text[:-1]) is None
    await keys.flush()
    assert counting.touched == []


async def test_a_key_ends_with_its_user(identity: Identity, service: Recollect) -> None:
    issued = await issue(identity)
    acting = await issue(identity, user=None)
    await service.store.erase_user(ALICE, erasure())
    await refused(identity, bearer(issued.text))
    assert (await identity.caller(bearer(acting.text, "alice"))).scope == ALICE


@pytest.mark.parametrize("lifetime", [timedelta(days=90), timedelta.max])
async def test_a_key_lives_as_long_as_it_was_asked_for(lifetime: timedelta, identity: Identity) -> None:
    key = (await issue(identity, lifetime=lifetime)).key
    assert key.expires_at is not None
    assert key.is_valid(after(89 * 86_400))
    assert key.is_valid(after(90 * 86_400)) == (lifetime == timedelta.max)
