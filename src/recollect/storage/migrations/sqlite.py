"""Apply the steps to a SQLite file."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator

import apsw

from recollect.errors import StorageError
from recollect.storage.migrations import Migration, SchemaStatus, plan, require_ready, status_of

_SALTS = ("salt", "salt again")
_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)
"""


def status(connection: apsw.Connection) -> SchemaStatus:
    """Return where the file is."""
    return status_of("sqlite", _version(connection))


def _version(connection: apsw.Connection) -> int:
    known = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").fetchall()
    if not known:
        return 0
    found = connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_migrations").fetchall()
    return int(str(found[0][0]))


def migrate(connection: apsw.Connection, target: int | None = None) -> Iterator[Migration]:
    """Apply the steps to the target one by one, giving each when it is done.

    Each step is one transaction with its record, so a kill at any time leaves the file before or after a step.
    """
    for step, direction in plan("sqlite", _version(connection), target):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if plan("sqlite", _version(connection), target)[:1] == [(step, direction)]:
                connection.execute(_RECORD)
                connection.execute(step.up if direction == "up" else step.down).fetchall()
                _record(connection, step, direction)
            connection.execute("COMMIT")
        except BaseException:  # whatever stops the step, half of it must not stay
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        yield step


def _record(connection: apsw.Connection, step: Migration, direction: str) -> None:
    if direction == "down":
        connection.execute("DELETE FROM schema_migrations WHERE version = ?", (step.version,))
        return
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ'))", (step.version, step.name)
    )
    # Without the salt nobody could tell what was erased, so it is kept twice, and each copy guards itself.
    chance = secrets.token_bytes(32)
    salt = chance + zlib.crc32(chance).to_bytes(4, "big")
    for name in _SALTS:
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, salt))


def _refuse_strangers(connection: apsw.Connection) -> None:
    """Raise for a database that another program made: our tables have no business in it."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if names and "schema_migrations" not in names:
        raise StorageError("the file is a database of another program; name another file")


def prepare(connection: apsw.Connection) -> bytes:
    """Create the tables of a new file, refuse a file of another version, and return the file's salt."""
    if _version(connection) == 0:
        _refuse_strangers(connection)
        for _ in migrate(connection):
            pass
    require_ready(status(connection))
    return read_salt(connection)


def read_salt(connection: apsw.Connection) -> bytes:
    """Return the file's salt, from whichever copy is whole."""
    for (salt,) in connection.execute("SELECT CAST(value AS BLOB) FROM meta WHERE name IN (?, ?)", _SALTS).fetchall():
        if isinstance(salt, bytes) and zlib.crc32(salt[:-4]).to_bytes(4, "big") == salt[-4:]:
            return salt
    raise StorageError("the file's salt is damaged, so nobody can tell what was erased; restore a backup")
