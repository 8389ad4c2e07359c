"""Write one snapshot of a Postgres database into one archive, without any program of Postgres.

The archive is a zip file: each table in the text format of COPY, and a manifest with the schema version, the
columns, the number of rows and a digest of each table.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from recollect.errors import StorageError
from recollect.storage.backup import publish, refuse_existing, written_alone
from recollect.storage.maintenance import BackupReport, Manifest, TableDigest
from recollect.storage.migrations.postgres import status as schema_status
from recollect.storage.postgres_connection import PostgresConnection
from recollect.storage.postgres_reading import (
    PostgresSnapshot,
    connected,
    count_rows,
    require_all,
    snapshot,
    table_names,
)
from recollect.storage.verify import SEALED, Damage, Progress, Verifier

MANIFEST = "manifest.json"
CHUNK = 2**20
#: What reading a damaged archive can raise.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    msgspec.MsgspecError,
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def back_up(url: str, file: Path, *, force: bool, progress: Progress) -> BackupReport:
    """Write the backup; it has its name only once it is whole, durable and verified."""
    refuse_existing(file, force=force)
    with written_alone(file) as partial, connected(url) as connection:
        require_all(connection)
        with snapshot(connection):
            manifest = _write(connection, partial, progress)
            damage = _damage(connection, progress)
        verify_archive(partial, manifest, progress)
        publish(partial, file, force=force)
    return BackupReport(file=str(file), size=file.stat().st_size, manifest=manifest, damage=damage)


def _write(connection: PostgresConnection, partial: Path, progress: Progress) -> Manifest:
    schema = schema_status(connection).current
    if schema == 0:
        raise StorageError("the database holds no tables of Recollect; nothing was backed up")
    tables = table_names(connection)
    # Nobody may change a table between the snapshot and its turn.
    connection.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE".encode())
    digests: dict[str, TableDigest] = {}
    columns = {table: _columns(connection, table) for table in tables}
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for done, table in enumerate(tables):
            progress("copy", done, len(tables))
            digests[table] = _copy(connection, archive, table, columns[table])
        manifest = Manifest(
            dialect="postgres", schema=schema, made_at=datetime.now(UTC), tables=digests, columns=columns
        )
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
    progress("copy", len(tables), len(tables))
    return manifest


def _columns(connection: PostgresConnection, table: str) -> tuple[str, ...]:
    found = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
        "ORDER BY attnum",
        (f"recollect.{table}",),
    )
    return tuple(name for (name,) in found)


def _copy(
    connection: PostgresConnection, archive: zipfile.ZipFile, table: str, columns: tuple[str, ...]
) -> TableDigest:
    sha, rows = hashlib.sha256(), 0
    command = f"COPY {table} ({', '.join(columns)}) TO STDOUT"
    with (
        archive.open(member(table), "w", force_zip64=True) as target,
        connection.cursor() as cursor,
        cursor.copy(command.encode()) as source,
    ):
        for data in source:
            target.write(data)
            sha.update(data)
            rows += bytes(data).count(b"\n")
    return TableDigest(rows=rows, sha256=sha.hexdigest())


def member(table: str) -> str:
    """Name the part of the archive that holds a table."""
    return f"tables/{table}.copy"


def _damage(connection: PostgresConnection, progress: Progress) -> tuple[Damage, ...]:
    if not schema_status(connection).is_ready:
        return ()
    totals = count_rows(connection, (*SEALED, "memory_sources"))
    return tuple(Verifier(PostgresSnapshot(connection), totals, progress).damage())


@contextmanager
def opened(file: Path) -> Iterator[zipfile.ZipFile]:
    """Give the archive; whatever is wrong with it becomes one error."""
    if not file.is_file():
        raise StorageError(f"there is no file {file}")
    if not zipfile.is_zipfile(file):
        raise StorageError(f"{file} is not a whole backup of a Postgres database; use another backup")
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except _UNREADABLE as exc:
        raise StorageError(f"{file} is damaged ({type(exc).__name__}); use another backup") from exc


def read_manifest(file: Path) -> Manifest:
    """Return what a backup says of itself, or raise for a file that is none."""
    with opened(file) as archive:
        if MANIFEST not in archive.namelist():
            raise StorageError(f"{file} is not a backup")
        return msgspec.json.decode(archive.read(MANIFEST), type=Manifest)


def verify_archive(file: Path, manifest: Manifest, progress: Progress) -> None:
    """Raise unless the archive holds exactly what its manifest says."""
    with opened(file) as archive:
        for done, (table, expected) in enumerate(manifest.tables.items()):
            progress("digest", done, len(manifest.tables))
            sha, rows = hashlib.sha256(), 0
            for data in parts(archive, table):
                sha.update(data)
                rows += data.count(b"\n")
            if expected != TableDigest(rows=rows, sha256=sha.hexdigest()):
                raise StorageError(f"{file} is damaged (the table {table} differs); use another backup")
        progress("digest", len(manifest.tables), len(manifest.tables))


def parts(archive: zipfile.ZipFile, table: str) -> Iterator[bytes]:
    """Give the content of a table in parts."""
    with archive.open(member(table)) as source:
        while data := source.read(CHUNK):
            yield data
