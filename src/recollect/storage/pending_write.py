"""A write that waits for the commit of its batch."""

from __future__ import annotations

import asyncio
from typing import Any

from recollect.storage.driver import Work


class PendingWrite:
    """The work, what came of it, and who waits for that."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(self, work: Work[Any]) -> None:
        self.work = work
        self.future: asyncio.Future[Any] | None = None
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Give whoever waits what came of the work, unless they left."""
        if self.future is None or self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)
