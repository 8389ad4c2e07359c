"""Where the one writer of a SQLite file runs what it is given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.scope import Scope
from recollect.errors import ConflictError
from recollect.storage import sqlite_writer
from recollect.storage.driver import Transaction
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.sqlite_writer import SqliteWriter

SCOPE = Scope(user="alice")


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[SqliteDriver]:
    opened = await SqliteDriver.open(tmp_path / "store.db", SqliteOptions(check=False))
    # The first write looks for what a killed process may have left.
    await opened.scrub()
    yield opened
    await opened.close()


def adding(name: str, places: list[str] | None = None) -> Callable[[Transaction], str]:
    def work(tx: Transaction) -> str:
        if places is not None:
            places.append(threading.current_thread().name)
        tx.run("add_user", tenant=SCOPE.tenant, user=name, at=1)
        return name

    return work


async def users(driver: SqliteDriver) -> int:
    def count(tx: Transaction) -> int:
        return sum(tx.one("lock_user", tenant=SCOPE.tenant, user=f"u{at}") is not None for at in range(2_000))

    return await driver.read(SCOPE, count)


async def test_the_statements_of_a_small_batch_run_on_the_loop(driver: SqliteDriver) -> None:
    places: list[str] = []
    stored = await asyncio.gather(*(driver.write(SCOPE, adding(f"u{at}", places)) for at in range(16)))
    assert stored == [f"u{at}" for at in range(16)]
    assert set(places) == {threading.main_thread().name}
    assert await users(driver) == 16


async def test_a_batch_that_takes_long_runs_in_the_thread(
    driver: SqliteDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "QUICK_BATCH", 0.0)
    monkeypatch.setattr(sqlite_writer, "QUICK_COMMIT", 0.0)
    places: list[str] = []
    await asyncio.gather(*(driver.write(SCOPE, adding(f"u{at}", places)) for at in range(16)))
    assert set(places) == {"recollect-writer"}
    assert await users(driver) == 16


async def test_writers_go_on_while_the_thread_writes_the_log_back(
    driver: SqliteDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "CHECKPOINT_PAGES", 3)

    async def client(first: int) -> None:
        for at in range(first, first + 50):
            await driver.write(SCOPE, adding(f"u{at}"))

    await asyncio.wait_for(asyncio.gather(*(client(50 * number) for number in range(16))), 60)
    assert await users(driver) == 800


async def test_one_that_refuses_does_not_fail_the_others_of_a_batch_on_the_loop(driver: SqliteDriver) -> None:
    def refusing(tx: Transaction) -> str:
        tx.run("add_user", tenant=SCOPE.tenant, user="u99", at=1)
        raise ConflictError("no")

    works = [adding("u0"), refusing, adding("u1")]
    told = await asyncio.gather(*(driver.write(SCOPE, work) for work in works), return_exceptions=True)
    assert [told[0], type(told[1]), told[2]] == ["u0", ConflictError, "u1"]
    assert await users(driver) == 2
    await driver.write(SCOPE, adding("u2"))
    assert await users(driver) == 3


async def test_a_lone_work_that_refuses_leaves_the_lock_free(
    driver: SqliteDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "QUICK_COMMIT", 0.0)

    def refusing(_: Transaction) -> str:
        raise ConflictError("no")

    with pytest.raises(ConflictError):
        await driver.write(SCOPE, refusing)
    assert driver.mark() is not None
    await driver.write(SCOPE, adding("u0"))
    assert await users(driver) == 1


@pytest.mark.parametrize("quick_commit", [60.0, 0.0], ids=["on the loop", "in the thread"])
async def test_writers_who_come_again_and_again_share_their_commits(
    driver: SqliteDriver, monkeypatch: pytest.MonkeyPatch, quick_commit: float
) -> None:
    monkeypatch.setattr(sqlite_writer, "QUICK_COMMIT", quick_commit)
    commits: list[int] = []
    commit = SqliteWriter._commit

    def counted(self: SqliteWriter, batch: list[Any]) -> None:
        commits.append(len(batch))
        commit(self, batch)

    monkeypatch.setattr(SqliteWriter, "_commit", counted)

    async def client(number: int) -> None:
        for at in range(20):
            # Whatever is done before a write, each in a turn of its own.
            for _ in range((number + at) % 3):
                await asyncio.sleep(0)
            await driver.write(SCOPE, adding(f"u{number * 100 + at}"))

    await asyncio.gather(*(client(number) for number in range(16)))
    assert sum(commits) == 16 * 20
    assert len(commits) <= 20 + 4
    assert await users(driver) == 16 * 20
