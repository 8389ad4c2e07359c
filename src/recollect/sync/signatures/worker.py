"""What `Worker` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from recollect.service.worker import WorkerState


class BlockingWorker(Protocol):
    """Do the jobs that there are handlers for; nothing that fails ends it."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Tell the kinds of jobs that the worker does."""

    @property
    def state(self) -> WorkerState:
        """Tell what the worker is doing and did."""

    def start(self) -> None:
        """Begin to work in the background of the running event loop."""

    def run(self) -> None:
        """Work until `stop` is called; cancelling this stops as gracefully."""

    def stop(self) -> None:
        """Take no more jobs, wait for those under way, then cancel them and give them back."""

    def wake(self, at: datetime | None = None) -> None:
        """Tell that a job was queued, so that it is done at once, or as soon as it is due."""
