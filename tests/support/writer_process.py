"""A process that records turns and says so on its output, once each is acknowledged.

Run as `python -m tests.support.writer_process DATABASE CONVERSATION NAME FIRST COUNT`.
Ids follow from name and number, so a process that was killed can be repeated by another.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from recollect.bootstrap import open_store
from recollect.domain.job import NewJob
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Append, TurnRecord
from recollect.settings import Settings

#: Turns that one process writes at the same time.
CLIENTS = 4


def turn(conversation_id: str, name: str, number: int) -> TurnRecord:
    """Return the turn with this number: a question, a tool's answer, a reply and a job."""
    at = datetime.now(UTC)
    key = f"{name}-{number}"
    said = (
        NewMessage(id=f"{key}-q", role="user", content=f"question {key}", created_at=at),
        NewMessage(id=f"{key}-t", role="tool", content=f"result {key}", created_at=at, tool_call_id=key),
        NewMessage(id=f"{key}-a", role="assistant", content=f"answer {key}", created_at=at),
    )
    job = NewJob(id=f"{key}-job", kind="extract", run_at=at, conversation_id=conversation_id)
    return TurnRecord(
        id=key, append=Append(conversation_id=conversation_id, messages=said, at=at, jobs=(job,), create=True)
    )


async def write(
    database: str, conversation_id: str, name: str, numbers: range, acknowledge: Callable[[str], None]
) -> None:
    """Record the turns and acknowledge each by its id, after the word that the store is open."""
    store = await open_store(Settings.load({"storage.database": database}, environ={}))
    waiting = iter(numbers)

    async def client() -> None:
        for number in waiting:
            await store.record_turn(Scope(), turn(conversation_id, name, number))
            acknowledge(f"{name}-{number}")

    acknowledge("ready")
    try:
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
    finally:
        await store.close()


if __name__ == "__main__":
    _database, _conversation, _name, _first, _count = sys.argv[1:]
    _numbers = range(int(_first), int(_first) + int(_count))
    asyncio.run(write(_database, _conversation, _name, _numbers, partial(print, flush=True)))
