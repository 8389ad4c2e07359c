"""Several processes on one database, and processes that are killed while they write."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.bootstrap import open_store
from recollect.domain.job import JobQuery
from recollect.domain.message import Message
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from recollect.settings import Settings
from tests.support.writer_process import CLIENTS, write

SCOPE = Scope()
READY_SECONDS = 2.0


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    return str(request.getfixturevalue("postgres_url"))


def start(database: str, name: str, first: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.writer_process", database, "one", name, str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def read_all(store: Store) -> list[Message]:
    found: list[Message] = []
    last: str | None = None
    while True:
        query = MessageQuery(conversation_id="one", limit=500, before=None if last is None else last, all_branches=True)
        page = await store.list_messages(SCOPE, query)
        assert page.corrupt == ()
        found = list(page.messages) + found
        if not page.more:
            return found
        last = page.messages[0].id


async def read_jobs(store: Store) -> set[str]:
    found: list[str] = []
    while page := await store.list_jobs(SCOPE, JobQuery(limit=1_000, before_id=found[-1] if found else None)):
        found += [job.id for job in page]
    return set(found)


async def check_turns(database: str, acknowledged: set[str]) -> list[Message]:
    """Check that every turn is whole, in one place, once, and that nothing acknowledged is missing."""
    store = await open_store(Settings.load({"storage.database": database}, environ={}))
    try:
        messages = await read_all(store)
        conversation = await store.get_conversation(SCOPE, "one")
        jobs = await read_jobs(store)
    finally:
        await store.close()
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    assert (conversation.message_count, conversation.next_seq) == (len(messages), len(messages) + 1)
    turns = [message.turn_id for message in messages[::3]]
    for number, message in enumerate(messages):
        assert message.id == f"{turns[number // 3]}-{'qta'[number % 3]}"
        assert message.parent_id == (messages[number - 1].id if number else None)
    assert len(set(turns)) == len(turns)
    assert acknowledged <= set(turns)
    assert jobs == {f"{turn}-job" for turn in turns}
    return messages


@pytest.mark.spec("R8")
async def test_eight_processes_write_one_conversation_without_gaps_or_split_turns(
    database: str, count: Callable[[int, int], int]
) -> None:
    turns = count(25, 200)
    await (await open_store(Settings.load({"storage.database": database}, environ={}))).close()
    processes = [start(database, f"p{n}", 0, turns) for n in range(8)]
    outputs = [process.communicate(timeout=110) for process in processes]
    assert [(process.returncode, error) for process, (_, error) in zip(processes, outputs, strict=True)] == [
        (0, "")
    ] * 8
    acknowledged = {line for said, _ in outputs for line in said.split() if line != "ready"}
    assert len(acknowledged) == 8 * turns
    messages = await check_turns(database, acknowledged)
    assert len(messages) == 8 * turns * 3


@pytest.mark.timeout(600)
async def test_killed_writers_lose_nothing_and_a_repeat_stores_nothing_twice(
    database: str, count: Callable[[int, int], int], seed: int
) -> None:
    kills = count(12, 250)
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    last: range | None = None
    for kill in range(kills):
        if last is not None:
            # A client that did not see the acknowledgement sends the same turns again.
            again: list[str] = []
            await write(database, "one", "p", last, again.append)
            acknowledged |= set(again[1:])
        started = time.monotonic()
        process = start(database, "p", kill * 1_000, 1_000)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert time.monotonic() - started < 5 * READY_SECONDS
        wanted = chance.randrange(1, 12)
        seen = [process.stdout.readline().strip() for _ in range(wanted)]
        process.kill()
        rest, _ = process.communicate(timeout=30)
        acknowledged |= {line for line in [*seen, *rest.split()] if line.startswith("p-")}
        last = range(kill * 1_000, kill * 1_000 + wanted + CLIENTS)
    await check_turns(database, acknowledged)
