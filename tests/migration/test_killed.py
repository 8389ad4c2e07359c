"""A backup, a restore or a migration that is killed at any moment leaves a whole database, and can be done again."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from recollect.domain.memory import Source
from recollect.errors import StorageError
from recollect.storage.backup import read_manifest, verified
from recollect.storage.maintenance import RestoreOptions
from recollect.storage.verify import unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, after
from tests.migration.databases import SqliteDatabase, big, fill, problems
from tests.migration.killed_child import Outcome, Task
from tests.migration.steps import MORE, more_steps

pytestmark = [pytest.mark.spec("R31"), pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
Count = Callable[[int, int], int]


class Killer:
    """Runs tasks in children of a process that is ready for them."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.migration.killed_child"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, task: Task) -> Outcome:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(msgspec.json.encode(task) + b"\n")
        stdin.flush()
        return msgspec.json.decode(stdout.readline(), type=Outcome)

    def close(self) -> None:
        self._process.communicate(timeout=20)


@pytest.fixture(scope="module")
def kill() -> Iterator[Killer]:
    killer = Killer()
    yield killer
    killer.close()


def deaths(kill: Killer, task: Task, prepare: Callable[[], object], rng: random.Random, times: int) -> Iterator[None]:
    """Prepare and kill again and again: half of the times at a line of ours, half of them after some time."""
    prepare()
    lines = kill(task).lines
    prepare()
    seconds = kill(msgspec.structs.replace(task, count=False)).seconds
    died = 0
    for turn in range(times):
        prepare()
        if turn % 2:
            again = msgspec.structs.replace(task, count=False, die_after=rng.uniform(0, seconds))
        else:
            again = msgspec.structs.replace(task, die_at_line=rng.randint(1, lines))
        died += kill(again).killed
        yield
    assert died > times / 3


def refill(folder: Path, source: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    """Give a folder with a database and an older backup of it; things were stored and erased in between."""
    database = SqliteDatabase(tmp_path / "filled" / "recollect.db")
    async with database.store() as store:
        await fill(store)
        await store.append(ALICE, sample.append("big", *big(100)))
        learned = sample.memory("yb", origin="user", sources=(Source("big", "big-1"),))
        await store.add_memories(ALICE, (learned,))
        database.maintenance.back_up(database.path.with_name("backup"), force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
        await store.erase_message(ALICE, "big", "big-1", sample.erasure("r2", at=after(2)))
        await store.erase_memory(ALICE, "y1", sample.erasure("r3", at=after(3)))
        await store.erase_conversation(ALICE, "c2", sample.erasure("r4", at=after(4)))
    return database.path.parent


def test_a_killed_restore_leaves_the_old_or_the_new_database(
    filled: Path, tmp_path: Path, kill: Killer, seed: int, count: Count
) -> None:
    database = SqliteDatabase(tmp_path / "work" / "recollect.db")
    backup = database.path.with_name("backup")
    refill(backup.parent, filled)
    old = database.rows()
    database.maintenance.restore(backup, RestoreOptions(), unseen)
    new = database.rows()
    assert new != old
    task, seen = Task(action="restore", url=database.url, file=str(backup)), set()
    for _ in deaths(kill, task, lambda: refill(backup.parent, filled), random.Random(seed), count(40, 2000)):
        assert problems(database) == []
        rows = database.rows()
        assert rows in (old, new)
        seen.add(rows == new)
        left = backup.with_name("recollect.db.before-restore")
        if left.exists() and not left.samefile(database.path):
            # The one moment that needs a person: both are whole, and the message says so.
            with pytest.raises(StorageError, match="move or remove it first"):
                database.maintenance.restore(backup, RestoreOptions(), unseen)
            assert SqliteDatabase(left).rows() == old
            left.unlink()
        database.maintenance.restore(backup, RestoreOptions(), unseen)
        assert database.rows() == new
        assert database.maintenance.status().leftovers == ()
    assert False in seen


def test_a_killed_backup_leaves_the_earlier_one(
    filled: Path, tmp_path: Path, kill: Killer, seed: int, count: Count
) -> None:
    database = SqliteDatabase(tmp_path / "work" / "recollect.db")
    backup = database.path.with_name("backup")
    task = Task(action="backup", url=database.url, file=str(backup))
    for _ in deaths(kill, task, lambda: refill(backup.parent, filled), random.Random(seed), count(20, 1000)):
        assert verified(backup, read_manifest(backup), unseen, "damaged") == ()
        assert problems(database) == []
        database.maintenance.back_up(backup, force=True, progress=unseen)
        assert read_manifest(backup).tables["tombstones"].rows > 2
        assert not list(backup.parent.glob("*.partial*"))


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize("start", [0, None], ids=["up", "down"])
def test_a_killed_migration_stops_between_two_steps_and_goes_on(
    start: int | None, filled: Path, tmp_path: Path, kill: Killer, seed: int, count: Count
) -> None:
    database = SqliteDatabase(tmp_path / "work" / "recollect.db")
    target = None if start == 0 else 0

    def prepare() -> None:
        refill(database.path.parent, filled)
        with more_steps():
            list(database.maintenance.migrate(start))

    prepare()
    with more_steps():
        list(database.maintenance.migrate(target))
    done, versions = database.schema(), set()
    task = Task(action="migrate", url=database.url, target=target)
    for _ in deaths(kill, task, prepare, random.Random(seed), count(20, 1000)):
        with more_steps():
            schema = database.maintenance.status().schema
            assert schema is not None
            versions.add(schema.current)
            tables = {name for kind, name, *_ in database.schema() if kind == "table"}
            assert {f"more_{version}" for version in range(2, schema.current + 1)} == {
                name for name in tables if name.startswith("more_")
            }
            assert ("messages" in tables) == (schema.current >= 1)
            list(database.maintenance.migrate(target))
        assert database.schema() == done
    assert len(versions) > 2
    assert max(versions) <= 1 + MORE


def test_a_killed_repair_leaves_an_index_that_can_be_repaired(
    filled: Path, tmp_path: Path, kill: Killer, seed: int, count: Count
) -> None:
    database = SqliteDatabase(tmp_path / "work" / "recollect.db")
    task = Task(action="repair", url=database.url)
    for _ in deaths(kill, task, lambda: refill(database.path.parent, filled), random.Random(seed), count(8, 400)):
        assert problems(database) == []
