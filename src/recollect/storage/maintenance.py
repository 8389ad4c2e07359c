"""What a person can do to a database as a whole, the same for every dialect.

These run in a process of their own, beside a server or instead of it, and block; the service never calls them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from recollect.domain.erasure import Erased
from recollect.storage.migrations import Direction, Migration, SchemaStatus
from recollect.storage.verify import Damage, Progress

#: What `status` counts.
COUNTED = ("users", "conversations", "messages", "memories", "notes", "jobs", "tombstones", "quarantine")


class DatabaseStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to know of a database at a glance."""

    database: str
    #: None while there is no database at the address.
    schema: SchemaStatus | None = None
    size: int = 0
    journal_mode: str = ""
    counts: dict[str, int] = {}
    #: Files that an interrupted or careful command left beside the database.
    leftovers: tuple[str, ...] = ()


class TableDigest(msgspec.Struct, frozen=True, kw_only=True):
    """What a table of a backup holds."""

    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself, so that every changed bit of it is noticed."""

    dialect: str
    schema: int
    made_at: datetime
    tables: dict[str, TableDigest]
    #: The columns of each table in the order of the backup; empty where the file has them itself.
    columns: dict[str, tuple[str, ...]] = {}


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds."""

    file: str
    size: int
    manifest: Manifest
    #: Records that were damaged in the database already; they are in the backup as they are.
    damage: tuple[Damage, ...] = ()


class RestoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to restore."""

    #: Leave the database that was replaced beside the new one.
    keep_old: bool = False
    #: Restore even if what the database in place knows of erasures cannot be carried over.
    lose_erasures: bool = False


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore did."""

    manifest: Manifest
    #: What was erased since the backup was made and is erased in the restored data too.
    erased: Erased
    #: Marks of erasures that were carried over.
    tombstones: int
    migrated: tuple[str, ...] = ()
    damage: tuple[Damage, ...] = ()
    #: Where the replaced database is, if it was kept.
    old: str | None = None


class Maintenance(Protocol):
    """One database, looked after."""

    def status(self) -> DatabaseStatus:
        """Look at the database; one that does not exist is no error."""

    def plan(self, target: int | None) -> list[tuple[Migration, Direction]]:
        """Return the steps that lead to a schema version; None means the latest."""

    def migrate(self, target: int | None) -> Iterator[Migration]:
        """Apply the steps one by one, alone with the database, giving each when it is done."""

    def back_up(self, file: Path, *, force: bool, progress: Progress) -> BackupReport:
        """Write one consistent, verified backup while the database is in use.

        The file appears whole or not at all; an existing one is replaced only by `force`.
        """

    def restore(self, file: Path, options: RestoreOptions, progress: Progress) -> RestoreReport:
        """Put a backup in the place of the database, alone with it, and erase again what was erased since.

        A kill at any moment leaves the old or the new database in place, whole.
        """

    def check(self, *, repair: bool, progress: Progress) -> Iterator[Damage]:
        """Give everything that is wrong; `repair` rebuilds the search index first and changes nothing else."""
