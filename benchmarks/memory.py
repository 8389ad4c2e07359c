"""Measure adding memories and searching among the memories of 1,000 users, side by side in one run.

Run it as `python -m benchmarks.memory`; README.md says what each row means.
"""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from benchmarks.harness import Benchmark, Contender, Effort, Operation, Options, Report, compare, run, steps
from benchmarks.memory_ours import Recollect
from benchmarks.memory_peers import Chroma, LangGraphAsync, LangGraphStore, Mem0, Mem0Chroma
from benchmarks.memory_systems import FOUND, Floor, FloorHeld, Known, MemorySystem, embedded
from benchmarks.texts import make_questions, make_statements

T = TypeVar("T")
#: Make what one client of a system does.
Maker = Callable[[MemorySystem], Operation]

USERS = 1_000
#: Memories in the store, and what is measured there.
STORES = {"10k": 10_000, "100k": 100_000}
FIRST, SEARCH, ADD, ADDS = "first", "search", "add", "add16"
#: Clients that add at once.
CLIENTS = 16
#: Users in the store while one of them searches.
OTHERS = {"others/10": 10, "others/100": 100, "others/1000": 1_000}
WORKS = (*(f"{work}/{size}" for size in STORES for work in (FIRST, SEARCH, ADD, ADDS)), *OTHERS)
#: Users who search and add again and again; the others but the first wait for their first search.
ACTIVE = 50
#: Memories that a user adds before the next one does, while a store is filled.
TOGETHER = 5
#: Additions that are looked up afterwards.
LOOKED_UP = 10
#: Where the statements begin that several clients add; one client adds those before.
SHARED = 1_000

SYSTEMS: tuple[Callable[[], MemorySystem], ...] = (
    Floor,
    FloorHeld,
    Recollect,
    LangGraphStore,
    LangGraphAsync,
    Chroma,
    Mem0,
    Mem0Chroma,
)
#: Systems that differ from another one only while several clients add.
ONLY_TOGETHER = (LangGraphAsync,)


class Bench:
    """One run: what is stored, how long each work is measured, and where the files are."""

    def __init__(self, report: Report, options: Options, folder: Path) -> None:
        """Choose the works; nothing is made yet."""
        self.report = report
        self.works = [work for work in WORKS if options.wants(work)]
        if options.quick and not options.only:
            self.works = [work for work in self.works if not work.endswith("/100k")]
        #: The store in which others are added: the largest of this run.
        self.growing = "10k" if options.quick else "100k"
        self.search = Effort(repetitions=3, seconds=0.3 if options.quick else 1)
        self.first = Effort(repetitions=3, seconds=0, at_least=10 if options.quick else 15)
        self.add = Effort(repetitions=3, seconds=0, at_least=25 if options.quick else 100)
        self.adds = Effort(repetitions=3, seconds=0, at_least=5 if options.quick else 20)
        self.systems = list(SYSTEMS)
        self.questions = make_questions(1_000)
        self._folder = folder
        self._made = 0

    def folder(self) -> Path:
        """Make an empty folder."""
        self._made += 1
        path = self._folder / str(self._made)
        path.mkdir()
        return path

    def others(self, size: str) -> dict[str, int]:
        """Return the works of this store that are measured while it grows."""
        return {work: users for work, users in OTHERS.items() if size == self.growing and work in self.works}

    def contending(self, work: str) -> int:
        """Return how many systems do this work."""
        return sum(work.startswith(f"{ADDS}/") or make not in ONLY_TOGETHER for make in self.systems)

    def effort(self, work: str) -> Effort:
        """Return how long to measure this work."""
        efforts = {FIRST: self.first, ADD: self.add, ADDS: self.adds}
        return efforts.get(work.split("/", maxsplit=1)[0], self.search)


class People:
    """The users of one store: what they know, who is active, and who searches for the first time."""

    def __init__(self, memories: int) -> None:
        """Let each user know as much as the next, with something left to add."""
        self._each = memories // USERS
        statements = make_statements(memories + memories // 10 + SHARED + 1_000)
        self._statements, self.news = statements[:memories], statements[memories:]
        order = random.Random(7).sample(range(1, USERS), USERS - 1)
        self.active, self._waiting = order[:ACTIVE], order[ACTIVE:]

    def said(self, user: int) -> list[str]:
        """Return what a user said."""
        return self._statements[user * self._each : (user + 1) * self._each]

    def known(self, first: int, last: int) -> list[Known]:
        """Return what these users said, embedded, in the order in which they said it: a little each, in turn."""
        return [
            Known(user, texts, embedded(texts))
            for begin in range(0, self._each, TOGETHER)
            for user in range(first, last)
            for texts in [self.said(user)[begin : begin + TOGETHER]]
        ]

    def waiting(self) -> Iterator[int]:
        """Yield users who did not search yet."""
        return iter(self._waiting)


async def _measure(report: Report, options: Options, folder: Path) -> None:
    bench = Bench(report, options, folder)
    await _look_around(bench)
    report.expect(sum(steps(bench.contending(work), bench.effort(work)) for work in bench.works))
    for size, memories in STORES.items():
        works = [work for work in bench.works if work.endswith(f"/{size}")]
        if works or bench.others(size):
            await _measure_store(bench, size, People(memories), works)


async def _look_around(bench: Bench) -> None:
    """Find which systems are installed and print how durable each one's commit is."""
    for make in SYSTEMS:
        system = make()
        try:
            await system.open(bench.folder())
        except ImportError as exc:
            bench.systems.remove(make)
            bench.report.note(f"{system.name}: not importable ({exc})")
            continue
        bench.report.note(f"{system.name}: {system.durability()}")
        await system.close()


async def _measure_store(bench: Bench, size: str, people: People, works: Sequence[str]) -> None:
    async with AsyncExitStack() as opened:
        systems = [make() for make in bench.systems]
        for system in systems:
            await system.open(bench.folder())
            opened.push_async_callback(system.close)
        filled = 0
        for work, users in bench.others(size).items():
            await _fill(bench, systems, size, people.known(filled, users))
            filled = users
            await compare(bench.report, work, _contenders(systems, _of_one_user(bench)), bench.effort(work))
        await _fill(bench, systems, size, people.known(filled, USERS))
        for system in systems:
            await _check_search(system, people)
        for work in works:
            await _measure_work(bench, work, systems, people)


async def _measure_work(bench: Bench, work: str, systems: Sequence[MemorySystem], people: People) -> None:
    kind = work.split("/", maxsplit=1)[0]
    makers: dict[str, Callable[[Bench, People], Maker]] = {
        FIRST: _first,
        SEARCH: _again,
        ADD: _adding,
        ADDS: _adding_together,
    }
    make = makers[kind](bench, people)
    clients = CLIENTS if kind == ADDS else 1
    if kind != FIRST:
        await _warm_up(bench, systems, people)
    await compare(bench.report, work, _contenders(systems, make, clients), bench.effort(work))
    if kind in (ADD, ADDS):
        for system in systems:
            if clients > 1 or not isinstance(system, ONLY_TOGETHER):
                await _check_added(system, bench.effort(work), people, SHARED if kind == ADDS else 0, clients)


async def _warm_up(bench: Bench, systems: Sequence[MemorySystem], people: People) -> None:
    """Let each active user search once: a slow repetition might not reach them all."""
    for system in systems:
        bench.report.say(f"warming up {system.name}")
        for user in people.active:
            await _answer(system.search(user, bench.questions[0]))


async def _fill(bench: Bench, systems: Sequence[MemorySystem], size: str, known: Sequence[Known]) -> None:
    for system in systems:
        bench.report.say(f"{size} · filling {system.name}")
        await system.fill(known)


def _contenders(systems: Sequence[MemorySystem], make: Maker, clients: int = 1) -> list[Contender]:
    return [
        Contender(system.name, make(system), clients, system.threaded)
        for system in systems
        if clients > 1 or not isinstance(system, ONLY_TOGETHER)
    ]


def _of_one_user(bench: Bench) -> Maker:
    """Let the first user ask one question after the other."""
    questions = bench.questions
    return lambda system: lambda _client, count: system.search(0, questions[count % len(questions)])


def _first(bench: Bench, people: People) -> Maker:
    """Let each user search once."""

    def make(system: MemorySystem) -> Operation:
        waiting = people.waiting()
        return lambda _client, count: system.search(next(waiting), bench.questions[count])

    return make


def _again(bench: Bench, people: People) -> Maker:
    """Let the active users search in turn."""
    questions, active = bench.questions, people.active
    return lambda system: (
        lambda _client, count: system.search(active[count % ACTIVE], questions[count % len(questions)])
    )


def _adding_together(bench: Bench, people: People) -> Maker:
    """Let the active users add what one client did not add before."""
    return _adding(bench, people, SHARED)


def _adding(_bench: Bench, people: People, first: int = 0) -> Maker:
    """Let the active users add something new in turn."""

    def make(system: MemorySystem) -> Operation:
        places = itertools.count(first)

        def operation(_client: int, _count: int) -> object:
            place = next(places)
            return system.add(people.active[place % ACTIVE], people.news[place])

        return operation

    return make


async def _check_search(system: MemorySystem, people: People) -> None:
    """Ask for what a few users said, word for word; nobody may find what another said."""
    for user in (0, *people.active[:2]):
        said = people.said(user)
        found = await _answer(system.search(user, said[-1]))
        if found[0] != said[-1] or len(found) != FOUND or not set(found) <= set(said):
            raise SystemExit(f"{system.name} did not find what user {user} said")


async def _check_added(system: MemorySystem, effort: Effort, people: People, first: int, clients: int) -> None:
    added = first + (effort.repetitions + 1) * effort.at_least * clients
    for place in range(added - LOOKED_UP, added):
        found = await _answer(system.search(people.active[place % ACTIVE], people.news[place]))
        if found[0] != people.news[place]:
            raise SystemExit(f"{system.name} lost what was added")


async def _answer(value: Awaitable[T] | T) -> T:
    return await value if inspect.isawaitable(value) else value


BENCHMARK = Benchmark(WORKS, _measure)

if __name__ == "__main__":
    run("The memories of Recollect beside its peers.", BENCHMARK)
