"""Row security stands behind the application's own filters: without them, nothing of another user shows."""

from __future__ import annotations

from functools import partial
from typing import Any, LiteralString, TypeVar

import psycopg
import pytest
from psycopg import sql

from recollect.domain.scope import Scope
from recollect.errors import RecollectError
from recollect.ports.store import Store
from recollect.storage.driver import Transaction, Work
from recollect.storage.migrations.postgres import APP_ROLE, FUNCTION_ROLES
from recollect.storage.postgres import PostgresDriver
from recollect.storage.postgres_transaction import PostgresTransaction
from recollect.storage.rows import scoped
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, BOB, STRANGER, erasure
from recollect.testing.store.calls import call, furnish
from recollect.testing.store.dump import dump
from recollect.testing.store.scopes import ANY_SCOPE, ScopeConformance
from tests.support.unfiltered_queries import without_filter

T = TypeVar("T")

Connection = psycopg.Connection[tuple[Any, ...]]

GUARDED = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attname = 'tenant_id' ORDER BY 1
"""

FORBIDDEN: list[LiteralString] = [
    "TRUNCATE messages",
    "ALTER TABLE messages DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE messages NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY in_scope ON messages",
    "DROP TABLE messages",
    "CREATE TABLE other (id INT)",
    "CREATE FUNCTION other() RETURNS INT LANGUAGE sql AS 'SELECT 1'",
    "CREATE TRIGGER other BEFORE INSERT ON messages EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "UPDATE meta SET value = ''",
    "DELETE FROM schema_migrations",
    "ALTER ROLE recollect_app BYPASSRLS",
]


class MistakenDriver:
    """A driver that binds every transaction to one user, whomever the work is about."""

    def __init__(self, driver: PostgresDriver, scope: Scope) -> None:
        self._driver = driver
        self._scope = scope

    async def read(self, scope: Scope, work: Work[T], *, quick: bool = False) -> T:
        return await self._driver.read(self._scope, work, quick=quick)

    async def write(self, scope: Scope, work: Work[T]) -> T:
        return await self._driver.write(self._scope, work)

    async def read_any(self, work: Work[T]) -> T:
        return await self._driver.read_any(work)

    async def write_any(self, work: Work[T]) -> T:
        return await self._driver.write_any(work)

    @property
    def database_id(self) -> str:
        return self._driver.database_id

    def mark(self) -> None:
        return self._driver.mark()

    async def settled_mark(self) -> object | None:
        return await self._driver.settled_mark()

    async def scrub(self) -> None:
        await self._driver.scrub()

    async def close(self) -> None:
        await self._driver.close()


def without_filters(queries: dict[str, bytes]) -> dict[str, bytes]:
    return {name: without_filter(query.decode()).encode() for name, query in queries.items()}


def tables(admin: Connection) -> list[str]:
    return [name for (name,) in admin.execute(GUARDED)]


def enter(connection: Connection, tenant: str, user: str) -> None:
    connection.execute(
        "SELECT set_config('role', 'recollect_app', true), set_config('recollect.tenant', %s, true), "
        "set_config('recollect.user', %s, true), set_config('search_path', 'recollect', true)",
        (tenant, user),
    )


def quarantine(scope: Scope, tx: Transaction) -> None:
    tx.run("quarantine", **scoped(scope), kind="message", id="m1", at=0)


async def furnish_all(driver: PostgresDriver) -> None:
    """Give three users rows in every table."""
    store = SqlStore(driver)
    for scope in (ALICE, BOB, STRANGER):
        await furnish(store, scope)
        await store.erase_memory(scope, "k2", erasure("r1"))
        await driver.write(scope, partial(quarantine, scope))


@pytest.mark.spec("R23", "S2.8")
class TestWithoutTheFilter(ScopeConformance):
    """The whole cross-tenant matrix again, on queries that name no scope any more."""

    @pytest.fixture
    def store(self, postgres_driver: PostgresDriver) -> Store:
        postgres_driver.queries = without_filters(postgres_driver.queries)
        return SqlStore(postgres_driver)


def test_the_matrix_without_filters_has_none(postgres_driver: PostgresDriver) -> None:
    bare = without_filters(postgres_driver.queries)
    changed = {name for name, query in postgres_driver.queries.items() if bare[name] != query}
    assert len(changed) > 80
    # What still names a scope says whose row it writes, or where in a walk through all users it goes on.
    left = {name for name, query in bare.items() if b"%(tenant)s" in query}
    assert {
        name
        for name in left
        if not bare[name].lstrip().startswith(b"INSERT") and not name.startswith(("set_scope", "walk_"))
    } == set()


async def test_the_matrix_without_filters_would_notice_a_missing_policy(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    await furnish_all(postgres_driver)
    postgres_driver.queries = without_filters(postgres_driver.queries)
    stranger = Scope("nowhere", "nobody")
    assert await postgres_driver.read(stranger, lambda tx: tx.all("list_agents")) == []
    with psycopg.connect(postgres_url) as connection:
        connection.execute("ALTER TABLE recollect.agents DISABLE ROW LEVEL SECURITY")
    assert len(await postgres_driver.read(stranger, lambda tx: tx.all("list_agents"))) == 3


@pytest.mark.spec("R23")
async def test_a_transaction_in_the_wrong_scope_reads_and_changes_nothing(postgres_driver: PostgresDriver) -> None:
    store = SqlStore(postgres_driver)
    calls = await furnish(store, ALICE)
    for other in (BOB, STRANGER):
        await furnish(store, other)
        mistaken = SqlStore(MistakenDriver(postgres_driver, other))
        before = await dump(store, ALICE), await dump(store, other)
        for name, arguments in calls.items():
            if name in ANY_SCOPE:
                continue
            try:
                answer = repr(await call(mistaken, ALICE, name, arguments))
            except RecollectError:
                answer = ""
            assert "words of" not in answer, name
            assert "statement of" not in answer, name
            assert "Coffee" not in answer, name
            assert (await dump(store, ALICE), await dump(store, other)) == before, name


@pytest.mark.spec("R23", "S2.8")
async def test_statements_without_any_condition_touch_one_user_only(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    await furnish_all(postgres_driver)
    with psycopg.connect(postgres_url) as connection:
        for table in tables(connection):
            name = sql.Identifier("recollect", table)
            total = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(name)).fetchone()
            mine = connection.execute(
                sql.SQL("SELECT count(*) FROM {} WHERE tenant_id = 'acme' AND user_id = 'bob'").format(name)
            ).fetchone()
            assert total is not None
            assert mine is not None
            assert 0 < mine[0] < total[0], table
            for statement in ("UPDATE {} SET user_id = user_id", "DELETE FROM {}", "SELECT * FROM {}"):
                with connection.transaction(force_rollback=True):
                    # Deleting in any order; what refers to what is tested elsewhere.
                    connection.execute("SET LOCAL session_replication_role = replica")
                    enter(connection, "acme", "bob")
                    touched = connection.execute(sql.SQL(statement).format(name))
                    assert (touched.rowcount,) == mine, (table, statement)


@pytest.mark.spec("R23", "S2.8")
async def test_no_row_is_given_to_another_or_taken_from_them(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    await furnish_all(postgres_driver)
    with psycopg.connect(postgres_url) as connection:
        for table in tables(connection):
            name = sql.Identifier("recollect", table)
            for column, value in (("tenant_id", "other"), ("user_id", "alice")):
                with connection.transaction(force_rollback=True):
                    connection.execute("SET LOCAL session_replication_role = replica")
                    enter(connection, "acme", "bob")
                    give = sql.SQL("UPDATE {} SET {} = {}").format(name, sql.Identifier(column), sql.Literal(value))
                    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                        connection.execute(give)
        with connection.transaction(force_rollback=True):
            enter(connection, "acme", "bob")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute("INSERT INTO users VALUES ('acme', 'carol', 0)")


@pytest.mark.spec("R23", "S2.8")
async def test_without_a_scope_nothing_is_seen(postgres_url: str, postgres_driver: PostgresDriver) -> None:
    await furnish_all(postgres_driver)
    with psycopg.connect(postgres_url) as connection:
        for table in tables(connection):
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL ROLE recollect_app")
                found = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("recollect", table)))
                assert found.fetchall() == []
    postgres_driver.queries = without_filters(postgres_driver.queries)
    assert await postgres_driver.write_any(lambda tx: tx.all("all_memory_ids")) == []


def test_the_role_of_the_application_may_only_read_and_write_rows(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    with psycopg.connect(postgres_url) as connection:
        for statement in FORBIDDEN:
            with connection.transaction(force_rollback=True):
                enter(connection, "acme", "bob")
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)


def test_row_security_cannot_be_switched_off(postgres_url: str, postgres_driver: PostgresDriver) -> None:
    with psycopg.connect(postgres_url) as connection:
        enter(connection, "acme", "bob")
        connection.execute("SET LOCAL row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM messages")


def test_every_table_with_a_tenant_is_guarded(postgres_url: str, postgres_driver: PostgresDriver) -> None:
    with psycopg.connect(postgres_url) as connection:
        guarded = tables(connection)
        assert len(guarded) == 23
        loose = connection.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relnamespace = 'recollect'::regnamespace "
            "AND NOT (relrowsecurity AND relforcerowsecurity)",
            (guarded,),
        )
        assert loose.fetchall() == []
        policies = connection.execute(
            "SELECT tablename, count(*) FROM pg_policies WHERE policyname = 'in_scope' AND cmd = 'ALL' "
            "AND roles = '{public}' AND qual = with_check GROUP BY 1 ORDER BY 1"
        )
        assert policies.fetchall() == [(name, 1) for name in guarded]


def test_the_roles_have_no_power_of_their_own(postgres_url: str, postgres_driver: PostgresDriver) -> None:
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb FROM pg_roles "
            "WHERE rolname = ANY(%s)",
            ([APP_ROLE, *FUNCTION_ROLES],),
        ).fetchall()
        assert found == [(False,) * 5] * 4
        owned = connection.execute(
            "SELECT relname FROM pg_class WHERE pg_get_userbyid(relowner) = ANY(%s)", ([APP_ROLE, *FUNCTION_ROLES],)
        )
        assert owned.fetchall() == []


@pytest.mark.parametrize(
    ("role", "table"),
    [("recollect_jobs", "jobs"), ("recollect_search", "message_terms"), ("recollect_keys", "api_keys")],
)
async def test_the_owner_of_a_function_sees_one_table_and_changes_nothing(
    role: str, table: str, postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    await furnish_all(postgres_driver)
    with psycopg.connect(postgres_url) as connection:
        for name in tables(connection):
            select = sql.SQL("SELECT * FROM {}").format(sql.Identifier("recollect", name))
            with connection.transaction(force_rollback=True):
                connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
                if name == table:
                    assert connection.execute(select).rowcount > 0
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier("recollect", name)))
                else:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(select)
        connection.execute("SET LOCAL ROLE recollect_jobs")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE recollect.jobs SET lease_until = 0")


async def test_a_search_finds_only_words_of_its_own_scope(postgres_driver: PostgresDriver) -> None:
    await furnish_all(postgres_driver)

    def numbers(scope: Scope) -> Work[set[int]]:
        return lambda tx: set(tx.matching(scope, ["words"]))

    found = [await postgres_driver.read(scope, numbers(scope)) for scope in (ALICE, BOB, STRANGER)]
    assert all(found)
    assert len(set.union(*found)) == sum(len(one) for one in found)
    assert await postgres_driver.read(BOB, numbers(ALICE)) == set()


async def test_settings_do_not_leak_into_the_next_transaction(postgres_driver: PostgresDriver) -> None:
    await furnish_all(postgres_driver)
    scopes = "SELECT current_setting('role'), current_setting('recollect.tenant', true), "
    scopes += "current_setting('recollect.user', true)"
    postgres_driver.queries["scopes"] = scopes.encode()
    for scope in (ALICE, STRANGER, BOB):
        seen = await postgres_driver.read(scope, lambda tx: tx.one("scopes"))
        assert seen == ("recollect_app", scope.tenant, scope.user)
        assert await postgres_driver.write_any(lambda tx: tx.one("scopes")) == ("recollect_app", "", "")
    pool = postgres_driver._pool
    for _ in range(4):
        with pool.connection() as connection:
            row = connection.execute(scopes.encode()).fetchone()
            assert row is not None
            assert row[0] == "none"
            assert not row[1]
            assert not row[2]


async def test_a_failed_transaction_leaves_its_connection_clean(postgres_driver: PostgresDriver) -> None:
    postgres_driver.queries["broken"] = b"SELECT 1 / 0"
    for _ in range(20):
        with pytest.raises(RecollectError):
            await postgres_driver.write(ALICE, lambda tx: tx.one("broken"))
        assert (await postgres_driver.read(BOB, lambda tx: tx.all("list_agents", tenant="acme", user="bob"))) == []


def test_a_transaction_names_its_scope_before_anything_else(postgres_driver: PostgresDriver) -> None:
    with postgres_driver._pool.connection() as connection:
        tx = PostgresTransaction(connection, postgres_driver.queries, b"salt", None, writes=False)
        assert tx._ahead[1][1] == {"tenant": "", "user": ""}
