"""What adding a memory asks of the store, and that going by what is held never decides by what is out of date."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from recollect import bootstrap
from recollect.domain.memory import Memory
from recollect.domain.scope import Scope
from recollect.service.memories import Correction, Statement
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.storage.driver import Driver
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE
from tests.support.counted_driver import Counted
from tests.support.memory_jobs import said_by
from tests.support.services import opened, settings_of


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def counted(database: str) -> AsyncIterator[tuple[Recollect, Counted]]:
    """Open a service whose transactions are counted."""
    if database.startswith("sqlite"):
        driver: Driver = await SqliteDriver.open(database.removeprefix("sqlite:///"))
    else:
        driver = await PostgresDriver.open(database)
    counting = Counted(driver)
    service = bootstrap.assemble(SqlStore(counting), Settings.load({}, {}), FakeClock())
    yield service, counting
    await service.close()


async def add(service: Recollect, content: str, scope: Scope = ALICE) -> Memory:
    return await service.memories.add(scope, Statement(content=content))


async def test_a_new_statement_of_a_known_user_takes_one_transaction(counted: tuple[Recollect, Counted]) -> None:
    service, counting = counted
    first = await add(service, "The user likes green tea")
    counting.reads = counting.writes = 0
    await add(service, "The user plays chess on Sundays")
    assert (counting.reads, counting.writes) == (0, 1)
    assert await add(service, "The user likes GREEN tea.") == first, "nothing to save, so the store is asked"
    assert counting.reads > 0
    assert counting.writes == 1


async def test_what_another_service_added_is_found_by_one_that_holds_older_memories(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        one, other = first.service, second.service
        await add(one, "The user plays chess on Sundays")
        tea = await add(other, "The user likes green tea")
        assert (await add(one, "the user likes green tea!")).id == tea.id
        coffee = await add(other, "The user drinks black coffee at work")
        assert (await add(one, "The user drinks a black coffee at work")).id == coffee.id
        assert len(await said_by(one, ALICE)) == 3


async def test_no_statement_is_skipped_for_one_that_another_service_took_away(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        one, other = first.service, second.service
        tea, chess = await add(one, "The user likes green tea"), await add(one, "The user plays chess")
        await other.memories.erase(ALICE, tea.id)
        again = await add(one, "The user likes green tea")
        assert again.id != tea.id
        await other.memories.change(ALICE, chess.id, Correction(content="The user plays cards"))
        assert (await add(one, "The user plays chess")).id != chess.id
        expected = ["The user likes green tea", "The user plays cards", "The user plays chess"]
        assert sorted(await said_by(other, ALICE)) == expected


async def test_a_memory_takes_eight_statements_on_sqlite(tmp_path: Path) -> None:
    async with opened(settings_of(f"sqlite:///{tmp_path / 'few.db'}")) as parts:
        await add(parts.service, "The user likes green tea")
        # A new file is scrubbed once, beside the first writes.
        await parts.driver.scrub()
        writer: apsw.Connection = parts.driver._writer.tx.connection  # type: ignore[attr-defined]  # SQLite's
        statements: list[str] = []

        def note(_cursor: object, sql: str, _bindings: object) -> bool:
            statements.append(sql.split(maxsplit=1)[0])
            return True

        writer.set_exec_trace(note)
        await add(parts.service, "The user plays chess on Sundays")
        writer.set_exec_trace(None)
    # The scrub may still have a transaction of its own, which inserts nothing.
    transactions = " ".join(statements).replace("BEGIN", "|BEGIN").split("|")
    written = [one.split() for one in transactions if "INSERT" in one]
    assert written == [["BEGIN", "SELECT", "INSERT", "INSERT", "INSERT", "INSERT", "UPDATE", "COMMIT"]]
