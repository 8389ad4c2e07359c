"""End the servers of a test run when the run ends, however it ends.

The run holds a shared lock on `lease` in its folder.
The kernel drops that lock when pytest exits, is interrupted, or is killed; this process then gets the lock,
kills every process whose working directory lies in the folder and removes the folder.
It is a script of its own, so it must import nothing of the project.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from pathlib import Path

import psutil


def processes_inside(folder: Path) -> list[psutil.Process]:
    """Find the processes that work in a folder; servers stay in their data folder for life."""
    found = []
    for process in psutil.process_iter():
        try:
            inside = Path(process.cwd()).is_relative_to(folder)
        except (psutil.Error, OSError):
            continue
        if inside:
            found.append(process)
    return found


def end_processes_inside(folder: Path) -> None:
    """Kill until nothing is left, since a server may fork while it is being killed."""
    while processes := processes_inside(folder):
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(processes, timeout=1)


def main() -> None:
    """Wait in the background for the end of the run, then clean up."""
    folder = Path(sys.argv[1])
    if os.fork():
        os._exit(0)
    os.setsid()
    with (folder / "lease").open("rb") as lease:
        fcntl.flock(lease, fcntl.LOCK_EX)
        end_processes_inside(folder)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
