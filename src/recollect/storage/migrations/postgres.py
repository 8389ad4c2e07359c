"""Apply the steps to a Postgres database, and set up the schema, the roles and the extension that they rely on.

Roles belong to the whole cluster, and the extension pgvector to the whole database, so no step removes them.
Connections given here are in autocommit mode.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from recollect.errors import StorageError
from recollect.storage.migrations import Migration, SchemaStatus, plan, require_ready, status_of
from recollect.storage.postgres_packages import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

#: The role that transactions run as; it owns nothing and row security binds it.
APP_ROLE = "recollect_app"
#: The roles that own functions, and see one table each across scopes.
FUNCTION_ROLES = ("recollect_jobs", "recollect_search", "recollect_keys")
OLDEST_SERVER = 14
#: One number for everybody who migrates; it means nothing else.
_LOCK = 7_236_170_145_330_241
_SETUP_ATTEMPTS = 10

_RECORD = """
CREATE TABLE IF NOT EXISTS recollect.schema_migrations (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL
)
"""
#: Read from the catalog: `to_regclass` may still know that there was no table before another program created it.
_HAS_RECORD = """
SELECT EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'recollect' AND c.relname = 'schema_migrations'
)
"""
#: What Postgres raises if it has no such extension, in older and in newer versions.
_ABSENT = (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported)
#: Whether the extension, if there is one, is new enough to have the type of our vectors.
_EXTENSION = """
SELECT to_regtype(format('%%I.halfvec', n.nspname)) IS NOT NULL
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
_PUBLIC = "SELECT CASE WHEN to_regnamespace('public') IS NULL THEN 'recollect' ELSE 'public' END"
_RACES = (psycopg.errors.DuplicateObject, psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation)


def status(connection: Connection) -> SchemaStatus:
    """Return where the database is."""
    return status_of("postgres", _version(connection))


def _version(connection: Connection) -> int:
    if not _value(connection, _HAS_RECORD):
        return 0
    return int(_value(connection, "SELECT COALESCE(MAX(version), 0) FROM recollect.schema_migrations"))


def _value(connection: Connection, query: str, values: Sequence[Any] = ()) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    return None if row is None else row[0]


def migrate(connection: Connection, target: int | None = None) -> Iterator[Migration]:
    """Apply the steps to the target one by one, giving each when it is done.

    Each step is one transaction with its record, so a kill at any time leaves the database before or after a step.
    Of several programs that migrate at once one applies a step, and the others wait and find it done.
    """
    _set_up(connection, (APP_ROLE, *FUNCTION_ROLES))
    for step, direction in plan("postgres", _version(connection), target):
        with connection.transaction():
            # Whatever the default of the database is: what another program committed while we waited must be seen.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if plan("postgres", _version(connection), target)[:1] == [(step, direction)]:
                connection.execute("SET LOCAL search_path = recollect")
                connection.execute(_RECORD)
                connection.execute((step.up if direction == "up" else step.down).encode())
                _record(connection, step, direction)
        yield step


def _record(connection: Connection, step: Migration, direction: str) -> None:
    if direction == "down":
        connection.execute("DELETE FROM schema_migrations WHERE version = %s", (step.version,))
        return
    connection.execute(
        "INSERT INTO schema_migrations VALUES (%s, %s, %s)",
        (step.version, step.name, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
    )
    connection.execute("INSERT INTO meta VALUES ('salt', %s) ON CONFLICT DO NOTHING", (secrets.token_bytes(32),))


def prepare(connection: Connection) -> bytes:
    """Create the tables of a new database, refuse one of another version, and return the database's salt."""
    _require_server(connection)
    is_new = _value(connection, "SELECT to_regnamespace('recollect') IS NULL")
    _set_up(connection, (APP_ROLE, *FUNCTION_ROLES) if is_new else (APP_ROLE,))
    if _version(connection) == 0:
        for _ in migrate(connection):
            pass
    require_ready(status(connection))
    _require_bound_role(connection)
    salt = _value(connection, "SELECT value FROM recollect.meta WHERE name = 'salt'")
    assert isinstance(salt, bytes)  # written as bytes by the first step
    return salt


def _require_server(connection: Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER * 10_000:
        raise StorageError(f"the Postgres server is older than version {OLDEST_SERVER}; use a newer one")
    encoding = _value(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageError(f"the database has the encoding {encoding}; create it with the encoding UTF8")


def _require_bound_role(connection: Connection) -> None:
    unbound = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s"
    if _value(connection, unbound, (APP_ROLE,)):
        raise StorageError(
            f"row security does not bind the role {APP_ROLE}; "
            f"ask an administrator to run: ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS;"
        )


def _set_up(connection: Connection, roles: Sequence[str]) -> None:
    """Create the schema and the roles that are missing, and make the login a member of them.

    Another program may do the same at the same moment, also for another database of the cluster; then look again.
    """
    for _ in range(_SETUP_ATTEMPTS):
        missing = _missing(connection, roles)
        if not missing:
            return
        try:
            for statement in missing:
                connection.execute(statement.encode())
        except _ABSENT as exc:
            raise StorageError(
                "the Postgres server has no pgvector, which keeps what texts mean; install the extension pgvector "
                "0.7 or newer on the server (https://github.com/pgvector/pgvector), or use SQLite"
            ) from exc
        except psycopg.errors.InsufficientPrivilege as exc:
            script = "\n".join(f"{statement};" for statement in missing)
            raise StorageError(
                f"the login may not set up the database; ask an administrator to run in it:\n{script}"
            ) from exc
        except (*_RACES, psycopg.errors.InternalError_):
            time.sleep(random.uniform(0.01, 0.1))  # noqa: S311  # spreads retries, guards nothing
    raise StorageError("the roles of the database could not be set up; other programs keep changing them")


def _missing_extension(connection: Connection) -> list[str]:
    is_new_enough = _value(connection, _EXTENSION)
    if is_new_enough is None:
        return [f"CREATE EXTENSION vector SCHEMA {_value(connection, _PUBLIC)}"]
    if not is_new_enough:
        raise StorageError("the pgvector of the database is older than 0.7; ask an administrator to update it")
    return []


def _missing(connection: Connection, roles: Sequence[str]) -> list[str]:
    """Return the statements that are still needed, as an administrator would type them."""
    login = psycopg.sql.Identifier(str(_value(connection, "SELECT current_user"))).as_string(connection)
    knows_set = connection.info.server_version >= 160_000
    needed = []
    if _value(connection, "SELECT to_regnamespace('recollect') IS NULL"):
        needed.append(f"CREATE SCHEMA recollect AUTHORIZATION {login}")
    needed += _missing_extension(connection)
    for role in roles:
        exists = _value(connection, "SELECT true FROM pg_roles WHERE rolname = %s", (role,))
        if not exists:
            needed.append(f"CREATE ROLE {role} NOLOGIN NOBYPASSRLS")
        right = "SET" if knows_set else "MEMBER"
        if not exists or not _value(connection, "SELECT pg_has_role(%s, %s)", (role, right)):
            # The login may act as the owner of a function, but must not see what that role sees.
            narrow = " WITH INHERIT FALSE" if knows_set and role != APP_ROLE else ""
            needed.append(f"GRANT {role} TO {login}{narrow}")
    return needed
