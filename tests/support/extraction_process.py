"""Processes that learn from conversations and are killed while they do.

Run as `python -m tests.support.extraction_process TASK DATABASE …`:
`steps DATABASE EVERY` has worker after worker killed so many steps later than the last, until one gets through;
`race DATABASE WORKERS` has several learn from one conversation at the same time;
`turns DATABASE SEED COUNT` has chats killed after a turn was acknowledged.
All of them fork, since that takes no time; this process itself opens nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import recollect
from recollect.bootstrap import assemble, new_id, new_worker
from recollect.domain.message import NewMessage
from recollect.domain.turn import Append
from recollect.extraction.extractors import Extractors, RuleExtractor
from recollect.extraction.rule_tables import languages
from recollect.ports.extractor import Extracted, ExtractionRequest
from recollect.ports.store import Store
from recollect.ports.strategy import Work
from recollect.service import recall as _loaded_before_a_fork  # noqa: F401
from recollect.service.chat_request import ChatRequest
from recollect.service.keeping import EXTRACT
from recollect.service.learning import Learner
from recollect.storage.store import SqlStore
from tests.support.killed_steps import Fuse, Step, StepDriver, die, say
from tests.support.summary_process import SCOPE, ended, fork, forked, is_inside, open_driver, settings

#: The conversation that several learn from at once.
SHARED = "shared"


class StepExtractor(RuleExtractor):
    """The rules, whose readings are steps."""

    def __init__(self, step: Step) -> None:
        self._step = step

    async def extract(self, request: ExtractionRequest) -> Extracted:
        """Count the reading, before and after it."""
        self._step("reading")
        extracted = await super().extract(request)
        self._step("read")
        return extracted


def kind(number: int) -> str:
    """Name the kind of one worker's job, so that no other worker takes it."""
    return f"{EXTRACT}:{number}"


def statement(conversation_id: str, number: int) -> str:
    """Return what is said, from which follows one memory."""
    return f"I like dish {conversation_id}n{number}."


def said(conversation_id: str, many: int) -> tuple[NewMessage, ...]:
    """Return messages whose ids follow from their conversation and number."""
    now = datetime.now(UTC)
    return tuple(
        NewMessage(
            id=f"{conversation_id}-{number}",
            role="user",
            content=statement(conversation_id, number),
            created_at=now,
        )
        for number in range(many)
    )


def learner(store: Store, database: str, step: Step) -> Learner:
    """Return what learns by rules, and counts its readings."""
    own = assemble(store, settings(database)).learner
    return Learner(store, own._writer, Extractors(first=StepExtractor(step)), own._means, own._options)


# Tasks


async def _do_one_job(database: str, number: int) -> None:
    """Add a conversation with its job, and do that job with a worker that dies at step `number`."""
    driver = await open_driver(database)
    conversation_id = f"c{number}"
    now = datetime.now(UTC)
    job = Work(kind=kind(number)).job(conversation_id, new_id(), now)
    append = Append(
        conversation_id=conversation_id, messages=said(conversation_id, 2), at=now, jobs=(job,), create=True
    )
    plain = SqlStore(driver)
    await plain.append(SCOPE, append)
    fuse = Fuse(number)
    counted: Any = StepDriver(driver, fuse.step)
    store = SqlStore(counted)
    handler = learner(store, database, fuse.step).extract_job
    # It looks once: another look at some moment would be a step more.
    worker = new_worker(store, {kind(number): handler}, settings(database, **{"jobs.poll_seconds": 600}))
    worker.start()
    while True:
        if (await plain.get_job(SCOPE, job.id)).state == "done" and not worker.state.running:
            return
        await asyncio.sleep(0.002)


def steps(database: str, every: str) -> None:
    """Kill a worker at its first step, the next at a later one, and so on; each has a conversation of its own."""
    for number in count(1, int(every)):
        end = forked(partial(_do_one_job, database, number))
        if end != signal.SIGKILL:
            return say("through" if end == 0 else f"ended by {end}")
    return None


async def _learn(database: str, together: Barrier) -> None:
    """Learn from one conversation, beginning at the same time as others."""
    took: list[str] = []
    store = SqlStore(await open_driver(database))

    def step(name: str) -> None:
        if "reading" not in took:
            together.wait()
        took.append(name)

    learned = await learner(store, database, step).learn(SCOPE, SHARED)
    say(f"{learned.read} {len(learned.memories)} {took.count('read')}")
    await store.close()


def race(database: str, workers: str) -> None:
    """Let several read the same first range, and go on until nothing is left."""
    together = multiprocessing.get_context("fork").Barrier(int(workers))
    children = [fork(partial(_learn, database, together)) for _ in range(int(workers))]
    say(f"ended {[ended(child) for child in children]}")


async def _chat(database: str, conversation_id: str, chance: random.Random, inside: bool) -> None:
    """Take some turns, and die."""
    more = {"jobs.inside": inside, "jobs.lease_seconds": 1}
    service = await recollect.open(settings(database, **more))
    for turn in range(chance.randrange(1, 5)):
        request = ChatRequest(text=statement(conversation_id, turn), conversation_id=conversation_id)
        await service.chat.turn(SCOPE, request)
        say(f"{conversation_id} {turn}")
    if inside:
        await asyncio.sleep(chance.random() * 0.03)
    die()


def turns(database: str, seed: str, chats: str) -> None:
    """Kill chats after a turn was acknowledged: first half of them while a worker learns, then half at once."""
    for number in range(int(chats)):
        chance = random.Random(f"{seed}-{number}")
        end = forked(partial(_chat, database, f"k{number}", chance, is_inside(number, int(chats))))
        if end != signal.SIGKILL:
            say(f"ended by {end}")


def command(task: str, *given: object) -> list[str]:
    """Return the command that does a task in a process of its own."""
    return [sys.executable, "-m", f"tests.support.{Path(__file__).stem}", task, *map(str, given)]


TASKS: Mapping[str, Callable[..., None]] = {"steps": steps, "race": race, "turns": turns}

if __name__ == "__main__":
    # Read once here, so that no child reads it again.
    languages()[0].rules  # noqa: B018
    _task, *_given = sys.argv[1:]
    TASKS[_task](*_given)
