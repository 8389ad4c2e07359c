"""A backup brings everything back, or says why it cannot and changes nothing."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from recollect.domain.page import MessageQuery, SearchQuery
from recollect.errors import StorageError, StorageLockedError
from recollect.storage.maintenance import RestoreOptions, RestoreReport
from recollect.storage.verify import unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, ids_of
from recollect.testing.store.dump import dump
from tests.migration.databases import Database, SqliteDatabase, fill, problems
from tests.migration.steps import MORE, more_steps

pytestmark = pytest.mark.spec("R31")


def restore(database: Database, backup: Path, **options: bool) -> RestoreReport:
    return database.maintenance.restore(backup, RestoreOptions(**options), unseen)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


@pytest.fixture
async def backup(database: Database, tmp_path: Path) -> Path:
    """Give the backup of a filled database; more was stored in it since."""
    file = tmp_path / "backup"
    async with database.store() as store:
        await fill(store)
        database.maintenance.back_up(file, force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
    return file


async def test_a_restore_brings_back_exactly_what_was_backed_up(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    async with database.store() as store:
        await fill(store)
        before, rows, schema = await dump(store, ALICE), database.rows(), database.schema()
        database.maintenance.back_up(file, force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
        await store.append(ALICE, sample.append("c9", "later"))
    assert database.rows() != rows

    report = restore(database, file)

    assert not report.erased.any()
    assert (report.damage, report.migrated, report.old) == ((), (), None)
    assert (database.rows(), database.schema()) == (rows, schema)
    assert problems(database) == []
    async with database.store() as store:
        assert await dump(store, ALICE) == before
        await store.append(ALICE, sample.append("c1", "afterwards"))
        hits = await store.search_messages(ALICE, SearchQuery(text="words m3 afterwards"))
        assert {"m3", "afterwards"} <= {hit.message.id for hit in hits}


async def test_a_backup_is_restored_where_there_are_no_tables(database: Database, backup: Path) -> None:
    restore(database, backup)
    rows = database.rows()
    for _ in database.maintenance.migrate(0):
        pass
    restore(database, backup)
    assert database.rows() == rows
    assert problems(database) == []


def test_an_older_backup_is_brought_to_the_current_schema(database: Database, backup: Path) -> None:
    restore(database, backup)
    rows = database.rows()
    with more_steps():
        for _ in database.maintenance.migrate(None):
            pass
        schema = database.schema()
        report = restore(database, backup)
        assert (report.manifest.schema, len(report.migrated)) == (1, MORE)
        assert database.schema() == schema
        assert {name: found for name, found in database.rows().items() if name in rows} == rows
        assert problems(database) == []
        database.maintenance.back_up(backup, force=True, progress=unseen)
    newer, kept = database.rows(), backup.read_bytes()
    with pytest.raises(StorageError, match="install a newer recollect"):
        restore(database, backup)
    assert (database.rows(), backup.read_bytes()) == (newer, kept)


async def test_a_backup_is_restored_on_another_machine(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    elsewhere = SqliteDatabase(tmp_path / "new" / "folder" / "recollect.db")
    restore(elsewhere, tmp_path / "backup")
    assert elsewhere.rows() == sqlite.rows()
    assert files(elsewhere.path.parent) == {"recollect.db"}


def not_a_database(file: Path) -> None:
    file.write_text("Dear diary, " * 1000)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def missing(file: Path) -> None:
    file.unlink()


def half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def short_of_one_byte(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def only_a_header(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def test_what_is_no_whole_backup_is_refused_and_nothing_changes(database: Database, backup: Path) -> None:
    rows, before, whole = database.rows(), files(backup.parent), backup.read_bytes()
    for spoil in (not_a_database, empty, half, short_of_one_byte, only_a_header, missing, folder):
        backup.unlink(missing_ok=True)
        backup.write_bytes(whole)
        spoil(backup)
        with pytest.raises(StorageError) as raised:
            restore(database, backup)
        assert str(backup) in str(raised.value), spoil
        assert database.rows() == rows
        assert files(backup.parent) <= before


def database_of_another_program(file: Path) -> str:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE meta (name, value)")
    connection.close()
    return "is not a backup"


def of_the_future(file: Path) -> str:
    connection = apsw.Connection(str(file))
    connection.execute("UPDATE meta SET value = replace(value, '\"schema\":1', '\"schema\":99') WHERE name = 'backup'")
    connection.close()
    return "schema 99"


def without_a_manifest(file: Path) -> str:
    connection = apsw.Connection(str(file))
    connection.execute("DELETE FROM meta WHERE name = 'backup'")
    connection.close()
    return "recollect db backup"


def with_one_more_row(file: Path) -> str:
    connection = apsw.Connection(str(file))
    connection.execute("DELETE FROM tombstones")
    connection.close()
    return "differs from the manifest"


@pytest.mark.parametrize("change", [database_of_another_program, of_the_future, without_a_manifest, with_one_more_row])
async def test_a_file_that_sqlite_can_read_is_not_yet_a_backup(
    change: Callable[[Path], str], sqlite: SqliteDatabase
) -> None:
    async with sqlite.store() as store:
        await fill(store)
    file = sqlite.path.with_name("backup")
    sqlite.maintenance.back_up(file, force=False, progress=unseen)
    rows, expected = sqlite.rows(), change(file)
    with pytest.raises(StorageError, match=expected):
        restore(sqlite, file)
    assert sqlite.rows() == rows
    assert files(file.parent) == {"recollect.db", "backup"}


def test_a_flipped_bit_is_noticed_or_harmless(
    database: Database, backup: Path, seed: int, count: Callable[[int, int], int]
) -> None:
    restore(database, backup)
    rows, content, rng = database.rows(), backup.read_bytes(), random.Random(seed)
    # Most of a small file is unused, and a bit of that is never missed.
    used = [place for place, byte in enumerate(content) if byte]
    noticed = 0
    for _ in range(count(25, 500) if database.kind == "sqlite" else count(10, 200)):
        place = rng.choice(used)
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(8)
        backup.write_bytes(changed)
        try:
            restore(database, backup)
        except StorageError:
            noticed += 1
        assert database.rows() == rows, place
    assert noticed


async def test_a_database_that_a_store_has_open_is_not_replaced(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
        sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
        rows = sqlite.rows()
        with pytest.raises(StorageLockedError, match="another process has it open"):
            restore(sqlite, tmp_path / "backup")
        with pytest.raises(StorageLockedError, match="another process has it open"):
            next(iter(sqlite.maintenance.migrate(0)))
        with pytest.raises(StorageLockedError, match="another process has it open"):
            list(sqlite.maintenance.check(repair=True, progress=unseen))
        assert sqlite.rows() == rows
        await store.append(ALICE, sample.append("c1", "much later"))


async def test_the_database_cannot_be_restored_onto_itself(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    shutil.copy(tmp_path / "backup", sqlite.path)
    with pytest.raises(StorageError, match="the database itself"):
        restore(sqlite, sqlite.path)
    with pytest.raises(StorageError, match="the database itself"):
        sqlite.maintenance.back_up(sqlite.path, force=True, progress=unseen)


async def test_the_old_database_is_kept_if_asked_for_and_never_overwritten(
    sqlite: SqliteDatabase, tmp_path: Path
) -> None:
    async with sqlite.store() as store:
        await fill(store)
        sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
    rows = sqlite.rows()
    report = restore(sqlite, tmp_path / "backup", keep_old=True)
    assert report.old is not None
    old = SqliteDatabase(Path(report.old))
    assert old.rows() == rows
    assert sqlite.maintenance.status().leftovers == (report.old,)
    with pytest.raises(StorageError, match="move or remove it first"):
        restore(sqlite, tmp_path / "backup")
    assert old.rows() == rows


async def test_a_damaged_database_is_replaced_only_if_its_erasures_may_be_lost(
    sqlite: SqliteDatabase, tmp_path: Path
) -> None:
    async with sqlite.store() as store:
        await fill(store)
    rows = sqlite.rows()
    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    damaged = b"\0" * 4096 + sqlite.content()[4096:]
    sqlite.path.write_bytes(damaged)
    sqlite.path.with_name("recollect.db-wal").write_bytes(b"what a dead process left")
    with pytest.raises(StorageError, match="--lose-erasures"):
        restore(sqlite, tmp_path / "backup")
    assert sqlite.content() == damaged
    report = restore(sqlite, tmp_path / "backup", lose_erasures=True, keep_old=True)
    assert sqlite.rows() == rows
    assert problems(sqlite) == []
    assert report.old is not None
    assert SqliteDatabase(Path(report.old)).content() == damaged


async def test_a_database_of_another_program_is_never_replaced(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    foreign = SqliteDatabase(tmp_path / "foreign.db")
    foreign.path.touch()
    foreign.execute("CREATE TABLE precious (value)")
    content = foreign.content()
    with pytest.raises(StorageError, match="another program"):
        restore(foreign, tmp_path / "backup", lose_erasures=True)
    assert foreign.content() == content


async def test_a_backup_of_another_database_does_not_silently_drop_erasures(database: Database, backup: Path) -> None:
    for target in (0, None):
        for _ in database.maintenance.migrate(target):
            pass
    restore(database, backup)
    for target in (0, None):
        for _ in database.maintenance.migrate(target):
            pass
    async with database.store() as store:
        await fill(store)
    rows = database.rows()
    with pytest.raises(StorageError, match="another database"):
        restore(database, backup)
    assert database.rows() == rows
    report = restore(database, backup, lose_erasures=True)
    # What was erased here is erased there too, as far as both had it.
    assert report.erased.messages == 0
    async with database.store() as store:
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert "m5" not in ids_of(page.messages)


async def test_a_database_behind_a_link_is_restored_behind_it(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    async with sqlite.store() as store:
        await fill(store)
    rows = sqlite.rows()
    sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    (tmp_path / "links").mkdir()
    link = SqliteDatabase(tmp_path / "links" / "recollect.db")
    link.path.symlink_to(sqlite.path)
    async with link.store() as store:
        await store.append(ALICE, sample.append("c1", "later"))
        with pytest.raises(StorageLockedError):
            restore(link, tmp_path / "backup")
    restore(link, tmp_path / "backup")
    assert link.path.is_symlink()
    assert sqlite.rows() == rows
