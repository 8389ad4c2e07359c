"""The schema of a Postgres database: up, down, at once, interrupted, and with little power."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
import pytest

from recollect.errors import MigrationRequiredError, StorageError
from recollect.storage.migrations import postgres as migrations
from recollect.storage.postgres import PostgresDriver
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, append, claims, job
from recollect.testing.store.calls import furnish
from tests.support.servers import PostgresAddress, PostgresServer

Connection = psycopg.Connection[tuple[Any, ...]]

#: What makes up a schema: tables, columns, keys, indexes, policies, functions and who may do what.
CATALOG: list[LiteralString] = [
    """SELECT c.relname, c.relkind::text, c.relrowsecurity, c.relforcerowsecurity, c.relacl::text, c.reloptions::text
    FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace ORDER BY 1""",
    """SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
        a.attcollation::regcollation::text, a.attacl::text, pg_get_expr(d.adbin, d.adrelid)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (c.oid, a.attnum)
    WHERE c.relnamespace = 'recollect'::regnamespace AND a.attnum > 0 ORDER BY 1, 2""",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'recollect'::regnamespace ORDER BY 1, 2""",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'recollect' ORDER BY 1",
    """SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies
    WHERE schemaname = 'recollect' ORDER BY 1, 2""",
    """SELECT proname, pg_get_functiondef(oid), pg_get_userbyid(proowner), proacl::text FROM pg_proc
    WHERE pronamespace = 'recollect'::regnamespace ORDER BY 1""",
    "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname = 'recollect'",
]


def connect(url: str) -> Connection:
    return psycopg.connect(url, autocommit=True)


def catalog(connection: Connection) -> list[list[tuple[Any, ...]]]:
    return [connection.execute(query).fetchall() for query in CATALOG]


def migrate(connection: Connection, target: int | None = None) -> list[int]:
    return [step.version for step in migrations.migrate(connection, target)]


@pytest.mark.spec("R31", "S2.14")
def test_up_down_and_up_again_leaves_the_same_schema(postgres_url: str) -> None:
    with connect(postgres_url) as connection:
        latest = migrations.status(connection).latest
        assert migrate(connection) == list(range(1, latest + 1))
        first = catalog(connection)
        assert migrations.status(connection).is_ready
        assert migrate(connection, 0) == list(range(latest, 0, -1))
        left = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace ORDER BY 1"
        )
        assert left.fetchall() == [("schema_migrations",), ("schema_migrations_pkey",)]
        assert migrations.status(connection).current == 0
        migrate(connection)
        assert catalog(connection) == first
        assert migrate(connection) == []


async def test_each_database_has_its_own_salt_and_keeps_it(postgres_url: str) -> None:
    await (await PostgresDriver.open(postgres_url)).close()
    with connect(postgres_url) as connection:
        salt = migrations.prepare(connection)
        assert len(salt) == 32
        assert migrations.prepare(connection) == salt
        migrate(connection, 0)
        assert migrations.prepare(connection) != salt


async def test_a_database_of_another_version_is_refused(postgres_url: str) -> None:
    await (await PostgresDriver.open(postgres_url)).close()
    with connect(postgres_url) as connection:
        connection.execute("INSERT INTO recollect.schema_migrations VALUES (999, 'later', 'now')")
    with pytest.raises(MigrationRequiredError, match="newer"):
        await PostgresDriver.open(postgres_url)


@pytest.mark.spec("R31")
async def test_servers_that_start_at_once_migrate_once(postgres_url: str) -> None:
    drivers = await asyncio.gather(*(PostgresDriver.open(postgres_url) for _ in range(6)))
    with connect(postgres_url) as connection:
        applied = connection.execute("SELECT version FROM recollect.schema_migrations").fetchall()
        assert applied == [(1,)]
    await asyncio.gather(*(SqlStore(driver).append(ALICE, append("c1", "m1")) for driver in drivers))
    for driver in drivers:
        await driver.close()


@pytest.mark.spec("R31")
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
async def test_who_waited_for_another_migration_finds_it_done(postgres_url: str, isolation: str) -> None:
    with connect(postgres_url) as first, connect(postgres_url) as second:
        migrations._set_up(first, (migrations.APP_ROLE, *migrations.FUNCTION_ROLES))
        second.execute("SELECT set_config('default_transaction_isolation', %s, false)", (isolation,))
        # It looks for the record before it waits, and Postgres may remember that there was none.
        assert migrations.status(second).current == 0
        with first.transaction():
            first.execute("SELECT pg_advisory_xact_lock(%s)", (migrations._LOCK,))
            waiting = asyncio.create_task(asyncio.to_thread(migrate, second))
            query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = %s"
            is_waiting = False
            while not is_waiting:
                await asyncio.sleep(0.01)
                is_waiting = first.execute(query, (second.info.backend_pid,)).fetchone() == (1,)
            first.execute(migrations._RECORD)
            first.execute("INSERT INTO recollect.schema_migrations VALUES (1, 'initial', 'now')")
        assert await waiting == [1]
        assert migrations.status(second).current == 1
        # Nothing was created a second time.
        assert second.execute("SELECT to_regclass('recollect.meta')").fetchone() == (None,)


@pytest.mark.spec("R31")
async def test_a_migration_killed_midway_leaves_nothing_and_runs_again(postgres_url: str) -> None:
    with connect(postgres_url) as admin:
        admin.execute(
            "CREATE FUNCTION stall() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); END'"
        )
        admin.execute(
            "CREATE EVENT TRIGGER stall ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION stall()"
        )

        def interrupted() -> None:
            with connect(postgres_url) as connection, pytest.raises(psycopg.OperationalError):
                migrate(connection)

        migrating = asyncio.create_task(asyncio.to_thread(interrupted))
        ended = None
        deadline = time.monotonic() + 30
        while not ended and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
            ended = admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE wait_event = 'PgSleep' AND datname = current_database()"
            ).fetchone()
        await migrating
        assert ended == (True,)
        assert admin.execute("SELECT to_regclass('recollect.messages')").fetchone() == (None,)
        assert migrations.status(admin).current == 0
        admin.execute("DROP EVENT TRIGGER stall")
        assert migrate(admin) == [1]
    await (await PostgresDriver.open(postgres_url)).close()


def test_every_key_starts_with_tenant_and_user(postgres_url: str) -> None:
    with connect(postgres_url) as connection:
        migrate(connection)
        found = connection.execute(
            "SELECT i.relname, x.indisunique, (SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_attribute a "
            "JOIN unnest(x.indkey) WITH ORDINALITY AS k (attnum, place) ON a.attnum = k.attnum "
            "WHERE a.attrelid = x.indrelid) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid "
            "WHERE i.relnamespace = 'recollect'::regnamespace"
        ).fetchall()
    others = {name: is_unique for name, is_unique, columns in found if columns[:2] != ["tenant_id", "user_id"]}
    assert others == {
        "meta_pkey": True,
        "schema_migrations_pkey": True,
        "api_keys_id": False,
        "jobs_due": False,
        "jobs_leased": False,
        "message_terms_terms": False,
    }


def test_every_reference_includes_the_tenant(postgres_url: str) -> None:
    with connect(postgres_url) as connection:
        migrate(connection)
        found = connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'f' AND connamespace = 'recollect'::regnamespace"
        ).fetchall()
    assert len(found) >= 8
    assert [one for (one,) in found if not one.startswith("FOREIGN KEY (tenant_id, user_id")] == []


async def test_databases_of_one_cluster_share_the_roles(start_postgres: Callable[..., PostgresServer]) -> None:
    server = start_postgres(durable=False)
    urls = [server.address.create_database(f"shop{number}") for number in range(5)]
    drivers = await asyncio.gather(*(PostgresDriver.open(url) for url in urls))
    for driver in drivers:
        assert len((await SqlStore(driver).append(ALICE, append("c1", "m1"))).messages) == 1
        await driver.close()


async def test_a_login_without_power_is_told_what_an_administrator_must_run(
    start_postgres: Callable[..., PostgresServer],
) -> None:
    server = start_postgres(durable=False)
    with connect(server.address.url()) as admin:
        admin.execute('CREATE ROLE "Little One" LOGIN')
        admin.execute("CREATE DATABASE shop")
    url = server.address.url("shop").replace("postgres@", "Little%20One@")
    with pytest.raises(StorageError) as caught:
        await PostgresDriver.open(url)
    script = str(caught.value).partition("\n")[2]
    assert script.splitlines() == [
        'CREATE SCHEMA recollect AUTHORIZATION "Little One";',
        "CREATE EXTENSION vector SCHEMA public;",
        "CREATE ROLE recollect_app NOLOGIN NOBYPASSRLS;",
        'GRANT recollect_app TO "Little One";',
        "CREATE ROLE recollect_jobs NOLOGIN NOBYPASSRLS;",
        'GRANT recollect_jobs TO "Little One" WITH INHERIT FALSE;',
        "CREATE ROLE recollect_search NOLOGIN NOBYPASSRLS;",
        'GRANT recollect_search TO "Little One" WITH INHERIT FALSE;',
        "CREATE ROLE recollect_keys NOLOGIN NOBYPASSRLS;",
        'GRANT recollect_keys TO "Little One" WITH INHERIT FALSE;',
    ]
    with connect(server.address.url("shop")) as admin:
        admin.execute(script.encode())
    driver = await PostgresDriver.open(url)
    await furnish(SqlStore(driver), ALICE)
    await driver.close()
    await _owner_is_bound(url)
    await _visitor_may_use_it(server)


async def _owner_is_bound(url: str) -> None:
    """The login owns the tables here, and still sees nothing outside of a scope."""
    with connect(url) as owner:
        for table in ("messages", "memories", "jobs", "message_terms", "users"):
            count = f"SELECT count(*) FROM recollect.{table}".encode()
            assert owner.execute(count).fetchone() == (0,)
            with owner.transaction():
                owner.execute("SELECT set_config('recollect.tenant', 'acme', true)")
                owner.execute("SELECT set_config('recollect.user', 'alice', true)")
                (found,) = owner.execute(count).fetchone() or (0,)
                assert found > 0
        assert owner.execute("DELETE FROM recollect.tombstones").rowcount == 0


async def _visitor_may_use_it(server: PostgresServer) -> None:
    """A login that owns nothing needs the role of the application only."""
    with connect(server.address.url("shop")) as admin:
        admin.execute("CREATE ROLE visitor LOGIN")
    url = server.address.url("shop").replace("postgres@", "visitor@")
    with pytest.raises(StorageError) as caught:
        await PostgresDriver.open(url)
    script = str(caught.value).partition("\n")[2]
    assert script == 'GRANT recollect_app TO "visitor";'
    with connect(server.address.url("shop")) as admin:
        admin.execute(script.encode())
    driver = await PostgresDriver.open(url)
    store = SqlStore(driver)
    await store.append(ALICE, append("new", "m1", jobs=(job("new", kind="new"),)))
    assert len(await store.claim_jobs(claims(kinds=("new",)))) == 1
    await driver.close()


async def test_a_login_that_may_create_roles_needs_only_pgvector(start_postgres: Callable[..., PostgresServer]) -> None:
    server = start_postgres(durable=False)
    with connect(server.address.url()) as admin:
        admin.execute("CREATE ROLE helper LOGIN CREATEROLE")
        admin.execute("CREATE DATABASE shop OWNER helper")
    with connect(server.address.url("shop")) as admin:
        admin.execute('CREATE SCHEMA "Other Place"')
        admin.execute('GRANT USAGE ON SCHEMA "Other Place" TO helper')
        admin.execute('CREATE EXTENSION vector SCHEMA "Other Place"')
    url = server.address.url("shop").replace("postgres@", "helper@")
    driver = await PostgresDriver.open(url)
    await furnish(SqlStore(driver), ALICE)
    await driver.close()
    with connect(url) as connection:
        assert migrate(connection, 0) == [1]
        assert migrate(connection) == [1]


async def test_a_role_that_escapes_row_security_is_refused(start_postgres: Callable[..., PostgresServer]) -> None:
    server = start_postgres(durable=False)
    await (await PostgresDriver.open(server.address.url())).close()
    with connect(server.address.url()) as admin:
        admin.execute("ALTER ROLE recollect_app BYPASSRLS")
    with pytest.raises(StorageError, match="ALTER ROLE recollect_app NOSUPERUSER NOBYPASSRLS"):
        await PostgresDriver.open(server.address.url())


async def test_a_server_without_pgvector_is_refused_by_name(shared_postgres: PostgresAddress) -> None:
    url = shared_postgres.create_database("bare")
    with connect(shared_postgres.url()) as admin:
        admin.execute("ALTER DATABASE bare SET extension_control_path = '/nowhere'")
    with pytest.raises(StorageError, match=r"no pgvector.*install"):
        await PostgresDriver.open(url)


async def test_a_database_in_another_encoding_is_refused(shared_postgres: PostgresAddress) -> None:
    with connect(shared_postgres.url()) as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0")
    try:
        with pytest.raises(StorageError, match="UTF8"):
            await PostgresDriver.open(shared_postgres.url("latin"))
    finally:
        shared_postgres.drop_database("latin")
