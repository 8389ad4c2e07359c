"""The schema goes up and down in steps, and every way to a version leads to the same schema."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect.errors import MigrationRequiredError
from recollect.storage.migrations import load_migrations
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE
from tests.migration.databases import Database, SqliteDatabase, fill, problems
from tests.migration.steps import MORE, more_steps

pytestmark = pytest.mark.spec("S2.14")


def migrate(database: Database, target: int | None) -> list[int]:
    return [step.version for step in database.maintenance.migrate(target)]


async def test_all_steps_lead_to_the_schema_of_a_new_database(database: Database) -> None:
    migrate(database, None)
    stepwise = database.schema()
    migrate(database, 0)
    async with database.store() as store:
        await fill(store)
    assert database.schema() == stepwise


def test_up_and_down_and_up_gives_the_same_schema(database: Database) -> None:
    with more_steps():
        last = load_migrations(database.kind)[-1].version + MORE
        assert migrate(database, None) == list(range(1, last + 1))
        up = database.schema()
        assert migrate(database, 0) == list(range(last, 0, -1))
        down = database.schema()
        assert migrate(database, None) == list(range(1, last + 1))
        assert database.schema() == up
        migrate(database, 0)
        assert database.schema() == down
        middle = []
        for version in (*range(1, last + 1), *range(last - 1, 0, -1)):
            migrate(database, version)
            middle.append(database.schema())
        assert middle == middle[::-1]


async def test_a_step_that_changes_nothing_of_the_data_keeps_it(database: Database) -> None:
    async with database.store() as store:
        await fill(store)
    rows = database.rows()
    with more_steps():
        migrate(database, None)
        migrate(database, load_migrations(database.kind)[-1].version)
    assert database.rows() == rows
    assert problems(database) == []


async def test_a_database_of_another_version_is_refused_with_what_to_do(database: Database) -> None:
    async with database.store() as store:
        await store.append(ALICE, sample.append("c1", "m1"))
    with more_steps():
        with pytest.raises(MigrationRequiredError, match="recollect db migrate"):
            async with database.store():
                pass
        migrate(database, None)
    with pytest.raises(MigrationRequiredError, match="install a newer recollect"):
        async with database.store():
            pass
    with pytest.raises(MigrationRequiredError, match="install a newer recollect"):
        problems(database)


def test_a_version_that_does_not_exist_is_refused(database: Database) -> None:
    with pytest.raises(MigrationRequiredError, match="no schema version 77"):
        database.maintenance.plan(77)


async def test_two_processes_that_create_one_file_agree(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "recollect.db")

    async def write(number: int) -> None:
        async with database.store() as store:
            await store.append(ALICE, sample.append(f"c{number}", f"m{number}"))

    await asyncio.gather(*(write(number) for number in range(4)))
    assert len(database.rows()["messages"]) == 4
    assert len(database.rows()["meta"]) == 1
