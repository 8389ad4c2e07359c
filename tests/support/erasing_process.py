"""A process that writes messages to a SQLite file and erases some, until it is killed.

Run as `python -m tests.support.erasing_process FILE SEED`; it prints what each erased message held, once it is gone.
"""

from __future__ import annotations

import asyncio
import sys
from random import Random

from recollect.domain.erasure import Erasure
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Append
from recollect.storage import sqlite_scrubber
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from tests.support.store_script import AT


async def main(path: str, seed: int) -> None:
    """Write and erase, three to one."""
    rng = Random(seed)
    # Small steps are killed between more often.
    sqlite_scrubber.SLICE = 2**17
    scope = Scope("acme", f"user{seed}")
    store = SqlStore(await SqliteDriver.open(path))
    held: list[tuple[str, str]] = []
    while True:
        for _ in range(3):
            name, secret = f"m{rng.getrandbits(40):010x}", f"{rng.getrandbits(96):024x}"
            words = " ".join(f"{rng.getrandbits(32):08x}" for _ in range(rng.choice((1, 5, 30, 120, 700))))
            new = NewMessage(id=name, role="user", content=f"{words} qz{secret}", created_at=AT)
            await store.append(scope, Append(conversation_id="c", messages=(new,), at=AT, create=True))
            held.append((name, secret))
        name, secret = held.pop(rng.randrange(len(held)))
        await store.erase_message(scope, "c", name, Erasure(receipt_id=name, at=AT))
        print(secret, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
