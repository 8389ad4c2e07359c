"""A process that is one client of a shared SQLite file.

Run as `python -m tests.support.client_process FILE NUMBER SEED STEPS`; it prints how many erasures it could not scrub.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from random import Random

from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from tests.support.store_clients import Client


class Unscrubbed(logging.Handler):
    """Count the erasures whose old pages stay in the WAL for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count the record if it tells of one."""
        self.count += "after a later write" in record.getMessage()


async def main(path: str, number: int, seed: int, steps: int) -> None:
    """Do the steps one after the other."""
    unscrubbed = Unscrubbed()
    logging.getLogger("recollect").addHandler(unscrubbed)
    store = SqlStore(await SqliteDriver.open(path))
    client = Client(store, number, Random(seed))
    for _ in range(steps):
        await client.step()
    await store.close()
    print(unscrubbed.count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
