"""Look after a Postgres database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.storage import verify_postgres
from recollect.storage.backup_postgres import back_up
from recollect.storage.maintenance import BackupReport, DatabaseStatus, RestoreOptions, RestoreReport
from recollect.storage.migrations import Direction, Migration, plan, require_ready
from recollect.storage.migrations.postgres import migrate, status
from recollect.storage.postgres_reading import (
    connected,
    read_status,
    require_all,
    require_alone,
    snapshot,
)
from recollect.storage.restore_postgres import restore
from recollect.storage.verify import Damage, Progress


class PostgresMaintenance:
    """One Postgres database, looked after."""

    def __init__(self, url: str) -> None:
        self._url = url

    def status(self) -> DatabaseStatus:
        """Look at the database."""
        return read_status(self._url)

    def plan(self, target: int | None) -> list[tuple[Migration, Direction]]:
        """Return the steps to a schema version."""
        with connected(self._url) as connection:
            return plan("postgres", status(connection).current, target)

    def migrate(self, target: int | None) -> Iterator[Migration]:
        """Apply the steps, each in a transaction with its record; a step back needs the database alone."""
        with connected(self._url) as connection:
            steps = plan("postgres", status(connection).current, target)
            if any(direction == "down" for _, direction in steps):
                require_alone(connection)
            yield from migrate(connection, target)

    def back_up(self, file: Path, *, force: bool, progress: Progress) -> BackupReport:
        """Copy one snapshot of every table while they are in use."""
        return back_up(self._url, file, force=force, progress=progress)

    def restore(self, file: Path, options: RestoreOptions, progress: Progress) -> RestoreReport:
        """Replace what the tables hold."""
        return restore(self._url, file, options, progress)

    def check(self, *, repair: bool, progress: Progress) -> Iterator[Damage]:
        """Give everything that is wrong with the database as it is now."""
        with connected(self._url) as connection:
            require_ready(status(connection))
            require_all(connection)
            if repair:
                require_alone(connection)
                with connection.transaction():
                    verify_postgres.rebuild_index(connection, progress)
            with snapshot(connection):
                yield from verify_postgres.damage(connection, progress)
