"""API keys on real databases: found across scopes by one id and in no other way, and a damaged one proves nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from recollect.domain.identity import KeyQuery
from recollect.errors import CorruptRecordError
from recollect.ports.store import Store
from recollect.storage.postgres import PostgresDriver
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, BOB, STRANGER, after, api_key, erasure
from tests.support.database_place import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    is_file = request.param == "sqlite"
    return Place(str(tmp_path / "keys.db") if is_file else request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    opened = await place.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "change",
    [
        "rights = 'read write admin'",
        "user_id = 'bob'",
        "tenant_id = 'other'",
        "agent = 'guide'",
        "expires_at = NULL",
        "revoked_at = NULL",
        "digest = '" + "0" * 64 + "'",
        "name = 'other'",
    ],
)
async def test_a_damaged_key_is_told_and_not_believed(change: str, place: Place, store: Store) -> None:
    await store.create_key(api_key("k1", ALICE, expires_at=after(1)))
    await store.create_key(api_key("k2", ALICE))
    await store.revoke_key("k1", after(2))
    place.execute(f"UPDATE api_keys SET {change} WHERE id = 'k1'")
    assert await store.find_key("k1") is None
    assert [key.id for key in await store.list_keys(KeyQuery(tenant="acme"))] == ["k2"]
    owner = {"user_id = 'bob'": BOB, "tenant_id = 'other'": STRANGER}.get(change, ALICE)
    assert [(one.kind, one.id) for one in await store.list_damaged(owner)] == [("key", "k1")]
    with pytest.raises(CorruptRecordError):
        await store.revoke_key("k1", after(3))


async def test_a_service_key_given_to_a_user_is_not_believed(place: Place, store: Store) -> None:
    await store.create_key(api_key("k1", ALICE, user=None))
    place.execute("UPDATE api_keys SET user_id = 'alice'")
    assert await store.find_key("k1") is None


async def test_an_erased_user_leaves_no_key(place: Place, store: Store) -> None:
    await store.create_key(api_key("k1", ALICE))
    await store.create_key(api_key("k2", ALICE, user=None))
    await store.erase_user(ALICE, erasure())
    assert place.execute("SELECT id FROM api_keys") == [("k2",)]


async def test_no_secret_is_in_the_database(place: Place, store: Store) -> None:
    new = api_key("k1", ALICE)
    await store.create_key(new)
    ((digest, *rest),) = place.execute("SELECT digest, name, agent, rights FROM api_keys")
    assert (digest, rest) == (new.digest, ["laptop", None, "read write"])


@pytest.mark.spec("R23")
async def test_without_a_scope_a_key_is_found_by_its_id_and_a_tenants_are_listed_and_nothing_else_is_seen(
    postgres_url: str,
) -> None:
    driver = await PostgresDriver.open(postgres_url)
    store = SqlStore(driver)
    for number, scope in enumerate((ALICE, BOB, STRANGER)):
        await store.create_key(api_key(f"k{number}", scope))
    await driver.close()
    statements = {
        "SELECT id FROM api_keys": [],
        "SELECT id FROM recollect_find_key('k1')": [("k1",)],
        "SELECT id FROM recollect_find_key('%')": [],
        "SELECT id FROM recollect_find_key(NULL)": [],
        "SELECT id FROM recollect_tenant_keys('acme', '', 9)": [("k0",), ("k1",)],
        "SELECT id FROM recollect_tenant_keys('acme', '', 1)": [("k0",)],
        "SELECT id FROM recollect_tenant_keys('', '', 9)": [],
        "SELECT id FROM recollect_tenant_keys(NULL, '', 9)": [],
        "UPDATE api_keys SET rights = 'admin' RETURNING id": [],
        "DELETE FROM api_keys RETURNING id": [],
    }
    with psycopg.connect(postgres_url, options="-c search_path=recollect") as connection:
        for statement, expected in statements.items():
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL ROLE recollect_app")
                assert connection.execute(sql.SQL(statement)).fetchall() == expected, statement
        for other in ("recollect_jobs", "recollect_search"):
            with connection.transaction(force_rollback=True):
                connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(other)))
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("SELECT * FROM recollect_find_key('k1')")
        for change in ("UPDATE api_keys SET rights = 'admin'", "DELETE FROM api_keys", "SELECT * FROM jobs"):
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL ROLE recollect_keys")
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(sql.SQL(change))


@pytest.mark.spec("R23")
async def test_nobody_makes_a_key_for_another(postgres_url: str) -> None:
    driver = await PostgresDriver.open(postgres_url)
    await driver.close()
    insert = "INSERT INTO api_keys VALUES ('acme', 'bob', 'k1', 'n', NULL, 'read', 'd', 0, NULL, NULL, NULL, 0)"
    with psycopg.connect(postgres_url, options="-c search_path=recollect") as connection:
        connection.execute("SET LOCAL ROLE recollect_app")
        connection.execute(
            "SELECT set_config('recollect.tenant', 'acme', true), set_config('recollect.user', 'al', true)"
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute(insert)
