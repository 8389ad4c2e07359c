"""Put a backup into a Postgres database in one transaction: before its commit nothing has changed.

The tables stay, with their owners, rights and row security; only what they hold is replaced.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

from recollect.errors import StorageError
from recollect.storage import verify_postgres
from recollect.storage.backup_postgres import opened, parts, read_manifest, verify_archive
from recollect.storage.maintenance import Manifest, RestoreOptions, RestoreReport
from recollect.storage.migrations.postgres import migrate
from recollect.storage.migrations.postgres import status as schema_status
from recollect.storage.postgres_connection import PostgresConnection
from recollect.storage.postgres_reading import connected, require_all, require_alone, table_names, value
from recollect.storage.postgres_transaction import PostgresTransaction
from recollect.storage.queries import load_queries
from recollect.storage.replay import Erasures, Replayed, gather, replay_or_refuse
from recollect.storage.restore import require_known
from recollect.storage.verify import Damage, Progress

_REFERENCES = """
SELECT DISTINCT a.relname, b.relname FROM pg_constraint c
JOIN pg_class a ON a.oid = c.conrelid JOIN pg_class b ON b.oid = c.confrelid
WHERE c.contype = 'f' AND c.connamespace = to_regnamespace('recollect')
"""
_SEQUENCES = """
SELECT table_name, column_name, pg_get_serial_sequence(format('%I.%I', table_schema, table_name), column_name)
FROM information_schema.columns WHERE table_schema = 'recollect' AND is_identity = 'YES'
"""


def restore(url: str, file: Path, options: RestoreOptions, progress: Progress) -> RestoreReport:
    """Verify the backup, put it in place, and erase in it what was erased since."""
    if options.keep_old:
        raise StorageError("a Postgres database has no old file to keep; make a backup of it first")
    manifest = read_manifest(file)
    if manifest.dialect != "postgres":
        raise StorageError(f"{file} is not a backup of a Postgres database")
    require_known(file, manifest)
    verify_archive(file, manifest, progress)
    with connected(url) as connection:
        require_all(connection)
        # Roles are made outside of the transaction, because trying to may fail, and that would end it.
        list(migrate(connection, schema_status(connection).current))
        with connection.transaction():
            require_alone(connection)
            past = _erasures_in_place(connection, options)
            list(migrate(connection, manifest.schema))
            _replace(connection, file, manifest, progress)
            migrated = tuple(f"{step.version:04} {step.name}" for step in migrate(connection))
            replayed = _replay(connection, past, options)
            damage = _remaining(connection, progress)
            # One that started meanwhile waits for our locks, and must not go on with what it remembers.
            require_alone(connection)
        connection.execute(f"ANALYZE {', '.join(table_names(connection))}".encode())
    return RestoreReport(
        manifest=manifest,
        erased=replayed.erased,
        tombstones=replayed.tombstones,
        migrated=migrated,
        damage=damage,
    )


def _erasures_in_place(connection: PostgresConnection, options: RestoreOptions) -> Erasures | None:
    """Read what was erased from the database that is about to be replaced."""
    status = schema_status(connection)
    if status.current == 0:
        return None
    if status.is_ready:
        return gather(_OpenTransaction(connection))
    if options.lose_erasures:
        return None
    raise StorageError(
        f"the database has schema {status.current}, so what was erased from it cannot be read; "
        "run `recollect db migrate` first, or pass --lose-erasures to restore all the same"
    )


class _OpenTransaction(PostgresTransaction):
    """Named queries inside a transaction that somebody else began and will end."""

    def __init__(self, connection: PostgresConnection) -> None:
        salt = value(connection, "SELECT value FROM meta WHERE name = 'salt'")
        queries = {name: sql.encode() for name, sql in load_queries("postgres").items()}
        super().__init__(connection, queries, bytes(salt), None, writes=True)
        self._ahead = []

    def leave(self) -> None:
        """Be nobody's scope again and write the search index."""
        with self._connection.pipeline():
            self._send_ahead()
        self._connection.execute("SELECT set_config('role', 'none', true)")
        for sql, values in self._index_changes():
            self._connection.execute(sql, values)


def _replace(connection: PostgresConnection, file: Path, manifest: Manifest, progress: Progress) -> None:
    tables = table_names(connection)
    if set(tables) != set(manifest.tables):
        raise StorageError(f"{file} does not hold the tables of schema {manifest.schema}; use another backup")
    connection.execute(f"TRUNCATE {', '.join(tables)}".encode())
    order = TopologicalSorter[str]({table: [] for table in tables})
    for child, parent in connection.execute(_REFERENCES):
        order.add(child, parent)
    with opened(file) as archive, connection.cursor() as cursor:
        for done, table in enumerate(order.static_order()):
            progress("restore", done, len(tables))
            command = f"COPY {table} ({', '.join(manifest.columns[table])}) FROM STDIN"
            with cursor.copy(command.encode()) as target:
                for data in parts(archive, table):
                    target.write(data)
    for table, column, sequence in connection.execute(_SEQUENCES).fetchall():
        # Never back: a number that was given once may be remembered somewhere.
        query = f"""
            SELECT setval('{sequence}', GREATEST((SELECT MAX({column}) FROM {table}), nextval('{sequence}')))
        """
        connection.execute(query.encode())
    progress("restore", len(tables), len(tables))


def _replay(connection: PostgresConnection, past: Erasures | None, options: RestoreOptions) -> Replayed:
    tx = _OpenTransaction(connection)
    replayed = replay_or_refuse(tx, past, lose=options.lose_erasures)
    tx.leave()
    return replayed


def _remaining(connection: PostgresConnection, progress: Progress) -> tuple[Damage, ...]:
    """Return the damage that the backup brought with it; a key or reference that is wrong ends the restore."""
    found = tuple(verify_postgres.damage(connection, progress))
    for one in found:
        if one.kind in {"file", "reference"} and one.table not in {"memory_sources", "repeats"}:
            raise StorageError(f"the restored data is damaged ({one.table} {one.problem}); nothing was changed")
    return tuple(one for one in found if one.kind != "index")
