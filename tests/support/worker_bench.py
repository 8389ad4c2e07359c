"""A worker on a store and a clock that a test holds in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from recollect.domain.job import Claim, ClaimedJob, ClaimRequest, Job, JobFailure
from recollect.domain.scope import Scope
from recollect.service.job_attempts import AttemptLimits
from recollect.service.patience import Pace
from recollect.service.worker import Worker, WorkerOptions
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.samples import ALICE, job
from tests.support.virtual_time import VirtualTime

Act = Callable[[Scope, Job], Awaitable[None]]


class FlakyStore(InMemoryStore):
    """A store that fails when told, and counts how often it is asked for jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.looks = 0
        self.asked = 0
        self.names: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def _fail(self) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        self.looks += 1
        self.names.append(request.worker)
        self._fail()
        taken = await super().claim_jobs(request)
        await self.gate.wait()
        return taken

    async def complete_job(self, scope: Scope, claim: Claim, at: Any) -> Job:
        self._fail()
        return await super().complete_job(scope, claim, at)

    async def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        self._fail()
        return await super().fail_job(scope, claim, failure)

    async def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: Any) -> Job:
        self._fail()
        return await super().heartbeat_job(scope, claim, lease_until)


class Bench:
    """A worker on a store and a clock that the test holds in its hands."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.store = FlakyStore()
        self.done: list[str] = []
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        #: What a job does, by its id; one without an entry is done at once.
        self.acts: dict[str, Act] = {}
        self.worker = self.hire()

    def hire(self, name: str = "w", **options: Any) -> Worker:
        limits = AttemptLimits(lease=timedelta(seconds=60), timeout=timedelta(minutes=15))
        return Worker(
            self.store,
            {"extract": self.handle, "title": self.handle},
            options=WorkerOptions(**{"name": name, "limits": limits, **options}),
            pace=Pace(self.time.clock, sleep=self.time.sleep, chance=lambda: 0.5),
        )

    async def handle(self, scope: Scope, given: Job) -> None:
        self.begun.append(given.id)
        try:
            if given.id in self.acts:
                await self.acts[given.id](scope, given)
        except asyncio.CancelledError:
            self.cancelled.append(given.id)
            raise
        self.done.append(given.id)

    async def enqueue(self, *job_ids: str, scope: Scope = ALICE, **more: Any) -> None:
        for job_id in job_ids:
            new = job(job_id, **{"run_at": self.time.clock(), **more})
            await self.store.enqueue_job(scope, new, self.time.clock())

    async def begin(self, *job_ids: str, **more: Any) -> None:
        """Queue these and let the worker begin."""
        await self.enqueue(*job_ids, **more)
        self.worker.start()
        await self.time.settle()

    async def job(self, job_id: str) -> Job:
        return await self.store.get_job(ALICE, job_id)

    async def close(self) -> None:
        """Let go of whatever the test left waiting."""
        self.store.error = None
        self.store.gate.set()
        stopping = asyncio.create_task(self.worker.stop())
        await self.time.advance(60)
        await stopping


def raises(*errors: BaseException | None) -> Act:
    """Fail with these errors, one in each attempt, and then succeed."""
    left = list(errors)

    async def act(_scope: Scope, _job: Job) -> None:
        if left and (error := left.pop(0)) is not None:
            raise error

    return act


async def forever(_scope: Scope, _job: Job) -> None:
    await asyncio.Event().wait()
