"""Measure durable appends, loading the last messages, and import time, side by side in one run.

Run it as `python -m benchmarks.store`; README.md says what each row means.
"""

from __future__ import annotations

import inspect
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.harness import Benchmark, Contender, Effort, Options, Report, compare, run, steps
from benchmarks.ours import Recollect
from benchmarks.peers import LangChain, LangChainIndexed, OpenAIAgents
from benchmarks.systems import PER_CONVERSATION, WINDOW, Disk, Floor, System, text_at
from benchmarks.texts import make_texts

T = TypeVar("T")

#: Clients at the same time, and messages of one append.
APPENDS = {"append/1": (1, 1), "append/16": (16, 1), "append/64": (64, 1), "batch/20": (1, 20)}
#: Messages in the store that is read.
READS = {"last20/10k": 10_000, "last20/100k": 100_000, "last20/1M": 1_000_000}
IMPORT = "import"
WORKS = (*APPENDS, *READS, IMPORT)

WRITERS: tuple[Callable[[], System], ...] = (Floor, Recollect, OpenAIAgents, LangChain)
READERS: tuple[Callable[[], System], ...] = (*WRITERS, LangChainIndexed)
IMPORTS = {
    "floor": "pass",
    "recollect": "import recollect",
    "openai-agents": "from agents import SQLiteSession",
    "langchain": "from langchain_community.chat_message_histories import SQLChatMessageHistory",
}


class Bench:
    """One run: which systems take part, what they store, and how long each is measured."""

    def __init__(self, report: Report, options: Options, folder: Path) -> None:
        """Make the texts; nothing is opened yet."""
        self.report = report
        self.folder = folder
        self.texts = make_texts(4_000)
        self.append = Effort(repetitions=3, seconds=0.25) if options.quick else Effort(repetitions=5, seconds=1)
        self.read = Effort(repetitions=3, seconds=0.2) if options.quick else Effort(repetitions=5, seconds=0.5)
        self.start = Effort(repetitions=2 if options.quick else 5, seconds=0, at_least=2 if options.quick else 4)
        self.works = [work for work in WORKS if options.wants(work)]
        if options.quick and not options.only:
            self.works.remove("last20/1M")
        self._missing: set[str] = set()

    def present(self, made_by: Sequence[Callable[[], System]]) -> list[System]:
        """Make those of the systems that are installed."""
        return [system for system in (make() for make in made_by) if system.name not in self._missing]

    def imports(self) -> dict[str, str]:
        """Return what to import of those that are installed."""
        return {name: code for name, code in IMPORTS.items() if name not in self._missing}

    async def look_around(self) -> None:
        """Find which systems are installed and print how durable each one's commit is."""
        for make in READERS:
            system = make()
            try:
                await system.open(self._file(system))
            except ImportError as exc:
                self._missing.add(system.name)
                self.report.note(f"{system.name}: not importable ({exc})")
                continue
            self.report.note(f"{system.name}: {system.durability()}")
            await system.close()
            self._clear()

    async def opened(self, made_by: Sequence[Callable[[], System]]) -> list[System]:
        """Open the systems on empty files."""
        systems = self.present(made_by)
        for system in systems:
            await system.open(self._file(system))
        return systems

    async def closed(self, systems: Sequence[System]) -> None:
        """Close the systems and remove their files."""
        for system in systems:
            await system.close()
        self._clear()

    def _file(self, system: System) -> Path:
        return self.folder / f"{system.name}.db"

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()


async def _measure(report: Report, options: Options, folder: Path) -> None:
    bench = Bench(report, options, folder)
    await bench.look_around()
    bench.report.expect(_length(bench))
    for work in bench.works:
        if work in APPENDS:
            await _measure_append(bench, work, *APPENDS[work])
    await _measure_reads(bench, [work for work in bench.works if work in READS])
    if IMPORT in bench.works:
        await _measure_imports(bench)


def _length(bench: Bench) -> int:
    writers, readers = len(bench.present(WRITERS)), len(bench.present(READERS))
    length = 0
    for work in bench.works:
        if work in APPENDS:
            length += steps(writers + (work == "append/1"), bench.append)
        elif work in READS:
            length += steps(readers, bench.read)
        else:
            length += steps(len(bench.imports()), bench.start)
    return length


async def _measure_append(bench: Bench, work: str, clients: int, batch: int) -> None:
    systems = await bench.opened(WRITERS)
    for system in systems:
        await _check_append(system, clients, bench.texts)
    contenders = [_appending(system, clients, batch, bench.texts) for system in systems]
    disk = Disk(bench.folder / "disk")
    if work == "append/1":
        contenders.append(Contender("fsync", disk.flush, threaded=True))
    await compare(bench.report, work, contenders, bench.append)
    disk.close()
    await bench.closed(systems)


def _appending(system: System, clients: int, batch: int, texts: Sequence[str]) -> Contender:
    def operation(client: int, count: int) -> object:
        start = (client * 97 + count * batch) % (len(texts) - batch)
        return system.append(client, texts[start : start + batch])

    return Contender(system.name, operation, clients, system.threaded)


async def _check_append(system: System, clients: int, texts: Sequence[str]) -> None:
    """Append once for each client, which also opens what a system opens lazily, and read it back."""
    for client in range(clients):
        await _answer(system.append(client, [texts[client]]))
        found = await _answer(system.last20(client))
        if found != [texts[client]]:
            raise SystemExit(f"{system.name} lost an append")


async def _measure_reads(bench: Bench, works: Sequence[str]) -> None:
    systems = await bench.opened(READERS) if works else []
    stored = 0
    for work in works:
        conversations = READS[work] // PER_CONVERSATION
        for system in systems:
            bench.report.say(f"{work} · filling {system.name}")
            await system.fill(stored, conversations - stored, bench.texts)
            await _check_reads(system, conversations, bench.texts)
        stored = conversations
        await compare(bench.report, work, [_reading(system, conversations) for system in systems], bench.read)
    await bench.closed(systems)


def _reading(system: System, conversations: int) -> Contender:
    draw = random.Random(5)
    return Contender(
        system.name, lambda _client, _count: system.last20(draw.randrange(conversations)), 1, system.threaded
    )


async def _check_reads(system: System, conversations: int, texts: Sequence[str]) -> None:
    for number in {0, conversations // 2, conversations - 1}:
        wanted = [text_at(number, seq, texts) for seq in range(PER_CONVERSATION - WINDOW, PER_CONVERSATION)]
        found = await _answer(system.last20(number))
        if found != wanted:
            raise SystemExit(f"{system.name} did not return the newest messages of conversation {number}")


async def _measure_imports(bench: Bench) -> None:
    contenders = [Contender(name, _importing(code), threaded=True) for name, code in bench.imports().items()]
    await compare(bench.report, IMPORT, contenders, bench.start)


def _importing(code: str) -> Callable[[int, int], None]:
    def operation(_client: int, _count: int) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    return operation


async def _answer(value: Awaitable[T] | T) -> T:
    return await value if inspect.isawaitable(value) else value


BENCHMARK = Benchmark(WORKS, _measure)

if __name__ == "__main__":
    run("Recollect's store beside its peers.", BENCHMARK)
