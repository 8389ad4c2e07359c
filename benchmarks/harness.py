"""Drive clients, repeat and interleave, and show the result: what every benchmark shares.

Knows no system and no workload.
The progress bar is drawn only between repetitions, since its own thread would disturb what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import inspect
import json
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

#: One operation of a client, given the client's number and how many operations it did before.
Operation = Callable[[int, int], Awaitable[object] | object]

#: Columns of a table that is written to a file.
WIDTH = 120


@dataclass(frozen=True, slots=True)
class Row:
    """What one system did in one kind of work."""

    work: str
    system: str
    ops_s: float
    p50_us: float
    p95_us: float
    p99_us: float
    #: Processor time of one operation, in all threads and children of the process.
    cpu_us: float


@dataclass(frozen=True, slots=True)
class Count:
    """A number that is no row: how often something happens in one operation, or what its name says."""

    work: str
    system: str
    count: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One repetition: the seconds each operation took, and what all took together, by clock and by processor."""

    latencies: list[float]
    elapsed: float
    processor: float

    def percentile(self, share: float) -> float:
        """Return the latency that this share of the operations does not exceed, in seconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Watch:
    """Measure one repetition, from when this is made."""

    def __init__(self) -> None:
        """Start."""
        self._processor = _processor()
        self.started = time.perf_counter()

    def sample(self, latencies: list[float]) -> Sample:
        """Stop, and return what was measured with what each operation took."""
        return Sample(latencies, time.perf_counter() - self.started, _processor() - self._processor)


def _processor() -> float:
    """Return the seconds that processors worked for this process and the children that ended."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


@dataclass(frozen=True, slots=True)
class Contender:
    """A system as one kind of work sees it."""

    name: str
    operation: Operation
    clients: int = 1
    #: Whether the operation blocks, so that clients are threads and not tasks.
    threaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to measure."""

    repetitions: int
    #: Length of one repetition.
    seconds: float
    #: Operations of each client in a repetition, however long they take.
    at_least: int = 3


class Report:
    """The rows so far, a progress bar while measuring, a table at the end."""

    def __init__(self) -> None:
        """Draw on the terminal."""
        self.rows: list[Row] = []
        self.counts: list[Count] = []
        self._expected = 0
        self._console = Console(width=None if sys.stdout.isatty() else WIDTH)
        columns = TextColumn("{task.description:<40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=self._console, auto_refresh=False)
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def expect(self, steps: int) -> None:
        """Make the progress bar this much longer."""
        self._expected += steps
        self._progress.update(self._task, total=self._expected, refresh=True)

    def say(self, doing: str, *, advance: int = 0) -> None:
        """Show what happens now."""
        self._progress.update(self._task, description=doing, advance=advance, refresh=True)

    def note(self, text: str) -> None:
        """Print a fact that belongs to the result."""
        self._console.print(text, highlight=False, markup=False)

    def show(self) -> None:
        """Print the table, each work's best throughput in bold, and the counts."""
        if self.rows:
            self._show_rows()
        if self.counts:
            table = Table("count", "system", Column("number", justify="right"))
            for one in self.counts:
                table.add_row(one.work, one.system, f"{one.count:,.2f}")
            self._console.print(table)

    def _show_rows(self) -> None:
        table = Table("work", "system", title="higher ops/s and lower µs are better")
        for name in ("ops/s", "p50 µs", "p95 µs", "p99 µs", "CPU µs"):
            table.add_column(name, justify="right")
        previous = None
        for row in self.rows:
            if previous not in {None, row.work}:
                table.add_section()
            previous = row.work
            best = max(other.ops_s for other in self.rows if other.work == row.work)
            figures = map(_short, (row.ops_s, row.p50_us, row.p95_us, row.p99_us, row.cpu_us))
            table.add_row(row.work, row.system, *figures, style="bold" if row.ops_s == best else None)
        self._console.print(table)

    def write(self, path: Path) -> None:
        """Write the rows and the counts as JSON."""
        every: list[Row | Count] = [*self.rows, *self.counts]
        path.write_text(json.dumps([asdict(one) for one in every], indent=1) + "\n", encoding="utf-8")


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 10 else f"{figure:.1f}"


async def compare(report: Report, work: str, contenders: Sequence[Contender], effort: Effort) -> None:
    """Measure the contenders in turn, repetition by repetition, and add the medians to the report.

    The first repetition warms up and is thrown away; a burst of noise hits one repetition of each, not one system.
    """
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    for repetition in range(effort.repetitions + 1):
        for contender in _rotated(contenders, repetition):
            report.say(f"{work} · {contender.name}")
            sample = await _drive(contender, effort)
            if repetition:
                samples[contender.name].append(sample)
            report.say(f"{work} · {contender.name}", advance=1)
    report.rows.extend(summed_up(work, name, taken) for name, taken in samples.items())


def steps(contenders: int, effort: Effort) -> int:
    """Return how far one comparison moves the progress bar."""
    return contenders * (effort.repetitions + 1)


def _rotated(contenders: Sequence[Contender], by: int) -> list[Contender]:
    start = by % len(contenders)
    return [*contenders[start:], *contenders[:start]]


def summed_up(work: str, system: str, samples: Sequence[Sample]) -> Row:
    """Return the medians over the repetitions."""

    def middle(values: list[float]) -> float:
        return round(statistics.median(values), 1)

    return Row(
        work=work,
        system=system,
        ops_s=middle([len(s.latencies) / s.elapsed for s in samples]),
        p50_us=middle([s.percentile(0.5) * 1e6 for s in samples]),
        p95_us=middle([s.percentile(0.95) * 1e6 for s in samples]),
        p99_us=middle([s.percentile(0.99) * 1e6 for s in samples]),
        cpu_us=middle([s.processor / len(s.latencies) * 1e6 for s in samples]),
    )


async def _drive(contender: Contender, effort: Effort) -> Sample:
    # Frozen, so that no system pays for scanning the modules that another one imported.
    gc.collect()
    gc.freeze()
    if not contender.threaded:
        return await _drive_tasks(contender, effort)
    if contender.clients == 1:
        return _drive_one(contender, effort)
    return _drive_threads(contender, effort)


async def _drive_tasks(contender: Contender, effort: Effort) -> Sample:
    latencies: list[float] = []
    watch = Watch()
    end = watch.started + effort.seconds

    async def client(number: int) -> None:
        count = 0
        before = time.perf_counter()
        while before < end or count < effort.at_least:
            answer = contender.operation(number, count)
            if inspect.isawaitable(answer):
                await answer
            after = time.perf_counter()
            latencies.append(after - before)
            count += 1
            before = after

    await asyncio.gather(*(client(number) for number in range(contender.clients)))
    return watch.sample(latencies)


def _drive_one(contender: Contender, effort: Effort) -> Sample:
    watch = Watch()
    return watch.sample(_loop(contender.operation, 0, watch.started + effort.seconds, effort.at_least))


def _drive_threads(contender: Contender, effort: Effort) -> Sample:
    barrier = threading.Barrier(contender.clients + 1)
    parts: list[list[float]] = []

    def client(number: int) -> None:
        barrier.wait()
        parts.append(_loop(contender.operation, number, time.perf_counter() + effort.seconds, effort.at_least))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(contender.clients)]
    for thread in threads:
        thread.start()
    barrier.wait()
    watch = Watch()
    for thread in threads:
        thread.join()
    return watch.sample([latency for part in parts for latency in part])


def _loop(operation: Operation, number: int, end: float, at_least: int) -> list[float]:
    latencies: list[float] = []
    before = time.perf_counter()
    while before < end or len(latencies) < at_least:
        operation(number, len(latencies))
        after = time.perf_counter()
        latencies.append(after - before)
        before = after
    return latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asks for."""

    quick: bool
    only: tuple[str, ...]
    json: Path | None
    folder: Path

    def wants(self, work: str) -> bool:
        """Tell whether this work was asked for: by name, by the part before the slash, or by asking for nothing."""
        return not self.only or work in self.only or work.split("/", maxsplit=1)[0] in self.only


def parse_options(description: str, works: Sequence[str]) -> Options:
    """Read the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    groups = {work.split("/", maxsplit=1)[0] for work in works}
    parser.add_argument("--quick", action="store_true", help="a short run, less exact")
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORK", choices=sorted({*works, *groups}), help="may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the rows to this file")
    parser.add_argument(
        "--dir", type=Path, default=Path(tempfile.gettempdir()), help="where databases are made; its disk is measured"
    )
    given = parser.parse_args()
    return Options(quick=given.quick, only=tuple(given.only), json=given.json, folder=given.dir)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The works of one file and what measures those that were asked for."""

    works: Sequence[str]
    measure: Callable[[Report, Options, Path], Awaitable[None]]


def run(description: str, *benchmarks: Benchmark) -> None:
    """Do what the command line asks for, each benchmark in a folder of its own."""
    options = parse_options(description, [work for one in benchmarks for work in one.works])
    with Report() as report:
        for one in benchmarks:
            if not any(options.wants(work) for work in one.works):
                continue
            with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=options.folder) as folder:
                asyncio.run(_awaited(one.measure(report, options, Path(folder))))
    report.show()
    if options.json:
        report.write(options.json)


async def _awaited(measuring: Awaitable[None]) -> None:
    await measuring
