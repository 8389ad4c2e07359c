"""The ledger on real databases: a damaged entry is told and not counted, and still loses the name of what is erased."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recollect.domain.usage import UsageQuery
from recollect.ports.store import Store
from recollect.testing.samples import ALICE, append, erasure, usage
from tests.support.database_place import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    is_file = request.param == "sqlite"
    return Place(str(tmp_path / "usage.db") if is_file else request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    opened = await place.open()
    yield opened
    await opened.close()


@pytest.mark.spec("B13")
@pytest.mark.parametrize("column", ["input_tokens", "output_tokens", "calls", "estimated", "at"])
async def test_a_damaged_entry_is_told_and_the_rest_is_counted(column: str, place: Place, store: Store) -> None:
    for usage_id in ("u1", "u2"):
        await store.record_usage(ALICE, usage(usage_id))
    place.execute(f"UPDATE usage SET {column} = {column} + 1 WHERE id = 'u1'")
    totals = await store.usage_totals(ALICE, UsageQuery())
    assert (totals.total.tokens, totals.total.calls, totals.corrupt) == (7, 1, ("u1",))
    assert [(one.kind, one.id) for one in await store.list_damaged(ALICE)] == [("usage", "u1")]


async def test_a_damaged_entry_loses_the_name_of_what_is_erased_and_stays_damaged(place: Place, store: Store) -> None:
    await store.append(ALICE, append("c1", "m1"))
    for usage_id in ("u1", "u2"):
        await store.record_usage(ALICE, usage(usage_id, conversation_id="c1", job_id="j1"))
    place.execute("UPDATE usage SET calls = 9 WHERE id = 'u1'")
    await store.erase_conversation(ALICE, "c1", erasure())
    assert place.execute("SELECT DISTINCT conversation_id, job_id FROM usage") == [(None, None)]
    totals = await store.usage_totals(ALICE, UsageQuery())
    assert (totals.total.tokens, totals.corrupt) == (7, ("u1",))


async def test_an_erased_user_leaves_no_entry(place: Place, store: Store) -> None:
    await store.record_usage(ALICE, usage("u1"))
    await store.erase_user(ALICE, erasure())
    assert place.execute("SELECT COUNT(*) FROM usage") == [(0,)]
