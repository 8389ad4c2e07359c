"""Do durable jobs: take what is due, as many as there are places, until stopped.

A worker may be killed at any moment: what it held is taken by another when the lease runs out, and the effects of a
handler are guarded by ids, so they happen once however often it runs.
The worker knows nothing of what a job is about.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import msgspec

from recollect.domain.checks import check_count, check_text, later
from recollect.domain.job import ClaimedJob, ClaimRequest, Job
from recollect.domain.scope import Scope
from recollect.ports.events import Event, Events
from recollect.ports.jobs import JobStore
from recollect.ports.meter import Meter, NoMeter, timed
from recollect.ports.tracer import QUEUED, NoTracer, Span, Tracer, Value
from recollect.service.job_attempts import Attempted, AttemptLimits, Attempts, Handler
from recollect.service.job_failures import name_of
from recollect.service.jobs import JOB_UPDATED
from recollect.service.patience import OUTAGE, Pace, Patience

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Due times are rounded up to this, so that many of them cost few looks at the store.
TICK = timedelta(seconds=0.1)
#: Due times further away than this are left to polling.
HORIZON = timedelta(minutes=10)
#: How often the done jobs of a user are forgotten, and for how many users that is remembered.
TIDY_EVERY = timedelta(hours=1)
#: What of an attempt its user is told: not that another worker has the job.
TOLD = ("done", "failed", "dead")
TIDIED_USERS = 10_000

_log = logging.getLogger(__name__)


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    #: A name that no other worker ever had, for it tells whose a job is.
    name: str
    #: Jobs done at the same time.
    concurrency: int = 4
    #: How often to look for jobs that nobody told of.
    poll: timedelta = timedelta(seconds=2)
    #: How long `stop` waits for jobs under way.
    drain: timedelta = timedelta(seconds=10)
    #: Done jobs are forgotten after this time.
    keep_done: timedelta = timedelta(days=7)
    #: The lease, timeout and backoff of each attempt.
    limits: AttemptLimits = AttemptLimits()
    #: Counts attempts.
    meter: Meter = NoMeter()
    #: Traces attempts.
    tracer: Tracer = NoTracer()
    #: Tells users of their jobs.
    events: Events | None = None

    def __post_init__(self) -> None:
        check_text(self.name, "worker name", at_least=1, at_most=100)
        check_count(self.concurrency, "concurrency", at_least=1, at_most=100)


class WorkerState(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is doing and did since it started."""

    name: str
    #: Whether it was told to begin.
    is_started: bool
    #: Whether more was due at the last look than it could take.
    is_full: bool
    running: int
    done: int
    failed: int
    dead: int
    lost: int
    last_error: str | None
    last_error_at: datetime | None
    #: Since when the store does not answer.
    store_down_since: datetime | None


class Worker:
    """Do the jobs that there are handlers for; nothing that fails ends it."""

    def __init__(self, store: JobStore, handlers: Mapping[str, Handler], *, options: WorkerOptions, pace: Pace) -> None:
        self._store = store
        self._kinds = tuple(handlers)
        self._options = options
        self._pace = pace
        self._patience = Patience(pace)
        self._attempts = Attempts(store, handlers, limits=options.limits, pace=pace, patience=self._patience)
        self._main: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._woken = asyncio.Event()
        # Whether to look for jobs at once, and whether the last look left some for want of a place.
        self._asked = True
        self._is_full = False
        self._look_at = pace.clock()
        self._due: list[datetime] = []
        self._claims = 0
        self._misses = 0
        self._paused: dict[str, tuple[datetime, datetime]] = {}
        self._tidied: dict[tuple[str, str], datetime] = {}
        self._counts = {"done": 0, "failed": 0, "dead": 0, "lost": 0, "returned": 0}
        self._last_error: tuple[str, datetime] | None = None
        options.meter.gauge("recollect.job.running", lambda: len(self._running))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Tell the kinds of jobs that the worker does."""
        return self._kinds

    @property
    def state(self) -> WorkerState:
        """Tell what the worker is doing and did."""
        error, at = self._last_error or (None, None)
        return WorkerState(
            name=self._options.name,
            is_started=self._main is not None,
            is_full=self._is_full,
            running=len(self._running),
            done=self._counts["done"],
            failed=self._counts["failed"],
            dead=self._counts["dead"],
            lost=self._counts["lost"],
            last_error=error,
            last_error_at=at,
            store_down_since=self._patience.down_since,
        )

    # Starting and stopping

    def start(self) -> None:
        """Begin to work in the background of the running event loop."""
        if self._main is not None:
            raise RuntimeError("a worker starts once")
        self._main = asyncio.create_task(self._work(), name=self._options.name)

    async def run(self) -> None:
        """Work until `stop` is called; cancelling this stops as gracefully."""
        self.start()
        try:
            await asyncio.wait(self._tasks())
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Take no more jobs, wait for those under way, then cancel them and give them back."""
        self._stopping = True
        self._woken.set()
        alarm = asyncio.ensure_future(self._pace.sleep(self._options.drain.total_seconds()))
        while (tasks := self._tasks()) and not alarm.done():
            await asyncio.wait({alarm, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()
        self._attempts.ending.set()
        if self._main is not None:
            self._main.cancel()
        while tasks := self._tasks():
            await asyncio.wait(tasks)

    def wake(self, at: datetime | None = None) -> None:
        """Tell that a job was queued, so that it is done at once, or as soon as it is due."""
        now = self._pace.clock()
        if at is None or at <= now:
            self._asked = True
        elif at - now <= HORIZON:
            tick = EPOCH + TICK * -((EPOCH - at) // TICK)
            if tick not in self._due:
                heapq.heappush(self._due, tick)
        self._woken.set()

    def _tasks(self) -> set[asyncio.Task[None]]:
        main = {self._main} if self._main is not None else set()
        return {task for task in main | self._running if not task.done()}

    # Working

    async def _work(self) -> None:
        while not self._stopping:
            self._woken.clear()
            now = self._pace.clock()
            # A clock that was set back must not make the worker wait.
            self._look_at = min(self._look_at, later(now, self._options.poll * 2 + OUTAGE.longest))
            if self._asked or now >= min([self._look_at, *self._due[:1]]):
                self._look_at = later(self._pace.clock(), await self._look(now))
            await self._pace.pause(self._woken, min([self._look_at, *self._due[:1]]) - self._pace.clock())

    async def _look(self, now: datetime) -> timedelta:
        """Take what is due, and return when to look again."""
        self._asked = False
        while self._due and self._due[0] <= now:
            heapq.heappop(self._due)
        try:
            taken = await self._claim(now)
        except Exception as exc:  # noqa: BLE001  # an error that nobody foresaw must not end the worker
            _log.error("looking for jobs failed: %s", name_of(exc))
            taken = None
        if taken is None:
            self._misses += 1
            return OUTAGE.after_attempt(self._misses, self._pace.chance())
        self._misses = 0
        for held in taken:
            task = asyncio.create_task(self._do(held))
            self._running.add(task)
            task.add_done_callback(self._free)
        return self._options.poll * (0.75 + self._pace.chance() / 2)

    async def _claim(self, now: datetime) -> tuple[ClaimedJob, ...] | None:
        """Return the jobs taken, or None if the store does not answer."""
        free = self._options.concurrency - len(self._running)
        kinds = tuple(kind for kind in self._kinds if not self._is_paused(kind, now))
        self._is_full = not free
        if not free or not kinds:
            return ()
        self._claims += 1
        # Each claim has a name of its own, so that no late word on an earlier one is taken for it.
        request = ClaimRequest(
            worker=f"{self._options.name}:{self._claims}",
            now=now,
            lease=self._options.limits.lease,
            kinds=kinds,
            limit=free,
        )
        taken = await self._patience.ask(lambda: self._store.claim_jobs(request))
        self._is_full = taken is not None and len(taken) == free
        return taken

    def _is_paused(self, kind: str, now: datetime) -> bool:
        since, until = self._paused.get(kind, (now, now))
        return since <= now < until

    async def _do(self, held: ClaimedJob) -> None:
        make = self._attempts.give_back if self._stopping else self._attempts.make
        with self._traced(held.job) as span, timed(self._options.meter, "recollect.job.duration", kind=held.job.kind):
            attempted = await make(held)
            span.set("recollect.job.outcome", attempted.outcome)
            if attempted.error is not None:
                span.fail(attempted.error)
        self._note(held, attempted)
        if attempted.outcome == "done":
            await self._tidy(held.scope)

    def _traced(self, job: Job) -> AbstractContextManager[Span]:
        about: dict[str, Value] = {
            "recollect.job.id": job.id,
            "recollect.job.kind": job.kind,
            "recollect.job.attempt": job.attempts,
        }
        return self._options.tracer.span(f"job {job.kind}", QUEUED, **about)

    def _note(self, held: ClaimedJob, attempted: Attempted) -> None:
        now = self._pace.clock()
        self._counts[attempted.outcome] += 1
        self._options.meter.add("recollect.job.attempts", kind=held.job.kind, outcome=attempted.outcome)
        if self._options.events is not None and attempted.outcome in TOLD:
            self._options.events.publish([Event(kind=JOB_UPDATED, scope=held.scope, entity_id=held.job.id)])
        if attempted.error is not None:
            self._last_error = attempted.error, now
        if attempted.pause_until is not None:
            self._paused[held.job.kind] = now, attempted.pause_until
            self.wake(attempted.pause_until)
        if attempted.retry_at is not None:
            self.wake(attempted.retry_at)

    def _free(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._is_full:
            self._asked = True
            self._woken.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a job could not be ended and is left to its lease: %s", name_of(error))

    async def _tidy(self, scope: Scope) -> None:
        """Forget the jobs of this user that were done long ago."""
        now, user = self._pace.clock(), (scope.tenant, scope.user)
        last = self._tidied.get(user)
        if last is not None and now - last < TIDY_EVERY:
            return
        if len(self._tidied) >= TIDIED_USERS:
            self._tidied.clear()
        self._tidied[user] = now
        await self._patience.ask(lambda: self._store.forget_jobs(scope, now - self._options.keep_done))
