"""One attempt of a job: run its handler, keep the lease meanwhile, and tell the store how it went.

An attempt whose lease was lost is cancelled and says nothing more: another worker has the job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

import msgspec

from recollect.domain.checks import later
from recollect.domain.job import ClaimedJob, Job, JobFailure
from recollect.domain.scope import Scope
from recollect.errors import JobNotFoundError
from recollect.ports.jobs import JobStore
from recollect.service.job_failures import Backoff, failure_of, name_of, pause_of
from recollect.service.patience import Pace, Patience

#: Does one job; returns when its effects are stored, and may be cancelled or run again at any time.
Handler = Callable[[Scope, Job], Awaitable[None]]
Outcome = Literal["done", "failed", "dead", "lost", "returned"]

#: How long a cancelled handler may take to end.
GRACE = timedelta(seconds=1)

_log = logging.getLogger(__name__)


class AttemptLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long an attempt may be silent, may take, and is waited for afterwards."""

    #: How long a job is held without a sign of life.
    lease: timedelta = timedelta(seconds=60)
    #: How long one attempt may take.
    timeout: timedelta = timedelta(minutes=15)
    #: Waits between the attempts of a job.
    backoff: Backoff = Backoff()


class Attempted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an attempt."""

    outcome: Outcome
    error: str | None = None
    #: When the job is due again.
    retry_at: datetime | None = None
    #: Until when no job of this kind can be done.
    pause_until: datetime | None = None


class Attempts:
    """Make attempts at jobs that were taken."""

    def __init__(
        self,
        store: JobStore,
        handlers: Mapping[str, Handler],
        *,
        limits: AttemptLimits,
        pace: Pace,
        patience: Patience,
    ) -> None:
        self._store = store
        self._handlers = handlers
        self._limits = limits
        self._pace = pace
        self._patience = patience
        #: Set to end all attempts under way and give their jobs back.
        self.ending = asyncio.Event()

    async def make(self, held: ClaimedJob) -> Attempted:
        """Do the job, and return what became of it once the store knows."""
        started = self._pace.clock()
        attempted = await self._make(held, started)
        ms = round((self._pace.clock() - started) / timedelta(milliseconds=1))
        _log.log(
            logging.WARNING if attempted.outcome == "dead" else logging.INFO,
            "job %s kind=%s job=%s attempt=%d ms=%d error=%s",
            *(attempted.outcome, held.job.kind, held.job.id, held.job.attempts, ms, attempted.error or "-"),
        )
        return attempted

    async def give_back(self, held: ClaimedJob) -> Attempted:
        """Queue the job again at once, as if it had not been taken; tried once, for the lease runs out anyway."""
        now = self._pace.clock()
        failure = JobFailure(at=now, error="stopped: the worker was stopped", retry_at=now, counts=False)
        try:
            await self._patience.ask(lambda: self._store.fail_job(held.scope, held.claim, failure))
        except JobNotFoundError:
            return Attempted(outcome="lost")
        return Attempted(outcome="returned")

    async def _make(self, held: ClaimedJob, started: datetime) -> Attempted:
        work = asyncio.create_task(self._handle(held))
        keeper = asyncio.create_task(self._keep(held, later(started, self._limits.timeout)))
        ending = asyncio.create_task(self.ending.wait())
        try:
            await asyncio.wait({work, keeper, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await self._pace.wait_for(work, GRACE)
            if work.done() and not work.cancelled():
                return await self._settle(held, work.exception())
            if keeper.done():
                return await self._settle(held, keeper.result())
            if ending.done():
                return await self.give_back(held)
            return await self._settle(held, asyncio.CancelledError("the handler cancelled itself"))
        finally:
            for task in (work, keeper, ending):
                task.cancel()

    async def _handle(self, held: ClaimedJob) -> None:
        await self._handlers[held.job.kind](held.scope, held.job)

    async def _keep(self, held: ClaimedJob, overdue: datetime) -> JobNotFoundError | TimeoutError:
        """Renew the lease, and return why the attempt must end before the handler does."""
        while (now := self._pace.clock()) < overdue:
            await self._pace.sleep(min(self._limits.lease / 3, overdue - now).total_seconds())
            until = later(self._pace.clock(), self._limits.lease)
            try:
                await self._patience.ask(partial(self._store.heartbeat_job, held.scope, held.claim, until))
            except JobNotFoundError as exc:
                return exc
        return TimeoutError("the attempt took too long")

    async def _settle(self, held: ClaimedJob, error: BaseException | None) -> Attempted:
        """Tell the store how the attempt went."""
        now, backoff = self._pace.clock(), self._limits.backoff
        if error is None:
            return await self._complete(held)
        if isinstance(error, JobNotFoundError):
            return Attempted(outcome="lost")
        failure = failure_of(error, held.job, now=now, chance=self._pace.chance(), backoff=backoff)
        if failure is None:
            return await self._complete(held)
        attempted = await self._fail(held, failure)
        pause = pause_of(error, now=now, backoff=backoff)
        return msgspec.structs.replace(attempted, error=name_of(error), pause_until=pause)

    async def _complete(self, held: ClaimedJob) -> Attempted:
        job = None
        try:
            job = await self._patience.insist(
                lambda: self._store.complete_job(held.scope, held.claim, self._pace.clock()), self.ending
            )
        except JobNotFoundError:
            # A handler may end its job itself, in the transaction of its effects.
            if await self._is_done(held):
                return Attempted(outcome="done")
        return Attempted(outcome="lost" if job is None else "done")

    async def _is_done(self, held: ClaimedJob) -> bool:
        try:
            job = await self._patience.ask(lambda: self._store.get_job(held.scope, held.job.id))
        except JobNotFoundError:
            return False
        return job is not None and job.state == "done"

    async def _fail(self, held: ClaimedJob, failure: JobFailure) -> Attempted:
        try:
            job = await self._patience.insist(
                lambda: self._store.fail_job(held.scope, held.claim, failure), self.ending
            )
        except JobNotFoundError:
            return Attempted(outcome="lost")
        if job is None:
            return Attempted(outcome="lost")
        if job.state == "dead":
            return Attempted(outcome="dead")
        return Attempted(outcome="failed", retry_at=job.run_at if job.state == "queued" else None)
