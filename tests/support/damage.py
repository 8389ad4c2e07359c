"""Damage a stored record behind the back of the store, as a failing disk would."""

from __future__ import annotations

import apsw
import psycopg
from psycopg import sql

from recollect.domain.scope import Scope

#: The column of each table that is damaged, and what with.
COLUMNS = {"messages": "content", "summaries": "content", "conversations": "message_count"}


def damage(url: str, scope: Scope, table: str, record_id: str) -> int:
    """Change one record without its checksum; return how many were changed."""
    column = COLUMNS[table]
    value = f"{column} + 1" if table == "conversations" else f"{column} || '!'"
    given = (scope.tenant, scope.user, record_id)
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            statement = f"UPDATE recollect.{table} SET {column} = {value} WHERE (tenant_id, user_id, id) = (%s, %s, %s)"
            return connection.execute(sql.SQL(statement), given).rowcount
    file = opened(url)
    try:
        where = "tenant_id = ? AND user_id = ? AND id = ?"
        file.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}", given)
        return file.changes()
    finally:
        file.close()


def stored(url: str, scope: Scope, table: str) -> int:
    """Count the records of a user."""
    given = (scope.tenant, scope.user)
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            counting = f"SELECT COUNT(*) FROM recollect.{table} WHERE (tenant_id, user_id) = (%s, %s)"
            row = connection.execute(sql.SQL(counting), given).fetchone()
            return int(row[0]) if row else 0
    file = opened(url)
    try:
        return int(file.execute(f"SELECT COUNT(*) FROM {table} WHERE tenant_id = ? AND user_id = ?", given).get)
    finally:
        file.close()


def opened(path: str) -> apsw.Connection:
    """Open the file with the SQLite that the store uses: two of them in one process undo each other's locks."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(30_000)
    return connection
