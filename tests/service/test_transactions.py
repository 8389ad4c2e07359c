"""How many transactions a turn takes, counted at the driver and, on SQLite, by SQLite itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from recollect import bootstrap
from recollect.cache.local import LocalWindows
from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits
from recollect.service.chat_request import ChatRequest
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.storage.driver import Driver
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, append, memory, message, turn
from tests.support.counted_driver import Counted

#: SQLite writes its log back several times meanwhile.
TURNS = 150


@pytest.fixture(params=["sqlite", "postgres+redis"])
async def counted(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[tuple[Recollect, Counted]]:
    clock = FakeClock()
    timeout = Settings().sessions.timeout
    driver: Driver
    if request.param == "sqlite":
        driver = await SqliteDriver.open(tmp_path / "memory.db")
        windows: Any = LocalWindows(
            mark=driver.mark, settled_mark=driver.settled_mark, clock=clock, max_conversations=100, idle=timeout
        )
    else:
        driver = await PostgresDriver.open(request.getfixturevalue("postgres_url"))
        redis: str = request.getfixturevalue("redis_url")
        # On a loaded machine a Redis that answers late is passed by, which is not what is counted here.
        patient = RedisLimits(timeout=timedelta(seconds=20))
        windows = RedisWindows(redis, idle=timeout, new_id=bootstrap.new_id, limits=patient)
    counting = Counted(driver)
    settings = Settings.load({"memory.enabled": False}, {})
    service = bootstrap.assemble(SqlStore(counting, windows), settings, clock)
    await service.conversations.add_messages(ALICE, "c1", [message("m1"), message("m2")])
    # A new file is scrubbed once, beside the first writes.
    await driver.scrub()
    await service.chat.turn(ALICE, ChatRequest(text="warm", conversation_id="c1"))
    await service.chat.turn(ALICE, ChatRequest(text="warm", conversation_id="c1"))
    counting.reads = counting.writes = 0
    yield service, counting
    await service.close()


@pytest.mark.spec("S2.16")
@pytest.mark.parametrize(("policy", "writes"), [("turn", TURNS), ("client", 0), ("ahead", 2 * TURNS)])
async def test_a_turn_is_one_transaction_and_none_if_the_client_archives(
    counted: tuple[Recollect, Counted], policy: Any, writes: int
) -> None:
    service, counting = counted
    for number in range(TURNS):
        await service.chat.turn(ALICE, ChatRequest(text=f"say {number}", conversation_id="c1", write_policy=policy))
    assert (counting.reads, counting.writes) == (0, writes)


@pytest.mark.spec("S2.3")
async def test_a_batch_is_archived_in_one_transaction(counted: tuple[Recollect, Counted]) -> None:
    service, driver = counted
    before = driver.writes
    batch = await service.conversations.archive(ALICE, "c1", [message(f"a{number}") for number in range(4)])
    assert (batch.archived, driver.writes - before) == (4, 1)


async def test_the_memories_told_for_a_page_take_two_reads_however_long_it_is(
    counted: tuple[Recollect, Counted],
) -> None:
    service, driver = counted
    memories = (memory("k1", "Likes tea"), memory("k2", "Likes cake"))
    await service.store.add_memories(ALICE, memories)
    for number in range(9):
        reply = message(f"r{number}", role="assistant", metadata={"responder": "test"})
        record = turn(f"t{number}", append("c2", f"q{number}", reply), memory_ids=("k1", "k2"))
        await service.store.record_turn(ALICE, record)
    page = await service.conversations.get_messages(ALICE, "c2")
    driver.reads = 0
    told = await service.contexts.memories_told(ALICE, "c2", page.messages)
    assert ([len(one) for one in told.values()], driver.reads) == ([2] * 9, 2)
    assert await service.contexts.memories_told(ALICE, "c2", page.messages[:1]) == {}
    assert driver.reads == 2
