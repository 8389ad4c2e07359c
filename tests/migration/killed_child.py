"""Do maintenance in children that are killed, from a process that has everything imported already.

Each line of input is one task; a fork does it and is killed by SIGKILL, either by itself at a line of our code that
was counted out, or by its parent after some time, in the middle of whatever it does then.
Each line of output tells how the child ended and how many lines of our code it ran.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from recollect.storage.maintenance import Maintenance, RestoreOptions
from recollect.storage.sqlite_maintenance import SqliteMaintenance
from recollect.storage.verify import unseen
from tests.migration.steps import more_steps

#: Where the lines are counted; deeper down a step of ours is one step of the database.
COUNTED = ("backup", "restore", "replay", "erasure", "sqlite_reading", "sqlite_maintenance", "migrations", "postgres_")


class Task(msgspec.Struct, kw_only=True):
    """What a child does, and when it dies; with neither limit it lives."""

    action: str
    url: str
    file: str = ""
    target: int | None = None
    #: Whether to count lines, which makes the child slow.
    count: bool = True
    die_at_line: int | None = None
    die_after: float | None = None


class Outcome(msgspec.Struct, kw_only=True):
    """How a child ended."""

    killed: bool
    lines: int
    seconds: float


def maintenance(url: str) -> Maintenance:
    if url.startswith("sqlite:///"):
        return SqliteMaintenance(Path(url.removeprefix("sqlite:///")))
    from recollect.storage.postgres_maintenance import PostgresMaintenance

    return PostgresMaintenance(url)


def act(task: Task) -> None:
    database = maintenance(task.url)
    if task.action == "backup":
        database.back_up(Path(task.file), force=True, progress=unseen)
    elif task.action == "restore":
        database.restore(Path(task.file), RestoreOptions(), unseen)
    elif task.action == "repair":
        list(database.check(repair=True, progress=unseen))
    else:
        with more_steps():
            list(database.migrate(task.target))


class LineCounter:
    """Count the lines of our code that run, and die at one of them."""

    def __init__(self, last: int | None) -> None:
        self.lines = 0
        self._last = last

    def __call__(self, frame: FrameType, event: str, argument: Any) -> LineCounter | None:
        path = frame.f_code.co_filename
        if "/recollect/storage/" not in path or not any(f"/{name}" in path for name in COUNTED):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def child(task: Task, report: int) -> None:
    counter = LineCounter(task.die_at_line)
    if task.count:
        sys.settrace(counter)
    act(task)
    sys.settrace(None)
    os.write(report, str(counter.lines).encode())
    os._exit(0)


def run(task: Task) -> Outcome:
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            child(task, writing)
        finally:
            os._exit(1)
    os.close(writing)
    if task.die_after is not None:
        time.sleep(task.die_after)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as report:
        lines = int(report.read() or b"0")
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}, f"the child failed with {code}: {task}"
    return Outcome(killed=code != 0, lines=lines, seconds=time.monotonic() - started)


def main() -> None:
    for line in sys.stdin.buffer:
        outcome = run(msgspec.json.decode(line, type=Task))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
