"""Everything that the port of a window cache promises, one test each."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random

from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, StorageUnavailableError
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, STRANGER
from recollect.testing.windows.orders import interleave
from recollect.testing.windows.rig import CacheServer, Outcome, Stepped, WindowRig, until, window_at


class WindowCacheConformance:
    """Check everything that the port of a window cache promises."""

    #: How many orders are drawn.
    orders = 20

    async def test_a_window_that_is_held_is_not_loaded_whole_again(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1", "unsettled")
        first = await server.get(ALICE, "c1")
        assert [await server.get(ALICE, "c1") for _ in range(5)] == [first] * 5
        assert [known for known in rig.database.loads if known is None] == [None]

    async def test_many_who_ask_for_a_cold_window_make_one_load(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1", "unsettled")
        windows = await asyncio.gather(*(server.get(ALICE, "c1") for _ in range(500)))
        assert {window.conversation.revision for window in windows} == {1}
        assert rig.database.loads == [None]

    async def test_a_write_that_says_what_the_window_is_saves_the_load(self, rig: WindowRig) -> None:
        server = await rig.server()
        for revision in (1, 2, 3):
            await server.write(ALICE, "c1")
            assert (await server.get(ALICE, "c1")).conversation.revision == revision
        assert None not in rig.database.loads

    async def test_a_change_knows_the_window_before_it(self, rig: WindowRig) -> None:
        server = await rig.server()
        async with server.cache.changing(ALICE, "c1") as change:
            assert change.before is None
        await server.write(ALICE, "c1")
        async with server.cache.changing(ALICE, "c1") as change:
            assert change.before == window_at(ALICE, "c1", 1)

    async def test_a_write_of_one_server_is_seen_by_all(self, rig: WindowRig) -> None:
        one, other = await rig.server(), await rig.server()
        outcomes: tuple[Outcome, ...] = ("settled", "unsettled", "failed", "settled")
        for outcome in outcomes:
            await one.write(ALICE, "c1", outcome)
            await other.get(ALICE, "c1")
            await other.write(ALICE, "c1", outcome)
            await one.get(ALICE, "c1")

    async def test_a_load_from_before_a_write_is_neither_shared_nor_kept(self, rig: WindowRig) -> None:
        for writer in (await rig.server(), None):
            reader = await rig.server()
            await reader.write(ALICE, "c1", "unsettled")
            early = Stepped(partial(reader.get, ALICE, "c1"))
            await until(rig, early, "loaded")
            await (writer or reader).write(ALICE, "c1", "unsettled")
            late = asyncio.create_task(reader.get(ALICE, "c1"))
            await rig.settle()
            early.go()
            await asyncio.gather(early.task, late)
            await reader.get(ALICE, "c1")

    async def test_overlapping_writes_leave_the_newest_window(self, rig: WindowRig) -> None:
        outcomes: tuple[Outcome, ...] = ("settled", "unsettled", "failed")
        servers = [await rig.server(), await rig.server()]
        await servers[0].write(ALICE, "c1")
        for pair in [(one, other) for one in outcomes for other in outcomes]:
            for order in ("0011", "0101", "0110", "1001"):
                await self._overlap(rig, servers, pair, order)
                await self._overlap(rig, servers[:1] * 2, pair, order)

    async def _overlap(
        self, rig: WindowRig, servers: list[CacheServer], outcomes: tuple[Outcome, ...], order: str
    ) -> None:
        writes = [
            Stepped(partial(server.write, ALICE, "c1", outcome))
            for server, outcome in zip(servers, outcomes, strict=True)
        ]
        await rig.settle()
        for number in order:
            await writes[int(number)].stops()
            writes[int(number)].go()
            await rig.settle()
            for server in servers:
                await server.get(ALICE, "c1")
        await asyncio.gather(*(write.task for write in writes))
        for server in servers:
            window = await server.get(ALICE, "c1")
            assert window.conversation.revision == rig.database.revision(ALICE, "c1")

    async def test_whoever_stops_waiting_cancels_nothing_for_the_others(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1", "unsettled")
        first = Stepped(lambda pause: server.get(ALICE, "c1", pause))
        others = [asyncio.create_task(server.get(ALICE, "c1")) for _ in range(5)]
        await until(rig, first, "loads")
        first.task.cancel()
        others[0].cancel()
        await rig.settle()
        assert first.task.cancelled()
        first.go()
        await rig.settle()
        first.go()
        results = await asyncio.gather(*others, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1:] == [window_at(ALICE, "c1", 1)] * 4
        assert rig.database.loads == [None]

    async def test_a_load_that_fails_fails_for_all_who_wait_and_leaves_nothing(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1", "unsettled")
        rig.database.is_down = True
        results = await asyncio.gather(*(server.get(ALICE, "c1") for _ in range(5)), return_exceptions=True)
        assert [type(result) for result in results] == [StorageUnavailableError] * 5
        rig.database.is_down = False
        assert (await server.get(ALICE, "c1")).conversation.revision == 1

    async def test_what_does_not_exist_is_not_found_until_it_does(self, rig: WindowRig) -> None:
        server, other = await rig.server(), await rig.server()
        for _ in range(2):
            with raises(ConversationNotFoundError):
                await server.get(ALICE, "c1")
        await other.write(ALICE, "c1")
        assert (await server.get(ALICE, "c1")).conversation.revision == 1

    async def test_users_and_tenants_never_share_a_window(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1")
        for stranger in (BOB, STRANGER, Scope("acm", "ealice"), Scope("acme", "alice:c1"), Scope("acme:alice", "c1")):
            for name in ("c1", "", ":c1"):
                with raises(ConversationNotFoundError):
                    await server.get(stranger, name)
            await server.write(stranger, "c1")
            await server.get(stranger, "c1")

    async def test_all_agents_of_a_user_share_a_window(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1")
        load = server.connection.load(ALICE, "c1")
        other = Scope(ALICE.tenant, ALICE.user, "another")
        assert await server.cache.get(other, "c1", load) == window_at(ALICE, "c1", 1)
        assert None not in rig.database.loads

    async def test_erasing_leaves_no_window_of_the_user_and_all_of_others(self, rig: WindowRig) -> None:
        server, other = await rig.server(), await rig.server()
        for one in (server, other):
            await one.write(ALICE, "c1")
            await one.write(BOB, "c1")
        await server.write_to_all(ALICE)
        for one in (server, other):
            async with one.cache.changing(BOB, "c1") as change:
                assert change.before is not None
                change.settle(change.before)
        async with server.cache.changing(ALICE, "c1") as change:
            assert change.before is None
        await other.get(ALICE, "c1")

    async def test_what_is_loaded_or_written_while_erasing_is_not_kept(self, rig: WindowRig) -> None:
        server, other = await rig.server(), await rig.server()
        await server.write(ALICE, "c1", "unsettled")
        early = Stepped(lambda pause: other.get(ALICE, "c1", pause))
        await until(rig, early, "loaded")
        write = Stepped(lambda pause: other.write(ALICE, "c2", "settled", pause))
        await until(rig, write, "begun")
        erases = Stepped(lambda pause: server.write_to_all(ALICE, pause))
        await until(rig, erases, "begun")
        for call in (write, erases, erases, early, write):
            call.go()
            await rig.settle()
        await asyncio.gather(early.task, write.task, erases.task)
        for one in (server, other):
            for name in ("c1", "c2"):
                window = await one.get(ALICE, name)
                assert window.conversation.revision == rig.database.revision(ALICE, name)

    async def test_a_window_that_was_dropped_is_loaded(self, rig: WindowRig) -> None:
        server = await rig.server()
        await server.write(ALICE, "c1")
        await server.cache.drop(ALICE, "c1")
        await server.get(ALICE, "c1")
        assert rig.database.loads == [None]

    async def test_no_order_of_steps_gives_out_what_is_older_than_an_acknowledged_write(self, rig: WindowRig) -> None:
        for number in range(self.orders):
            await interleave(rig, Random(number), servers=1 + number % 3, steps=40)  # noqa: S311  # no secret
