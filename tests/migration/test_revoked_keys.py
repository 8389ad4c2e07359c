"""A backup lets nobody in again: keys that were revoked or erased since stay so when it is restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.domain.identity import KeyQuery
from recollect.storage.maintenance import RestoreOptions
from recollect.storage.verify import unseen
from recollect.testing.samples import ALICE, BOB, after, api_key, append, erasure
from tests.migration.databases import Database, problems

pytestmark = pytest.mark.spec("R31")


async def test_a_key_that_was_revoked_since_the_backup_is_refused_after_it_is_restored(
    database: Database, tmp_path: Path
) -> None:
    kept = [api_key("k1", ALICE), api_key("k2", ALICE, user=None), api_key("k3", ALICE)]
    async with database.store() as store:
        for new in (*kept, api_key("k4", BOB)):
            await store.create_key(new)
        await store.append(BOB, append("c1", "m1"))
        database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
        for key_id in ("k1", "k2"):
            await store.revoke_key(key_id, after(5))
        await store.create_key(api_key("later", ALICE))
        await store.revoke_key("later", after(6))
        await store.erase_user(BOB, erasure(at=after(9)))
    report = database.maintenance.restore(tmp_path / "backup", RestoreOptions(), unseen)
    assert problems(database) == []
    assert report.erased.keys == 1
    async with database.store() as store:
        listed = await store.list_keys(KeyQuery(tenant="acme"))
        assert [(key.id, key.revoked_at) for key in listed] == [("k1", after(5)), ("k2", after(5)), ("k3", None)]
        found = [await store.find_key(new.key.id) for new in kept]
        assert [None if one is None else one.digest for one in found] == [new.digest for new in kept]
