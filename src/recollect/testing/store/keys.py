"""API keys: found by their ids, refused once revoked, and gone with their user."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone

import msgspec

from recollect.domain.identity import KeyQuery, StoredKey, digest_of
from recollect.errors import ConflictError, NotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, STRANGER, after, api_key, append, erasure


async def ids_in(store: Store, tenant: str = "acme") -> list[str]:
    """Return the ids of a tenant's keys."""
    return [key.id for key in await store.list_keys(KeyQuery(tenant=tenant))]


class KeyConformance:
    """Check what a store promises about API keys."""

    async def test_a_key_is_found_by_its_id_as_it_was_created(self, store: Store) -> None:
        whole = api_key(
            "k1", ALICE, agent="guide", rights=frozenset(("admin", "read")), expires_at=after(60), last_used_at=after(5)
        )
        service = api_key("k2", ALICE, user=None)
        for new in (whole, service):
            assert await store.create_key(new) == new.key
            assert await store.find_key(new.key.id) == new
        assert await store.find_key("k3") is None

    async def test_a_key_is_created_once(self, store: Store) -> None:
        new = api_key("k1", ALICE)
        await store.create_key(new)
        await store.revoke_key("k1", after(1))
        assert (await store.create_key(new)).revoked_at == after(1)
        others = (
            msgspec.structs.replace(new, digest=digest_of("other")),
            api_key("k1", BOB),
            api_key("k1", STRANGER),
            api_key("k1", ALICE, user=None),
        )
        for other in others:
            with raises(ConflictError):
                await store.create_key(other)
        assert await ids_in(store) == ["k1"]
        assert await ids_in(store, "other") == []

    async def test_the_keys_of_a_tenant_are_listed_in_pages(self, store: Store) -> None:
        for number in range(7):
            await store.create_key(api_key(f"k{number}", (ALICE, BOB, STRANGER)[number % 3]))
        await store.create_key(api_key("service", ALICE, user=None))
        assert await ids_in(store) == ["k0", "k1", "k3", "k4", "k6", "service"]
        assert await ids_in(store, "other") == ["k2", "k5"]
        page = await store.list_keys(KeyQuery(tenant="acme", after="k1", limit=2))
        assert [key.id for key in page] == ["k3", "k4"]
        assert await store.list_keys(KeyQuery(tenant="acme", after="service")) == ()

    async def test_a_revoked_key_says_so_from_the_next_look_on(self, store: Store) -> None:
        for new in (api_key("k1", ALICE), api_key("k2", BOB), api_key("service", ALICE, user=None)):
            await store.create_key(new)
        for key_id in ("k1", "service"):
            assert (await store.revoke_key(key_id, after(1))).revoked_at == after(1)
            found = await store.find_key(key_id)
            assert found is not None
            assert found.key.revoked_at == after(1)
            assert (await store.revoke_key(key_id, after(9))).revoked_at == after(1)
        listed = await store.list_keys(KeyQuery(tenant="acme"))
        assert [key.revoked_at for key in listed] == [after(1), None, after(1)]

    async def test_the_last_use_is_noted_once_a_minute(self, store: Store) -> None:
        await store.create_key(api_key("k1", ALICE))
        noted = [(await store.touch_key("k1", after(seconds))).last_used_at for seconds in (5, 64, 65, 10, 124.9, 200)]
        assert noted == [after(5), after(5), after(65), after(65), after(65), after(200)]
        found = await store.find_key("k1")
        assert found is not None
        assert found.key.last_used_at == after(200)

    async def test_changing_a_key_that_is_missing_says_so(self, store: Store) -> None:
        for change in (store.revoke_key, store.touch_key):
            with raises(NotFoundError):
                await change("k1", after(1))

    async def test_uses_and_a_revocation_at_once_lose_nothing(self, store: Store) -> None:
        await store.create_key(api_key("k1", ALICE))
        uses = [store.touch_key("k1", after(100 * number)) for number in range(1, 21)]
        await asyncio.gather(*uses[:10], store.revoke_key("k1", after(3)), *uses[10:])
        found = await store.find_key("k1")
        assert found is not None
        assert (found.key.revoked_at, found.key.last_used_at) == (after(3), after(2000))

    async def test_the_times_of_a_key_come_back_in_utc(self, store: Store) -> None:
        zone = timezone(timedelta(hours=5))

        def there(seconds: float) -> datetime:
            return after(seconds).astimezone(zone)

        await store.create_key(api_key("k1", ALICE, created_at=there(0), expires_at=there(9)))
        await store.touch_key("k1", there(2))
        await store.revoke_key("k1", there(3))
        found = await store.find_key("k1")
        assert found is not None
        times = (found.key.created_at, found.key.last_used_at, found.key.revoked_at, found.key.expires_at)
        assert times == (after(0), after(2), after(3), after(9))
        assert {at.utcoffset() for at in times} == {timedelta(0)}

    async def test_erasing_a_user_erases_and_counts_the_keys(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        kept: list[StoredKey] = [api_key("k3", BOB), api_key("k4", STRANGER), api_key("service", ALICE, user=None)]
        for new in (api_key("k1", ALICE), api_key("k2", ALICE), *kept):
            await store.create_key(new)
        receipt = await store.erase_user(ALICE, erasure())
        assert receipt.erased.keys == 2
        assert [await store.find_key(gone) for gone in ("k1", "k2")] == [None, None]
        assert [await store.find_key(one.key.id) for one in kept] == kept
