"""A whole service on each kind of store, for what must hold on all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from recollect.bootstrap import assemble
from recollect.service.recollect import Recollect
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.clock import FakeClock
from tests.support.services import opened, settings_of

STORES = ("inmemory", "sqlite", "postgres")


@asynccontextmanager
async def service_on(kind: Literal["inmemory", "other"], database: str, clock: FakeClock) -> AsyncIterator[Recollect]:
    """Open a service in memory, or on this database."""
    settings = settings_of(database)
    if kind == "inmemory":
        async with assemble(InMemoryStore(), settings, clock) as service:
            yield service
        return
    async with opened(settings, clock=clock) as parts:
        yield parts.service
