"""Record turns without a pause, as a process of its own, and print the number of each once it is acknowledged.

Each turn has three messages that name it; the process ends when its input does.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import count

from recollect.bootstrap import open_store
from recollect.settings import Settings, StorageSettings
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE

#: Messages of a turn.
MESSAGES = 3
#: Turns recorded at the same time.
WRITERS = 4
TEXT = "some words that make a page fill up sooner than it would " * 4


async def write(url: str) -> None:
    store = await open_store(Settings(storage=StorageSettings(database=url)))
    numbers, ended = count(), asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)

    async def writer(name: int) -> None:
        while not ended.is_set():
            number = next(numbers)
            said = [sample.message(f"t{number}-{part}", f"{TEXT} {number}") for part in range(MESSAGES)]
            await store.record_turn(ALICE, sample.turn(f"t{number}", sample.append(f"c{name}", *said)))
            print(number, flush=True)

    await asyncio.gather(*(writer(name) for name in range(WRITERS)))
    await store.close()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
