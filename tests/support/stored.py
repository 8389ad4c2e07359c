"""Put things into the database of a running server, as another process of the same installation would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from recollect.bootstrap import open_store
from recollect.ports.store import Store
from recollect.settings import Settings

T = TypeVar("T")


def with_store(database: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Return what the work returns on the store of a database."""

    async def run() -> T:
        store = await open_store(Settings.load({"storage.database": database}, {}))
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
