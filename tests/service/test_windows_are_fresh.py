"""Once a write is acknowledged, no server gives out a window from before it, whichever server wrote and however."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from recollect import bootstrap
from recollect.storage.store import SqlStore
from tests.support.service_process import ChildOperator, Operator, Reply
from tests.support.services import opened, settings_of

Count = Callable[[int, int], int]
CHILDREN = 3
#: How long a write that never ended keeps a conversation out of the cache here.
FENCE_MS = 300
#: Every kind of write is made once before chance decides.
FIRST = [
    "add",
    "turn",
    "summarise",
    "turn",
    "rename",
    "edit",
    "erase",
    "turn",
    "undo",
    "turn",
    "clear",
    "turn",
    "delete",
    "turn",
    "leave",
]


class Server(Protocol):
    """One of several that work on one database."""

    def ask(self, do: str, conversation: str = "c", **more: Any) -> Awaitable[Reply]: ...


class Rig:
    """Servers on one database, and the truth: the same database without a cache."""

    def __init__(self, servers: Sequence[Server], truth: Server, random: Random) -> None:
        self.servers = servers
        self.truth = truth
        self.random = random
        self.conversation = "c-0"
        self.acknowledged: set[str] = set()

    async def ask_all(self, do: str, conversation: str) -> list[Reply]:
        return await asyncio.gather(*(server.ask(do, conversation) for server in self.servers))

    async def all_agree(self) -> Reply:
        """Check that every server tells what the database holds, and return it."""
        expected = await self.truth.ask("window", self.conversation)
        for seen in await self.ask_all("window", self.conversation):
            assert seen == expected
        context = await self.truth.ask("context", self.conversation)
        for seen in await self.ask_all("context", self.conversation):
            assert seen == context
        return expected

    async def write(self, number: int) -> None:
        """Let one server write something, and check that all know of it."""
        window = (await self.all_agree()).get("window")
        ids = [message["id"] for message in window["messages"]] if window else []
        possible = commands(number, self.random, ids)
        wanted = [one for one in possible if number < len(FIRST) and one[0] == FIRST[number]]
        do, more = self.random.choice(wanted or possible)
        reply = await self.random.choice(self.servers).ask(do, self.conversation, **more)
        if "error" not in reply:
            self.acknowledged.add(do)
        after = await self.all_agree()
        if do in {"add", "edit", "rename", "undo"} and "revision" in reply:
            assert after["window"]["conversation"]["revision"] == reply["revision"]
        if do in {"delete", "leave"}:
            assert after == {"error": "conversation_not_found"}
            self.conversation = f"c-{number + 1}"

    async def write_at_once(self, number: int) -> None:
        """Let all servers write, and read on all what one of them acknowledged while others still write."""

        async def write(server: Server, turn: int) -> None:
            do = self.random.choice(("add", "rename", "add"))
            reply = await server.ask(do, self.conversation, text=f"{number} {turn}")
            if do == "rename" and "error" in reply:
                return
            for seen in await self.ask_all("window", self.conversation):
                assert seen["window"]["conversation"]["revision"] >= reply["revision"]

        await asyncio.gather(*(write(server, turn) for turn, server in enumerate(self.servers)))
        await self.all_agree()


def commands(number: int, random: Random, ids: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """List what may be done now, what is done often more than once."""
    text = f"message {number}"
    always: list[tuple[str, dict[str, Any]]] = [("add", {"text": text}), ("turn", {"text": text})] * 3
    if not ids:
        return always
    message = random.choice(ids)
    often: list[tuple[str, dict[str, Any]]] = [
        ("rename", {"text": text}),
        ("edit", {"message": message, "text": text}),
        ("erase", {"message": message}),
        ("summarise", {"size": random.randrange(1, 4)}),
    ]
    seldom: list[tuple[str, dict[str, Any]]] = [("undo", {}), ("clear", {}), ("delete", {}), ("leave", {})]
    return always * 8 + often * 16 + seldom


@asynccontextmanager
async def truth_of(database: str) -> AsyncIterator[Server]:
    """Open the database without a cache."""
    settings = settings_of(database)
    async with opened(settings) as parts:
        yield Operator(bootstrap.assemble(SqlStore(parts.driver, window_size=settings.window.size), settings))


@pytest.fixture(params=["sqlite", "postgres", "postgres-redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str | None]:
    """Give the addresses of a database and of a Redis."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}", None
    redis = request.getfixturevalue("redis_url") if request.param == "postgres-redis" else None
    return request.getfixturevalue("postgres_url"), redis


@pytest.fixture
async def children(place: tuple[str, str | None]) -> AsyncIterator[list[ChildOperator]]:
    """Start servers in processes of their own."""
    async with truth_of(place[0]):
        started = await asyncio.gather(*(ChildOperator.start(*place, FENCE_MS) for _ in range(CHILDREN)))
    yield started
    for child in started:
        child.kill()
        await child.end()


@pytest.mark.spec("S2.4")
@pytest.mark.timeout(300)
async def test_processes_on_one_database_give_out_what_it_holds(
    place: tuple[str, str | None], children: list[ChildOperator], seed: int, count: Count
) -> None:
    async with truth_of(place[0]) as truth:
        rig = Rig(children, truth, Random(seed))
        for number in range(count(60, 2_000)):
            await rig.write(number)
            if number % 4 == 0:
                await rig.write_at_once(number)
    assert rig.acknowledged == {*FIRST}
    assert [await child.end() for child in children] == [0] * CHILDREN


@pytest.mark.parametrize("redis", [False, True])
async def test_two_services_in_one_process_give_out_what_their_file_holds(
    redis: bool, tmp_path: Path, request: pytest.FixtureRequest, seed: int, count: Count
) -> None:
    database = f"sqlite:///{tmp_path / 'shared.db'}"
    address = request.getfixturevalue("redis_url") if redis else None
    settings = settings_of(database, address, jobs_inside=False)
    async with (
        truth_of(database) as truth,
        await bootstrap.open(settings) as first,
        await bootstrap.open(settings) as second,
    ):
        rig = Rig([Operator(first), Operator(second)], truth, Random(seed))
        for number in range(count(60, 2_000)):
            await rig.write(number)
            if number % 4 == 0:
                await rig.write_at_once(number)
    assert rig.acknowledged == {*FIRST}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_server_that_dies_around_its_commit_leaves_nothing_old(
    when: str, place: tuple[str, str | None], children: list[ChildOperator], seed: int
) -> None:
    victim, *others = children
    async with truth_of(place[0]) as truth:
        rig = Rig(others, truth, Random(seed))
        for number in range(3):
            await rig.write_at_once(number)
        (before,) = {window["window"]["conversation"]["revision"] for window in [await rig.all_agree()]}
        await victim.ask("die", when=when)
        assert await victim.ask("add", rig.conversation, text="the last word") == {"error": "died"}
        after = (await rig.all_agree())["window"]
        assert after["conversation"]["revision"] - before == (when == "after")
        assert (after["messages"][-1]["content"] == "the last word") == (when == "after")
        assert await victim.end() < 0
        await rig.write_at_once(3)
        if place[1] is not None:
            await is_cached_again(rig)


async def is_cached_again(rig: Rig) -> None:
    """Wait until what the dead process fenced off is in the cache again, and check every window meanwhile."""
    async with asyncio.timeout(30):
        while True:
            before = await rig.ask_all("loads", rig.conversation)
            await rig.all_agree()
            if await rig.ask_all("loads", rig.conversation) == before:
                return
            await asyncio.sleep(FENCE_MS / 10_000)


async def test_windows_are_served_from_the_cache_while_nobody_writes(
    place: tuple[str, str | None], children: list[ChildOperator], seed: int
) -> None:
    blind = place[0].startswith("postgres") and place[1] is None
    async with truth_of(place[0]) as truth:
        rig = Rig(children, truth, Random(seed))
        # Otherwise all may try to rename a conversation that is not there, and nothing could be held.
        await children[0].ask("add", rig.conversation, text="first")
        await rig.write_at_once(0)
        # A process that opened a file cleans it once, which the others take for a write.
        for child in children:
            await child.ask("scrub")
        await rig.all_agree()
        before = await rig.ask_all("loads", rig.conversation)
        for _ in range(5):
            await rig.all_agree()
        after = await rig.ask_all("loads", rig.conversation)
    # Without a mark and without a Redis each window is compared with the database, window and context five times.
    grown = [late["loads"] - early["loads"] for early, late in zip(before, after, strict=True)]
    assert grown == [10 if blind else 0] * CHILDREN
