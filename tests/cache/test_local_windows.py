"""Windows held in the process: how many, how long, and what a mark saves."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from recollect.cache.local import LocalWindows
from recollect.errors import ConversationNotFoundError
from recollect.testing import raises
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB
from recollect.testing.windows import CacheServer, Connection, Database, Stepped, turns


class Local:
    """A server with a local cache, and another one that only writes."""

    def __init__(self, max_conversations: int = 3) -> None:
        self.clock = FakeClock()
        self.database = Database()
        connection = Connection(self.database)
        self.cache = LocalWindows(
            mark=connection.mark, clock=self.clock, max_conversations=max_conversations, idle=timedelta(hours=1)
        )
        self.server = CacheServer(self.cache, connection)
        self.other = Connection(self.database)

    @property
    def loads(self) -> list[int | None]:
        return self.database.loads


async def test_a_window_under_the_same_mark_is_given_out_without_a_load() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    for _ in range(3):
        await local.server.get(ALICE, "c1")
    assert local.loads == []


async def test_after_a_write_of_another_process_the_revision_is_compared_once() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    local.other.commit(BOB, "elsewhere")
    for _ in range(3):
        await local.server.get(ALICE, "c1")
    assert local.loads == [1]
    local.other.commit(ALICE, "c1")
    for _ in range(3):
        assert (await local.server.get(ALICE, "c1")).conversation.revision == 2
    assert local.loads == [1, 1]


async def test_a_write_of_another_process_during_a_load_is_noticed_after_it() -> None:
    local = Local()
    await local.server.write(ALICE, "c1", "unsettled")
    read = Stepped(lambda pause: local.server.get(ALICE, "c1", pause))
    await turns()
    read.go()
    await turns()
    local.other.commit(ALICE, "c1")
    read.go()
    await read.task
    assert (await local.server.get(ALICE, "c1")).conversation.revision == 2


async def test_a_write_of_another_process_during_a_write_is_noticed_after_it() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    write = Stepped(lambda pause: local.server.write(ALICE, "c1", "settled", pause))
    await turns()
    write.go()
    await turns()
    local.other.commit(ALICE, "c1")
    write.go()
    await write.task
    assert (await local.server.get(ALICE, "c1")).conversation.revision == 3


async def test_past_the_limit_the_conversation_used_longest_ago_is_dropped() -> None:
    local = Local(max_conversations=3)
    for name in ("c1", "c2", "c3"):
        await local.server.write(ALICE, name)
    await local.server.get(ALICE, "c1")
    await local.server.write(ALICE, "c4")
    assert len(local.cache) == 3
    for name in ("c1", "c3", "c4"):
        await local.server.get(ALICE, name)
    assert local.loads == []
    await local.server.get(ALICE, "c2")
    assert local.loads == [None]


async def test_a_window_that_nobody_used_for_too_long_is_loaded_again() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    for minutes in (50, 50, 61):
        local.clock.advance(minutes=minutes)
        await local.server.get(ALICE, "c1")
    assert local.loads == [None]


async def test_idle_windows_go_when_another_comes() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    await local.server.write(ALICE, "c2")
    local.clock.advance(minutes=61)
    await local.server.write(ALICE, "c3")
    assert len(local.cache) == 1


async def test_a_clock_that_jumps_costs_loads_at_most() -> None:
    local = Local()
    for days in (365, -730, 365):
        await local.server.write(ALICE, "c1")
        local.clock.advance(days=days)
        await local.server.get(ALICE, "c1")
        await local.server.write(ALICE, "c2")
    assert len(local.cache) <= 2


async def test_nothing_is_left_of_what_is_over() -> None:
    local = Local()

    async def use(number: int) -> None:
        name = f"c{number % 50}"
        await local.server.write(ALICE, name, "settled" if number % 3 else "failed")
        if number % 2:
            await local.server.get(ALICE, name)
        else:
            with raises(ConversationNotFoundError):
                await local.server.get(BOB, name)

    await asyncio.gather(*(use(number) for number in range(1, 500, 2)), *(use(number) for number in range(0, 500, 2)))
    await local.server.write_to_all(ALICE)
    await turns()
    assert (len(local.cache), len(local.cache._flights), local.cache._flights.under_way()) == (0, 0, [])
    assert (local.cache._writes, local.cache._of_user) == ({}, {})


async def test_closing_waits_for_what_is_loaded_and_forgets_everything() -> None:
    local = Local()
    await local.server.write(ALICE, "c1")
    local.other.commit(ALICE, "c1")
    read = Stepped(lambda pause: local.server.get(ALICE, "c1", pause))
    await turns()
    closing = asyncio.create_task(local.cache.close())
    await turns()
    assert not closing.done()
    for _ in range(2):
        read.go()
        await turns()
    await asyncio.gather(read.task, closing)
    assert len(local.cache) == 0
