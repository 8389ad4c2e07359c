"""A process that does jobs until it is told to end, and says on its output that it is ready and which it begins.

Run as `python -m tests.support.worker_process DATABASE LEASE DRAIN`, both in seconds.
A job of the kind "append" adds a message with the job's id; one of the kind "stuck" never ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from recollect.bootstrap import new_worker, open_store
from recollect.cli.worker import work_until_signalled
from recollect.domain.job import Job
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Append
from recollect.ports.store import Store
from recollect.service.job_attempts import Handler
from recollect.settings import Settings

#: Where the messages go.
EFFECTS = "effects"
#: How long a job takes before and after its effect, so that a kill finds it at every stage.
STAGE_SECONDS = 0.01


def settings(database: str, *, lease: float = 60.0, drain: float = 10.0) -> Settings:
    """Return the settings of a worker that looks for jobs often."""
    jobs = {"jobs.lease_seconds": lease, "jobs.drain_seconds": drain, "jobs.poll_seconds": 0.05}
    return Settings.load({"storage.database": database, "storage.pool_timeout_seconds": 1.0, **jobs}, environ={})


def handlers(store: Store, say: Callable[[str], None]) -> Mapping[str, Handler]:
    """Return what does each kind of job."""

    async def append(scope: Scope, job: Job) -> None:
        say(job.id)
        await asyncio.sleep(STAGE_SECONDS)
        at = datetime.now(UTC)
        message = NewMessage(id=job.id, role="user", content="done", created_at=at)
        await store.append(scope, Append(conversation_id=EFFECTS, messages=(message,), at=at, create=True))
        await asyncio.sleep(STAGE_SECONDS)

    async def stuck(_scope: Scope, job: Job) -> None:
        say(job.id)
        await asyncio.Event().wait()

    return {"append": append, "stuck": stuck}


async def main(database: str, lease: float, drain: float) -> None:
    """Do jobs until a signal comes."""
    chosen = settings(database, lease=lease, drain=drain)
    say = partial(print, flush=True)
    store = await open_store(chosen)
    try:
        await work_until_signalled(new_worker(store, handlers(store, say), chosen), "ready", say)
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
