"""What the main thread of a page does while something happens, counted in its own time.

A busy machine stretches every task on the clock; the time that the thread itself ran for stays what it is.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Page

#: Longer than this keeps a person waiting, as browsers themselves count long tasks.
LONG_MS = 50
_CATEGORIES = ["toplevel", "devtools.timeline"]
_TASKS = ("RunTask", "ThreadControllerImpl::RunTask")


class Tasks:
    """The tasks of a page's main thread, in milliseconds of its own time; filled when the watching ends."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []

    @property
    def long(self) -> list[float]:
        """Return those that block, the longest first."""
        return sorted((one for one in self.milliseconds if one > LONG_MS), reverse=True)

    def __str__(self) -> str:
        worst = max(self.milliseconds, default=0.0)
        return f"{len(self.milliseconds)} tasks, longest {worst:.0f} ms, {len(self.long)} over {LONG_MS} ms"


@asynccontextmanager
async def watched(browser: Browser, page: Page) -> AsyncIterator[Tasks]:
    """Watch the main thread of a page until the block ends."""
    tasks = Tasks()
    await browser.start_tracing(page=page, categories=_CATEGORIES)
    try:
        yield tasks
    finally:
        events: list[dict[str, Any]] = json.loads(await browser.stop_tracing())["traceEvents"]
        threads = {
            (one["pid"], one["tid"])
            for one in events
            if one["name"] == "thread_name" and one["args"].get("name") == "CrRendererMain"
        }
        tasks.milliseconds = [
            one["tdur"] / 1_000
            for one in events
            if one["name"] in _TASKS and "tdur" in one and (one["pid"], one["tid"]) in threads
        ]
