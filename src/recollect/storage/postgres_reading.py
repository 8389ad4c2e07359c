"""Look at a Postgres database as a whole, whoever it belongs to, or have it alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from recollect.errors import StorageError, StorageLockedError
from recollect.settings import masked
from recollect.storage.driver import Row
from recollect.storage.maintenance import COUNTED, DatabaseStatus
from recollect.storage.migrations.postgres import status as schema_status
from recollect.storage.postgres_connection import (
    PostgresConnection,
    PostgresOptions,
    connection_string,
    our_errors,
)
from recollect.storage.postgres_packages import Int8Dumper, psycopg
from recollect.storage.queries import load_queries
from recollect.storage.verify import PAGE

_SESSION = """
SELECT set_config('search_path', 'recollect', false), set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '10s', false), set_config('idle_in_transaction_session_timeout', '0', false)
"""
_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = to_regnamespace('recollect') AND relkind = 'r' AND relname <> 'schema_migrations' ORDER BY relname
"""
#: How often, and after which pause, a connection that seems to be there is looked for again.
_FAREWELLS, _FAREWELL_SECONDS = 20, 0.1
_SERVERS = """
SELECT COUNT(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'recollect'
"""


@contextmanager
def connected(url: str) -> Iterator[PostgresConnection]:
    """Give a connection that waits as long as a large database takes; each statement is its own transaction."""
    address = connection_string(url, PostgresOptions())
    with our_errors():
        connection = PostgresConnection.connect(address, autocommit=True, application_name="recollect db")
        try:
            connection.patience = math.inf
            connection.adapters.register_dumper(int, Int8Dumper)
            connection.execute(_SESSION)
            yield connection
        finally:
            connection.close()


@contextmanager
def snapshot(connection: PostgresConnection) -> Iterator[None]:
    """See one moment of the database until the end; writers go on beside it."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    with connection.transaction():
        yield


def value(connection: PostgresConnection, query: str, values: Sequence[Any] = ()) -> Any:
    """Return the first column of the first row, or None."""
    row = connection.execute(query.encode(), values).fetchone()
    return None if row is None else row[0]


def sees_all(connection: PostgresConnection) -> bool:
    """Tell whether row security hides nothing from the login."""
    return bool(value(connection, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"))


def require_all(connection: PostgresConnection) -> None:
    """Raise if the login would see only a part of the rows and take it for the whole."""
    if not sees_all(connection):
        login = psycopg.sql.Identifier(str(value(connection, "SELECT current_user"))).as_string(connection)
        raise StorageError(
            f"row security hides the rows of all users from the login {login}; give --database a login that it does "
            f"not bind, or ask an administrator to run: ALTER ROLE {login} BYPASSRLS;"
        )


def require_alone(connection: PostgresConnection) -> None:
    """Raise while a server uses the database; Postgres takes a moment to see that one has gone."""
    servers = value(connection, _SERVERS)
    for _ in range(_FAREWELLS):
        if not servers:
            return
        time.sleep(_FAREWELL_SECONDS)
        # Within a transaction Postgres shows what it saw first.
        connection.execute("SELECT pg_stat_clear_snapshot()")
        servers = value(connection, _SERVERS)
    if servers:
        raise StorageLockedError(f"{servers} connections of a server use the database; stop the server first")


def table_names(connection: PostgresConnection) -> tuple[str, ...]:
    """Return the tables of data."""
    return tuple(name for (name,) in connection.execute(_TABLES))


def count_rows(connection: PostgresConnection, tables: Sequence[str]) -> dict[str, int]:
    """Count the rows of these tables; one that does not exist has none."""
    known = set(table_names(connection))
    return {
        table: int(value(connection, f'SELECT COUNT(*) FROM "{table}"')) if table in known else 0 for table in tables
    }


class PostgresSnapshot:
    """Named queries inside the transaction of a connection, which sees one moment of the database."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection
        self._queries = load_queries("postgres")

    def walk(self, query: str) -> Iterator[Row]:
        """Give the rows one by one."""
        with self._connection.cursor(name=query) as cursor:
            cursor.itersize = PAGE
            yield from cursor.execute(self._queries[query].encode())

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""
        return self._connection.execute(self._queries[query].encode(), values).fetchall()


def read_status(url: str) -> DatabaseStatus:
    """Describe the database; a login that row security binds gets no counts."""
    with connected(url) as connection, snapshot(connection):
        schema = schema_status(connection)
        return DatabaseStatus(
            database=masked(url),
            schema=schema,
            size=int(value(connection, "SELECT pg_database_size(current_database())")),
            journal_mode=f"wal, synchronous_commit {value(connection, 'SHOW synchronous_commit')}",
            counts=count_rows(connection, COUNTED) if sees_all(connection) else {},
        )
