"""Measure chat turns through the server, with a model that answers at once, beside an echo on the same framework.

Run it as `python -m benchmarks.server`; README.md says what each row means.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.harness import Benchmark, Count, Effort, Options, Report, Row, Sample, run, steps, summed_up
from benchmarks.server_load import Load, drive
from benchmarks.server_systems import Echo, Postgres, Recollect, System, listening
from benchmarks.texts import make_texts

#: Clients that talk at the same time.
CHATS = {"chat/1": 1, "chat/16": 16, "chat/64": 64}
RESIDENT = "resident"
WORKS = (*CHATS, RESIDENT)
#: Clients while memory is measured.
RESIDENT_CLIENTS = 16
#: Seconds of rest after warming up, in which background work runs for the first time and loads what it needs.
SETTLING = 4.0
#: Turns of all clients together after which memory is measured.
MARKS, QUICK_MARKS = (1_000, 5_000, 10_000), (250, 500, 1_000)


class Bench:
    """One run: what is said, how long each work is measured, and where the files are."""

    def __init__(self, report: Report, options: Options, folder: Path) -> None:
        """Make the texts; nothing is started yet."""
        self.report = report
        self.texts = make_texts(4_000)
        self.works = [work for work in WORKS if options.wants(work)]
        self.effort = Effort(repetitions=1 if options.quick else 3, seconds=1.0 if options.quick else 3.0)
        self.marks = QUICK_MARKS if options.quick else MARKS
        self.postgres: Postgres | None = None
        self.model = 0
        self._folder = folder
        self._made = 0

    def folder(self) -> Path:
        """Make an empty folder."""
        self._made += 1
        path = self._folder / str(self._made)
        path.mkdir()
        return path

    def systems(self) -> list[System]:
        """Return what is measured, the floor first; nothing is started yet."""
        model, found = self.model, self.postgres
        made: list[System] = [
            Echo(name="echo"),
            Echo(name="echo+2", processes=2),
            Recollect(name="recollect", model=model),
            Recollect(name="recollect+builtin"),
            Recollect(name="recollect+2", model=model, processes=2),
        ]
        if found is not None:
            made += [
                Recollect(name="recollect+postgres", model=model, database=found.database()),
                Recollect(name="recollect+postgres+2", model=model, database=found.database(), processes=2),
            ]
        return made

    def held(self) -> list[System]:
        """Return the systems whose memory is measured."""
        made: list[System] = [
            Echo(name="echo"),
            Recollect(name="recollect", model=self.model),
            Recollect(name="recollect+window", model=self.model, settings={"RECOLLECT_MEMORY_ENABLED": "false"}),
        ]
        if self.postgres is not None:
            made.append(Recollect(name="recollect+postgres", model=self.model, database=self.postgres.database()))
        return made


async def _measure(report: Report, options: Options, folder: Path) -> None:
    bench = Bench(report, options, folder)
    measuring = asyncio.current_task()
    assert measuring is not None
    # Told to end, it ends what it started first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, measuring.cancel)
    async with AsyncExitStack() as opened:
        try:
            bench.postgres = await asyncio.to_thread(Postgres)
            opened.push_async_callback(asyncio.to_thread, bench.postgres.close)
            report.note(f"postgres: {bench.postgres.durability()}")
        except ImportError as exc:
            report.note(f"recollect+postgres: left out ({exc})")
        model = await listening(["benchmarks.server_model"], bench.folder())
        opened.push_async_callback(model.end)
        bench.model = model.port
        chats = [work for work in bench.works if work in CHATS]
        systems = bench.systems() if chats else []
        held = bench.held() if RESIDENT in bench.works else []
        report.expect(len(chats) * steps(len(systems), bench.effort) + len(held) * len(bench.marks))
        await _measure_chats(bench, chats, systems)
        for system in held:
            await _measure_resident(bench, system)


async def _measure_chats(bench: Bench, works: Sequence[str], systems: Sequence[System]) -> None:
    async with AsyncExitStack() as opened:
        for system in systems:
            opened.push_async_callback(system.close)
            bench.report.say(f"starting {system.name}")
            await system.open(bench.folder())
        for work in works:
            await _compare(bench, work, systems)


async def _compare(bench: Bench, work: str, systems: Sequence[System]) -> None:
    """Measure each system in turn, repetition by repetition; the first repetition is thrown away.

    The others stand still meanwhile: what one does in the background would be paid by the next.
    """
    for system in systems:
        system.send(signal.SIGSTOP)
    clients = {system.name: system.clients(work, CHATS[work]) for system in systems}
    samples: dict[str, list[Sample]] = {system.name: [] for system in systems}
    load = Load(bench.texts, seconds=bench.effort.seconds, at_least=bench.effort.at_least)
    for repetition in range(bench.effort.repetitions + 1):
        for system in systems:
            bench.report.say(f"{work} · {system.name}")
            system.send(signal.SIGCONT)
            sample = await drive(clients[system.name], load, system.processor)
            if not repetition:
                await asyncio.sleep(SETTLING)
            system.send(signal.SIGSTOP)
            if repetition:
                samples[system.name].append(sample)
            bench.report.say(f"{work} · {system.name}", advance=1)
    for system in systems:
        system.send(signal.SIGCONT)
        for client in clients[system.name]:
            await system.check(client, bench.texts[0])
    rows = {name: summed_up(work, name, taken) for name, taken in samples.items()}
    bench.report.rows.extend(rows.values())
    _add_differences(bench.report, rows)


def _add_differences(report: Report, rows: dict[str, Row]) -> None:
    """Add what each system takes longer than the echo in as many processes, in microseconds."""
    for name, row in rows.items():
        if name.startswith("echo"):
            continue
        floor = rows["echo+2" if name.endswith("+2") else "echo"]
        for figure, added in (("p50", row.p50_us - floor.p50_us), ("p99", row.p99_us - floor.p99_us)):
            report.counts.append(Count(f"added {figure} µs/{row.work}", name, round(added, 1)))


async def _measure_resident(bench: Bench, system: System) -> None:
    """Take turns, and see how much memory the server holds after some of them."""
    async with AsyncExitStack() as opened:
        opened.push_async_callback(system.close)
        bench.report.say(f"{RESIDENT} · starting {system.name}")
        await system.open(bench.folder())
        talkers = system.clients(RESIDENT, RESIDENT_CLIENTS)
        taken = 0
        for mark in bench.marks:
            bench.report.say(f"{RESIDENT} · {system.name}")
            await drive(talkers, Load(bench.texts, total=mark - taken), system.processor)
            taken = mark
            bench.report.counts.append(Count(f"{RESIDENT} bytes/{mark:,} turns", system.name, system.resident()))
            bench.report.say(f"{RESIDENT} · {system.name}", advance=1)


BENCHMARK = Benchmark(WORKS, _measure)

if __name__ == "__main__":
    run("A server of Recollect beside a bare one.", BENCHMARK)
