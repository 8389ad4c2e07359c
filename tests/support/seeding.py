"""A database with a past: what was said days ago, written by the service itself at a time of the test's choice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from recollect.bootstrap import assemble, open_store
from recollect.domain.scope import Scope
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.testing.clock import FakeClock

#: How many writes wait together; the store puts them into one commit.
AT_ONCE = 200


@asynccontextmanager
async def past(database: Path, clock: FakeClock, **settings: object) -> AsyncIterator[Recollect]:
    """Open a database with a clock that the test moves."""
    chosen = Settings.load({"storage.database": f"sqlite:///{database}", **settings}, environ={})
    async with assemble(await open_store(chosen), chosen, clock) as opened:
        yield opened


async def seed_titles(database: Path, titles: list[str], at: datetime) -> None:
    """Store a conversation for each title, the first one newest, each a second before the last."""
    clock = FakeClock(at)
    async with past(database, clock) as opened:
        for start in range(0, len(titles), AT_ONCE):
            made = []
            for title in titles[start : start + AT_ONCE]:
                made.append(asyncio.ensure_future(opened.conversations.create(Scope(), title=title)))
                await asyncio.sleep(0)
                clock.advance(seconds=-1)
            await asyncio.gather(*made)
