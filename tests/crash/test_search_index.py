"""Messages are indexed many at a time, and numbers are given again: search must notice neither."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from random import Random

import pytest

from recollect.domain.erasure import Erasure
from recollect.domain.note import NoteChange
from recollect.domain.page import SearchQuery
from recollect.storage.driver import Transaction
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import INDEX_TOGETHER
from recollect.storage.store import SqlStore
from tests.support.store_contents import check_index, read_contents
from tests.support.store_script import AT, CONVERSATION, SCOPE, append


class Indexed:
    """A store in memory, and what is asked of it."""

    def __init__(self, driver: SqliteDriver) -> None:
        self._driver = driver
        self.store = SqlStore(driver)

    async def append(self, *names: str) -> None:
        await self.store.append(SCOPE, append(*names))

    async def erase(self, name: str) -> None:
        await self.store.erase_message(SCOPE, CONVERSATION, name, Erasure(receipt_id=f"r-{name}", at=AT))

    async def together(self, *writes: Awaitable[None]) -> None:
        """Do the writes in one commit, in this order: the first keeps the writer busy until all are waiting."""
        change = NoteChange(operation="append", at=AT, content="x")
        first = asyncio.ensure_future(self.store.change_note(SCOPE, change))
        second = asyncio.ensure_future(self.store.change_note(SCOPE, change))
        await asyncio.sleep(0)
        await asyncio.gather(first, second, *writes)

    async def found(self, names: Iterable[str]) -> set[str]:
        """Return those of the messages that search finds by their names."""
        found = [await self.store.search_messages(SCOPE, SearchQuery(text=name)) for name in names]
        return {hit.message.id for hits in found for hit in hits}

    async def check(self) -> None:
        def work(tx: Transaction) -> None:
            connection = tx.connection  # type: ignore[attr-defined]  # the SQLite transaction
            check_index(connection, read_contents(connection))

        await self._driver.read(SCOPE, work)


@pytest.fixture
async def indexed() -> AsyncIterator[Indexed]:
    driver = await SqliteDriver.open(":memory:")
    yield Indexed(driver)
    await driver.close()


async def test_a_message_is_found_before_and_after_it_is_indexed(indexed: Indexed) -> None:
    names = [f"name{number}" for number in range(2 * INDEX_TOGETHER)]
    for name in names:
        await indexed.append(name)
    assert await indexed.found(names) == set(names)
    await indexed.check()


async def test_a_message_that_gets_the_number_of_an_erased_one_is_found(indexed: Indexed) -> None:
    await indexed.append(*(f"name{number}" for number in range(2 * INDEX_TOGETHER)))
    last = f"name{2 * INDEX_TOGETHER - 1}"
    await indexed.together(indexed.erase(last), indexed.append("fresh"))
    assert await indexed.found([last, "fresh"]) == {"fresh"}
    await indexed.check()


async def test_a_message_that_gets_a_number_freed_long_before_is_found(indexed: Indexed) -> None:
    await indexed.append(*(f"name{number}" for number in range(100)))
    await indexed.erase("name97")
    await indexed.together(indexed.erase("name98"), indexed.erase("name99"), indexed.append("one", "two", "three"))
    assert await indexed.found(["name97", "name98", "name99", "one", "two", "three"]) == {"one", "two", "three"}
    await indexed.check()


async def test_random_appends_and_erasures_leave_an_index_of_exactly_what_is_stored(
    indexed: Indexed, seed: int, count: Callable[[int, int], int]
) -> None:
    rng = Random(seed)
    print(f"seed {seed}")
    alive: list[str] = []
    made = 0
    for _ in range(count(150, 1_000)):
        writes: list[Awaitable[None]] = []
        added: list[str] = []
        for _ in range(rng.randint(1, 5)):
            if alive and rng.random() < 0.4:
                victim = alive.pop(rng.choice((-1, rng.randrange(len(alive)))))
                writes.append(indexed.erase(victim))
            else:
                names = [f"name{made + offset}" for offset in range(rng.choice((1, 2, 40)))]
                made += len(names)
                added += names
                writes.append(indexed.append(*names))
        await indexed.together(*writes)
        alive += added
    await indexed.check()
