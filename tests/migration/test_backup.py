"""A backup is whole and verified, whatever is written meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.errors import StorageError, StorageLockedError
from recollect.storage import backup as backup_module
from recollect.storage.maintenance import RestoreOptions
from recollect.storage.sqlite_lock import FileLock
from recollect.storage.verify import Progress, unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE
from tests.migration.databases import Database, SqliteDatabase, big, fill, problems
from tests.migration.writer import MESSAGES

pytestmark = pytest.mark.spec("R31")
ROOT = Path(__file__).parents[2]


class Load:
    """A process that records turns without a pause."""

    def __init__(self, url: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.migration.writer", url], cwd=ROOT, stdin=subprocess.PIPE, stdout=output
            )

    def acknowledged(self) -> set[int]:
        return {int(line) for line in self._log.read_text().split("\n")[:-1]}

    def wait_for(self, more: int) -> set[int]:
        """Wait until this many more turns are acknowledged."""
        goal = len(self.acknowledged()) + more
        deadline = time.monotonic() + 60
        while len(self.acknowledged()) < goal:
            assert self.process.poll() is None, "the writer ended"
            assert time.monotonic() < deadline, "the writer is stuck"
            time.sleep(0.005)
        return self.acknowledged()


@contextmanager
def load(database: Database, tmp_path: Path) -> Iterator[Load]:
    writer = Load(database.url, tmp_path / "acknowledged")
    try:
        yield writer
    finally:
        assert writer.process.stdin is not None
        writer.process.stdin.close()
        assert writer.process.wait(30) == 0


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("backup")]


def turns(database: Database) -> dict[int, int]:
    """Return how many messages each turn in the database has."""
    found: dict[int, int] = {}
    for row in database.rows()["messages"]:
        number = int(str(row[5]).partition("-")[0][1:])
        found[number] = found.get(number, 0) + 1
    return found


def writing_between_pages(writer: Load) -> Progress:
    """Let turns be recorded between any two steps of the copy."""

    def wait(what: str, done: int, total: int) -> None:
        if what == "copy" and done < total:
            writer.wait_for(2)

    return wait


def test_a_backup_under_load_holds_all_that_was_acknowledged_and_no_half_turn(
    database: Database, tmp_path: Path, count: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_module, "STEP", 20)
    backups = [tmp_path / f"backup-{number}" for number in range(count(3, 50))]
    promised = []
    with load(database, tmp_path) as writer:
        for backup in backups:
            promised.append(writer.wait_for(50))
            progress = writing_between_pages(writer)
            assert database.maintenance.back_up(backup, force=False, progress=progress).damage == ()
        written = writer.wait_for(1)
    assert problems(database) == []
    assert written > promised[-1] > promised[0]
    for backup, acknowledged in zip(backups, promised, strict=True):
        database.maintenance.restore(backup, RestoreOptions(), unseen)
        assert problems(database) == []
        found = turns(database)
        assert acknowledged <= set(found)
        assert set(found.values()) == {MESSAGES}


async def test_an_existing_file_is_replaced_only_by_force(database: Database, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    async with database.store() as store:
        await fill(store)
    backup.write_text("precious")
    with pytest.raises(StorageError, match="--force"):
        database.maintenance.back_up(backup, force=False, progress=unseen)
    assert backup.read_text() == "precious"
    database.maintenance.back_up(backup, force=True, progress=unseen)
    database.maintenance.restore(backup, RestoreOptions(), unseen)
    with pytest.raises(StorageError, match="folder"):
        database.maintenance.back_up(tmp_path, force=True, progress=unseen)


async def test_nobody_else_can_read_a_backup(database: Database, tmp_path: Path) -> None:
    async with database.store() as store:
        await fill(store)
    database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0


async def test_a_database_without_tables_is_not_backed_up(database: Database, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no database|no tables"):
        database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    assert left(tmp_path) == []


async def test_two_backups_to_one_file_do_not_mix(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await store.append(ALICE, sample.append("big", *big(50)))
    refused: list[object] = []

    def second(what: str, done: int, total: int) -> None:
        if what == "copy" and not refused:
            with pytest.raises(StorageError, match="another backup") as raised:
                sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
            refused.append(raised)

    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=second)
    assert refused
    sqlite.maintenance.restore(tmp_path / "backup", RestoreOptions(), unseen)


async def test_a_backup_waits_for_no_restore(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    alone = FileLock.exclusive(sqlite.path)
    with pytest.raises(StorageLockedError, match="migrated or restored"):
        sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    alone.release()
    assert left(tmp_path) == []


async def test_a_damaged_record_is_reported_and_backed_up_as_it_is(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    sqlite.execute("UPDATE messages SET content = 'tampered' WHERE id = 'm3'")
    report = sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    assert len(report.damage) == 2
    rows = sqlite.rows()
    restored = sqlite.maintenance.restore(tmp_path / "backup", RestoreOptions(), unseen)
    assert restored.damage == report.damage
    assert sqlite.rows() == rows


async def test_a_backup_that_fails_leaves_nothing(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await store.append(ALICE, sample.append("big", *big(50)))

    def fail(what: str, done: int, total: int) -> None:
        raise OSError(28, os.strerror(28), "disk")

    with pytest.raises(OSError, match="disk"):
        sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=fail)
    assert left(tmp_path) == []
