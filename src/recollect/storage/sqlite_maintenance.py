"""Look after a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from recollect.errors import StorageError
from recollect.storage import verify_sqlite
from recollect.storage.backup import back_up
from recollect.storage.maintenance import BackupReport, DatabaseStatus, RestoreOptions, RestoreReport
from recollect.storage.migrations import Direction, Migration, plan, require_ready
from recollect.storage.migrations.sqlite import migrate, status
from recollect.storage.restore import restore
from recollect.storage.sqlite_connection import connect, our_errors
from recollect.storage.sqlite_reading import alone, read_status, require_file, snapshot
from recollect.storage.verify import Damage, Progress


class SqliteMaintenance:
    """One SQLite file, looked after."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def status(self) -> DatabaseStatus:
        """Look at the file."""
        return read_status(self._path)

    def plan(self, target: int | None) -> list[tuple[Migration, Direction]]:
        """Return the steps to a schema version."""
        schema = self.status().schema
        return plan("sqlite", 0 if schema is None else schema.current, target)

    def migrate(self, target: int | None) -> Iterator[Migration]:
        """Apply the steps, each in a transaction with its record."""
        with alone(self._path) as path, our_errors():
            connection = connect(str(path))
            try:
                yield from migrate(connection, target)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                connection.close(True)

    def back_up(self, file: Path, *, force: bool, progress: Progress) -> BackupReport:
        """Copy the file while it is in use."""
        return back_up(self._path, file, force=force, progress=progress)

    def restore(self, file: Path, options: RestoreOptions, progress: Progress) -> RestoreReport:
        """Put a backup in the place of the file."""
        return restore(self._path, file, options, progress)

    def check(self, *, repair: bool, progress: Progress) -> Iterator[Damage]:
        """Give everything that is wrong with the file as it is now."""
        if repair:
            self._repair(progress)
        try:
            with snapshot(self._path) as connection:
                require_ready(status(connection))
                yield from verify_sqlite.damage(connection, progress)
        except StorageError as exc:
            if not isinstance(exc.__cause__, verify_sqlite.UNREADABLE):
                raise
            yield Damage(kind="file", table="file", record=str(self._path), problem=str(exc))

    def _repair(self, progress: Progress) -> None:
        require_file(self._path)
        with alone(self._path) as path, our_errors():
            connection = connect(str(path))
            try:
                require_ready(status(connection))
                verify_sqlite.rebuild_index(connection, progress)
            finally:
                connection.close(True)
