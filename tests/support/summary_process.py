"""Processes that keep conversations short and are killed while they do.

Run as `python -m tests.support.summary_process TASK DATABASE …`:
`steps DATABASE KEPT|DELETED EVERY` has worker after worker killed so many steps later than the last, until one gets
through;
`race DATABASE WORKERS` has several keep one conversation short at the same time;
`turns DATABASE SEED COUNT` has chats killed after a turn was acknowledged;
`work DATABASE KEPT|DELETED` works until it is told to end, and says when it has a summary written.
The first three fork, since that takes no time; this process itself opens nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import recollect
from recollect.bootstrap import new_id, new_worker
from recollect.cli.worker import work_until_signalled
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Append
from recollect.errors import ConflictError
from recollect.history.generators import ExtractiveGenerator, Generators
from recollect.history.plan import PlanSettings
from recollect.history.strategies import SUMMARISE
from recollect.ports.store import Store
from recollect.ports.strategy import Work
from recollect.service.chat_request import ChatRequest
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.settings import Settings
from recollect.storage.driver import Driver
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from tests.support.killed_steps import Fuse, Step, StepDriver, StepGenerator, die, say

SCOPE = Scope()
#: Four messages become two summaries, one fold of them, and a message that stays.
SHORT = PlanSettings(threshold=2, keep_verbatim=1, batch=1, most_summaries=1, fold=2)
#: The same for chats, in the words of the settings.
BRIEF = {"history.threshold": 2, "history.keep_verbatim": 1}
#: The conversation that several keep short at once.
SHARED = "shared"


def settings(database: str, **more: Any) -> Settings:
    """Return settings without a model, with a worker that looks for jobs often."""
    given = {"storage.database": database, "model.kind": "none", "jobs.poll_seconds": 0.05}
    given |= {"jobs.debounce_seconds": 0, **more}
    return Settings.load(given, environ={})


def kind(number: int) -> str:
    """Name the kind of one worker's job, so that no other worker takes it."""
    return f"{SUMMARISE}:{number}"


def compactor(store: Store, step: Step, plan: PlanSettings, *, delete_originals: bool) -> Compactor:
    """Return what keeps conversations short without a model, and counts the calls of its generator."""
    return Compactor(
        store,
        Generators(first=StepGenerator(ExtractiveGenerator(), step)),
        CompactionSettings(plan=plan, delete_originals=delete_originals),
        clock=lambda: datetime.now(UTC),
        new_id=new_id,
    )


def said(conversation_id: str, many: int) -> tuple[NewMessage, ...]:
    """Return messages whose ids follow from their conversation and number."""
    now = datetime.now(UTC)
    return tuple(
        NewMessage(
            id=f"{conversation_id}-{number}",
            role="assistant" if number % 2 else "user",
            content=f"Number {number}: we met {number} times in Lviv.",
            created_at=now,
        )
        for number in range(many)
    )


async def open_driver(database: str) -> Driver:
    """Open the database alone."""
    path = settings(database).storage.sqlite_path
    return await PostgresDriver.open(database) if path is None else await SqliteDriver.open(path)


def forked(run: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Run this in a process of its own and return how it ended: 0, or a signal."""
    return ended(fork(run))


def fork(run: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Start this in a process of its own and return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(run())
        code = 0
    finally:
        # A child must never go on as if it were its parent; what went wrong is on its standard error.
        if code:
            traceback.print_exc()
        os._exit(code)


def ended(child: int) -> int:
    """Wait until a process ended, and return how: 0, or a signal."""
    return abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def is_inside(number: int, chats: int) -> bool:
    """Tell whether a chat has a worker in its process; those without come last, so that nobody does their jobs."""
    return number < chats // 2


# Tasks


async def _do_one_job(database: str, number: int, delete_originals: bool) -> None:
    """Add a conversation with its job, and do that job with a worker that dies at step `number`."""
    driver = await open_driver(database)
    conversation_id = f"c{number}"
    now = datetime.now(UTC)
    job = Work(kind=kind(number)).job(conversation_id, new_id(), now)
    messages = said(conversation_id, 4)
    append = Append(conversation_id=conversation_id, messages=messages, at=now, jobs=(job,), create=True)
    plain = SqlStore(driver)
    await plain.append(SCOPE, append)
    fuse = Fuse(number)
    counted: Any = StepDriver(driver, fuse.step)
    store = SqlStore(counted)
    handler = compactor(store, fuse.step, SHORT, delete_originals=delete_originals).summarise_job
    # It looks once: another look at some moment would be a step more.
    worker = new_worker(store, {kind(number): handler}, settings(database, **{"jobs.poll_seconds": 600}))
    worker.start()
    while True:
        if (await plain.get_job(SCOPE, job.id)).state == "done":
            return
        await asyncio.sleep(0.002)


def steps(database: str, originals: str, every: str) -> None:
    """Kill a worker at its first step, the next at a later one, and so on; each has a conversation of its own."""
    for number in count(1, int(every)):
        end = forked(partial(_do_one_job, database, number, originals == "DELETED"))
        if end != signal.SIGKILL:
            return say("through" if end == 0 else f"ended by {end}")
    return None


async def _compact(database: str, together: Barrier) -> None:
    """Keep one conversation short, beginning at the same time as others."""
    took: list[str] = []
    counted: Any = StepDriver(await open_driver(database), took.append)
    store = SqlStore(counted)

    def step(name: str) -> None:
        if "summarise" not in took:
            together.wait()
        took.append(name)

    own = compactor(store, step, PlanSettings(), delete_originals=False)
    more = True
    while more:
        with suppress(ConflictError):
            more = (await own.compact(SCOPE, SHARED)).more
    say(f"{took.count('after the commit')} {took.count('summarise') + took.count('fold')}")
    await store.close()


def race(database: str, workers: str) -> None:
    """Let several plan the same first summary, and go on until nothing is due."""
    together = multiprocessing.get_context("fork").Barrier(int(workers))
    children = [fork(partial(_compact, database, together)) for _ in range(int(workers))]
    say(f"ended {[ended(child) for child in children]}")


async def _chat(database: str, conversation_id: str, chance: random.Random, inside: bool) -> None:
    """Take some turns, and die."""
    more = {**BRIEF, "jobs.inside": inside, "jobs.lease_seconds": 1}
    service = await recollect.open(settings(database, **more))
    for turn in range(chance.randrange(1, 6)):
        request = ChatRequest(text=f"Turn {turn} of {conversation_id}.", conversation_id=conversation_id)
        reply = await service.chat.turn(SCOPE, request)
        say(f"{conversation_id} {reply.user_message.id} {reply.message.id}")
    if inside:
        await asyncio.sleep(chance.random() * 0.03)
    die()


def turns(database: str, seed: str, chats: str) -> None:
    """Kill chats after a turn was acknowledged: first half of them while a worker does its job, then half at once."""
    for number in range(int(chats)):
        chance = random.Random(f"{seed}-{number}")
        end = forked(partial(_chat, database, f"k{number}", chance, is_inside(number, int(chats))))
        if end != signal.SIGKILL:
            say(f"ended by {end}")


async def work(database: str, originals: str) -> None:
    """Do jobs until a signal comes."""
    chosen = settings(database, **{"jobs.lease_seconds": 1})
    store = SqlStore(await open_driver(database))
    plan = PlanSettings(most_summaries=4)
    own = compactor(store, say, plan, delete_originals=originals == "DELETED")
    try:
        await work_until_signalled(new_worker(store, {SUMMARISE: own.summarise_job}, chosen), "ready", say)
    finally:
        await store.close()


def command(task: str, *given: object) -> list[str]:
    """Return the command that does a task in a process of its own."""
    return [sys.executable, "-m", f"tests.support.{Path(__file__).stem}", task, *map(str, given)]


#: The tasks that fork.
FORKING: Mapping[str, Callable[..., None]] = {"steps": steps, "race": race, "turns": turns}

if __name__ == "__main__":
    _task, *_given = sys.argv[1:]
    if _task in FORKING:
        FORKING[_task](*_given)
    else:
        asyncio.run(work(*_given))
