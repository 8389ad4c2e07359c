"""A backup, a restore or a migration that is killed at any moment leaves a whole database, and can be done again."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from recollect.domain.memory import Source
from recollect.errors import StorageError
from recollect.storage.maintenance import RestoreOptions
from recollect.storage.verify import unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, after
from tests.migration.databases import Database, Rows, SqliteDatabase, big, fill, problems, sqlite_rows
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
            # The last lines put the new in the place of the old.
            first = rng.choice((1, lines - lines // 20))
            again = msgspec.structs.replace(task, die_at_line=rng.randint(first, lines))
        died += kill(again).killed
        yield
    assert died > times / 3


@pytest.fixture
async def backups(database: Database, tmp_path: Path) -> tuple[Path, Path]:
    """Give an older and a newer backup of a database; things were stored and erased in between."""
    older, newer = tmp_path / "older", tmp_path / "newer"
    async with database.store() as store:
        await fill(store)
        await store.append(ALICE, sample.append("big", *big(100)))
        learned = sample.memory("yb", origin="user", sources=(Source("big", "big-1"),))
        await store.add_memories(ALICE, (learned,))
        database.maintenance.back_up(older, force=False, progress=unseen)
        await store.append(ALICE, sample.append("c1", "later"))
        await store.erase_message(ALICE, "big", "big-1", sample.erasure("r2", at=after(2)))
        await store.erase_memory(ALICE, "y1", sample.erasure("r3", at=after(3)))
        await store.erase_conversation(ALICE, "c2", sample.erasure("r4", at=after(4)))
        database.maintenance.back_up(newer, force=False, progress=unseen)
    return older, newer


def restore(database: Database, backup: Path) -> None:
    database.maintenance.restore(backup, RestoreOptions(), unseen)


def times(database: Database, usual: int, torture: int, count: Count) -> int:
    """Return how often to kill; Postgres takes longer and has only its own transaction to prove."""
    return count(usual, torture) if database.kind == "sqlite" else count(4, torture // 5)


def settle(database: Database, backup: Path, old: Rows) -> None:
    """Do what a person must after a restore was killed in the one moment between its swap and its end."""
    left = backup.with_name("recollect.db.before-restore")
    if isinstance(database, SqliteDatabase) and left.exists() and not left.samefile(database.path):
        with pytest.raises(StorageError, match="move or remove it first"):
            restore(database, backup)
        assert sqlite_rows(left) == old
        left.unlink()


def test_a_killed_restore_leaves_the_old_or_the_new_database(
    database: Database, backups: tuple[Path, Path], kill: Killer, seed: int, count: Count
) -> None:
    older, newer = backups
    old = database.rows()
    restore(database, older)
    new = database.rows()
    assert new != old

    def prepare() -> None:
        settle(database, older, old)
        if database.rows() != old:
            restore(database, newer)
            assert database.rows() == old

    task, seen = Task(action="restore", url=database.url, file=str(older)), set()
    for _ in deaths(kill, task, prepare, random.Random(seed), times(database, 24, 1000, count)):
        assert problems(database) == []
        rows = database.rows()
        assert rows in (old, new)
        seen.add(rows == new)
        settle(database, older, old)
        restore(database, older)
        assert database.rows() == new
        assert database.maintenance.status().leftovers == ()
    assert False in seen


def test_a_killed_backup_leaves_the_earlier_one(
    database: Database, backups: tuple[Path, Path], kill: Killer, seed: int, count: Count
) -> None:
    earlier = backups[0].read_bytes()
    backup = backups[0]
    rows = database.rows()
    task = Task(action="backup", url=database.url, file=str(backup))
    rng = random.Random(seed)
    for _ in deaths(kill, task, lambda: backup.write_bytes(earlier), rng, times(database, 12, 300, count)):
        restore(database, backup)
        restore(database, backups[1])
        assert database.rows() == rows
        assert database.maintenance.back_up(backup, force=True, progress=unseen).damage == ()
        assert not list(backup.parent.glob("*.partial*"))


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize("start", [0, None], ids=["up", "down"])
async def test_a_killed_migration_stops_between_two_steps_and_goes_on(
    start: int | None, database: Database, kill: Killer, seed: int, count: Count
) -> None:
    async with database.store() as store:
        await fill(store)
    target = None if start == 0 else 0

    def prepare() -> None:
        with more_steps():
            list(database.maintenance.migrate(start))

    prepare()
    with more_steps():
        list(database.maintenance.migrate(target))
    done, versions = database.schema(), set()
    task = Task(action="migrate", url=database.url, target=target)
    for _ in deaths(kill, task, prepare, random.Random(seed), times(database, 12, 300, count)):
        with more_steps():
            schema = database.maintenance.status().schema
            assert schema is not None
            versions.add(schema.current)
            tables = {name for name, rows in database.rows().items() if rows or name != "audit"}
            assert {f"more_{version}" for version in range(2, schema.current + 1)} == {
                name for name in tables if name.startswith("more_")
            }
            assert ("messages" in tables) == (schema.current >= 1)
            list(database.maintenance.migrate(target))
        assert database.schema() == done
    assert versions <= set(range(MORE + 2))
    assert len(versions) > 1 or database.kind == "postgres"


async def test_a_killed_repair_leaves_an_index_that_can_be_repaired(
    database: Database, kill: Killer, seed: int, count: Count
) -> None:
    async with database.store() as store:
        await store.append(ALICE, sample.append("big", *big(100)))
    task = Task(action="repair", url=database.url)
    for _ in deaths(kill, task, lambda: None, random.Random(seed), times(database, 6, 100, count)):
        assert problems(database) == []
