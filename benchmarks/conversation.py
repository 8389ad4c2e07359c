"""Measure a chat turn with a model that takes no time, contexts of long conversations, and marking idle sessions.

Run it as `python -m benchmarks.conversation`; README.md says what each row means.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from benchmarks.conversation_ours import (
    IdleSessions,
    LongConversation,
    Recollect,
    RecollectClient,
    RecollectWindow,
    RecollectWindowClient,
    SqliteTransactions,
)
from benchmarks.conversation_peers import LangGraph, LangGraphExit, LlamaIndex, Mem0, OpenAIAgents
from benchmarks.conversation_systems import REPLY, SEEDED, Chatter, Floor, FloorSessions, Prompt
from benchmarks.harness import (
    Benchmark,
    Contender,
    Count,
    Effort,
    Options,
    Report,
    Sample,
    Watch,
    compare,
    run,
    steps,
    summed_up,
)
from benchmarks.texts import make_texts

T = TypeVar("T")

TURN = "turn"
TRANSACTIONS = "transactions/turn"
#: Messages in the conversation whose context is read.
CONTEXTS = {"context/1k": 1_000, "context/10k": 10_000, "context/100k": 100_000}
#: Idle sessions of one user.
CLEANUPS = {"cleanup/1k": 1_000, "cleanup/10k": 10_000, "cleanup/100k": 100_000}
WORKS = (TURN, TRANSACTIONS, *CONTEXTS, *CLEANUPS)
#: Left out of a quick run unless asked for.
LONG = ("context/100k", "cleanup/100k")

CHATTERS: tuple[Callable[[], Chatter], ...] = (
    Floor,
    Recollect,
    RecollectWindow,
    OpenAIAgents,
    LangGraph,
    LangGraphExit,
    LlamaIndex,
    Mem0,
)
COUNTED_SYSTEMS = (Recollect, RecollectWindow, RecollectClient, RecollectWindowClient)
#: Turns over which transactions are counted.
COUNTED = 50
#: Seconds after which the writer is surely idle.
SETTLED = 0.5
#: Messages of the conversation in which a system shows that it keeps what it is told.
CHECKED = 4
#: Sessions marked in one transaction.
MARKED = 500
#: Sessions that are marked at least, so that a short row is no single sample.
SESSIONS = 10_000


class Bench:
    """One run: what is stored, how long each work is measured, and where the files are."""

    def __init__(self, report: Report, options: Options, folder: Path) -> None:
        """Make the texts; nothing is opened yet."""
        self.report = report
        self.texts = make_texts(4_000)
        self.works = [work for work in WORKS if options.wants(work)]
        if options.quick and not options.only:
            self.works = [work for work in self.works if work not in LONG]
        self.turn = Effort(repetitions=1 if options.quick else 3, seconds=0, at_least=60 if options.quick else 300)
        self.read = Effort(repetitions=3, seconds=0.1 if options.quick else 0.5)
        self.chatters = list(CHATTERS)
        self._folder = folder
        self._made = 0

    def folder(self) -> Path:
        """Make an empty folder."""
        self._made += 1
        path = self._folder / str(self._made)
        path.mkdir()
        return path


async def _measure(report: Report, options: Options, folder: Path) -> None:
    bench = Bench(report, options, folder)
    if TURN in bench.works:
        await _look_around(bench)
    report.expect(_length(bench))
    if TURN in bench.works:
        await _measure_turns(bench)
    if TRANSACTIONS in bench.works:
        await _count_transactions(bench)
    for work in bench.works:
        if work in CONTEXTS:
            await _measure_context(bench, work, CONTEXTS[work])
        elif work in CLEANUPS:
            await _measure_cleanup(bench, work, CLEANUPS[work])


def _length(bench: Bench) -> int:
    lengths = dict.fromkeys(CLEANUPS, 2) | dict.fromkeys(CONTEXTS, steps(3, bench.read))
    lengths |= {TURN: steps(len(bench.chatters), bench.turn), TRANSACTIONS: len(COUNTED_SYSTEMS)}
    return sum(lengths[work] for work in bench.works)


async def _look_around(bench: Bench) -> None:
    """Find which systems are installed, see that each keeps a turn, and print how durable its commit is."""
    for make in CHATTERS:
        system = make()
        try:
            await system.open(bench.folder())
        except ImportError as exc:
            bench.chatters.remove(make)
            bench.report.note(f"{system.name}: not importable ({exc})")
            continue
        try:
            await system.seed(bench.texts[:CHECKED])
            await _check_turns(system, bench.texts[CHECKED : CHECKED + 2])
            bench.report.note(f"{system.name}: {system.durability()}")
        finally:
            # A thread that one of them leaves behind would keep the process alive after a failure.
            await system.close()


async def _check_turns(system: Chatter, questions: Sequence[str]) -> None:
    """Take two turns; the prompt of the second must hold the first."""
    prompt: Prompt = []
    for question in questions:
        prompt = await _answer(system.turn(question))
    if prompt[-1] != ("user", questions[1]) or not {("user", questions[0]), ("assistant", REPLY)} <= set(prompt):
        raise SystemExit(f"{system.name} lost a turn")


class Relay:
    """Give each repetition a system of its own that has the same short conversation."""

    def __init__(self, systems: Sequence[Chatter], texts: Sequence[str]) -> None:
        """Take the systems, one for each repetition."""
        self._waiting = iter(systems)
        self._texts = texts

    def turn(self, _client: int, count: int) -> object:
        """Take the next turn, in the next conversation if it is the first of a repetition."""
        if count == 0:
            self._system = next(self._waiting)
        return self._system.turn(self._texts[(SEEDED + count) % len(self._texts)])


async def _measure_turns(bench: Bench) -> None:
    contenders: list[Contender] = []
    async with AsyncExitStack() as opened:
        for make in bench.chatters:
            systems = [make() for _ in range(bench.turn.repetitions + 1)]
            for system in systems:
                await system.open(bench.folder())
                opened.push_async_callback(system.close)
                await system.seed(bench.texts[:SEEDED])
            relay = Relay(systems, bench.texts)
            contenders.append(Contender(systems[0].name, relay.turn, threaded=systems[0].threaded))
        await compare(bench.report, TURN, contenders, bench.turn)


async def _count_transactions(bench: Bench) -> None:
    """Count what the store asks of its driver for a turn, and see that SQLite counts the same.

    No worker runs meanwhile: what it does later is no part of a turn.
    The writer first ends what filling the conversation left to it: while it is busy, each window is read again.
    """
    for make in COUNTED_SYSTEMS:
        system = make()
        bench.report.say(f"{TRANSACTIONS} · {system.name}")
        with SqliteTransactions.of_new_connections() as sqlite:
            await system.open(bench.folder(), worker=False)
            await system.seed(bench.texts[:SEEDED])
            await system.turn(bench.texts[SEEDED])
            await asyncio.sleep(SETTLED)
            driver = await system.count_driver_calls()
            before = sqlite.begun, sqlite.committed, sqlite.looks
            for count in range(COUNTED):
                await system.turn(bench.texts[SEEDED + 1 + count])
            asked = driver.transactions
            after = sqlite.begun, sqlite.committed, sqlite.looks
            await system.close()
        begun, committed, looks = (late - early for early, late in zip(before, after, strict=True))
        if asked != begun:
            raise SystemExit(f"{system.name} asked for {asked} transactions and SQLite began {begun}")
        for work, count in ((TRANSACTIONS, asked), ("commits/turn", committed), ("looks/turn", looks)):
            bench.report.counts.append(Count(work, system.name, count / COUNTED))
        bench.report.say(f"{TRANSACTIONS} · {system.name}", advance=1)


async def _measure_context(bench: Bench, work: str, messages: int) -> None:
    bench.report.say(f"{work} · filling")
    texts = [bench.texts[place % len(bench.texts)] for place in range(messages)]
    floor, ours = Floor(), LongConversation()
    await floor.open(bench.folder())
    await ours.open(bench.folder())
    await floor.seed(texts)
    await ours.fill(texts)
    bench.report.say(f"{work} · summarising")
    written = await ours.compact()
    context = await ours.cold()
    if context != await ours.warm() or context[-1] != texts[-1]:
        raise SystemExit("the context is not the same from the cache and from the database")
    sizes = f"{len(context)} texts of {sum(map(len, context)):,} characters stand for {messages:,} messages"
    bench.report.note(f"{work}: {written:,} summaries were written; {sizes}")
    contenders = [
        Contender("floor", lambda _client, _count: floor.window(), threaded=True),
        Contender("recollect", lambda _client, _count: ours.cold()),
        Contender("recollect+cached", lambda _client, _count: ours.warm()),
    ]
    await compare(bench.report, work, contenders, bench.read)
    await floor.close()
    await ours.close()


async def _measure_cleanup(bench: Bench, work: str, sessions: int) -> None:
    users = max(1, SESSIONS // sessions)
    for make in (FloorSessions, IdleSessions):
        system = make()
        bench.report.say(f"{work} · filling {system.name}")
        await system.open(bench.folder())
        await system.fill(users, sessions)
        bench.report.say(f"{work} · {system.name}", advance=1)
        samples = [await _clean_up(system, user, sessions) for user in range(users)]
        bench.report.rows.append(summed_up(work, system.name, samples))
        await system.close()


async def _clean_up(system: FloorSessions | IdleSessions, user: int, sessions: int) -> Sample:
    """Mark the idle sessions of a user, batch by batch, and note what each session took."""
    latencies: list[float] = []
    watch = Watch()
    before = watch.started
    while marked := await _answer(system.mark(user, MARKED)):
        after = time.perf_counter()
        latencies += [(after - before) / marked] * marked
        before = after
    if len(latencies) != sessions:
        raise SystemExit(f"{system.name} marked {len(latencies)} of {sessions} sessions")
    return watch.sample(latencies)


async def _answer(value: Awaitable[T] | T) -> T:
    return await value if inspect.isawaitable(value) else value


BENCHMARK = Benchmark(WORKS, _measure)

if __name__ == "__main__":
    run("A conversation with Recollect beside its peers.", BENCHMARK)
