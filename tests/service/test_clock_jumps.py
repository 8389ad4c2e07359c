"""A clock that jumps two hours back and a year ahead: order is kept, nothing is erased, and no job is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from recollect.domain.job import Job, JobQuery
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.service.chat import ChatRequest
from recollect.service.job_attempts import AttemptLimits
from recollect.service.patience import Pace
from recollect.service.recollect import Recollect
from recollect.service.worker import Worker, WorkerOptions
from recollect.testing.clock import FakeClock
from recollect.testing.samples import message
from tests.support.services import opened, settings_of

ALICE = Scope("tenant", "alice")
BACK = timedelta(hours=-2)
AHEAD = timedelta(days=365)
RIGHT = timedelta()
RETENTION = timedelta(days=30)


class JumpingClock:
    """A clock that tells the true time, but for an error that a test sets."""

    def __init__(self) -> None:
        self.truth = FakeClock()
        self.error = RIGHT

    def __call__(self) -> datetime:
        """Tell the time as this machine sees it."""
        return self.truth() + self.error


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock()


@pytest.fixture(params=["sqlite", "postgres"])
async def service(request: pytest.FixtureRequest, tmp_path: Path, clock: JumpingClock) -> AsyncIterator[Recollect]:
    """Open a service that erases conversations after thirty days."""
    sqlite = f"sqlite:///{tmp_path / 'store.db'}"
    database = sqlite if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    settings = settings_of(database, archive_retention_days=RETENTION.days)
    async with opened(settings, clock=clock) as parts:
        yield parts.service


async def say(service: Recollect, conversation_id: str, text: str) -> None:
    await service.chat.turn(ALICE, ChatRequest(text=text, conversation_id=conversation_id))


async def jobs_of(service: Recollect, kind: str) -> list[Job]:
    return [job for job in await service.store.list_jobs(ALICE, JobQuery(limit=500)) if job.kind == kind]


async def queued(service: Recollect, kind: str) -> Job:
    (job,) = [job for job in await jobs_of(service, kind) if job.state == "queued"]
    return job


async def names(service: Recollect) -> set[str]:
    return {one.id for one in (await service.conversations.list(ALICE)).items}


@pytest.mark.spec("R19")
async def test_order_is_kept_whatever_the_clock_says(
    service: Recollect, clock: JumpingClock, seed: int, count: Callable[[int, int], int]
) -> None:
    chance = Random(seed)
    texts: list[str] = []
    newest = datetime.min.replace(tzinfo=clock().tzinfo)
    for number in range(count(30, 200)):
        clock.truth.advance(seconds=chance.randrange(600))
        clock.error = chance.choice((RIGHT, BACK, AHEAD))
        texts.append(f"question {number}")
        if chance.random() < 0.5:
            await say(service, "c", texts[-1])
        else:
            await service.conversations.add_messages(ALICE, "c", [message(f"m-{number}", texts[-1], created_at=clock())])
        after = await service.conversations.get(ALICE, "c")
        assert after.last_activity_at >= newest
        newest = after.last_activity_at
    page = await service.conversations.get_messages(ALICE, "c", limit=500)
    assert [one.content for one in page.messages if one.role == "user"] == texts
    assert [one.seq for one in page.messages] == list(range(1, len(page.messages) + 1))
    context = await service.conversations.get_context(ALICE, "c")
    assert context.recent == page.messages[-len(context.recent) :]
    window = await service.store.get_window(ALICE, "c")
    assert window.messages == page.messages[-len(window.messages) :]


@pytest.mark.spec("R19")
async def test_marking_idle_conversations_by_a_wrong_clock_deletes_nothing(
    service: Recollect, clock: JumpingClock
) -> None:
    await say(service, "c", "hello")
    before = await service.conversations.get_messages(ALICE, "c")
    clock.error = BACK
    assert await service.lifecycle.cleanup_inactive(ALICE) == ()
    clock.error = AHEAD
    assert await service.lifecycle.cleanup_inactive(ALICE) == ("c",)
    assert await service.conversations.get_messages(ALICE, "c") == before
    clock.error = RIGHT
    await say(service, "c", "hello again")
    assert (await service.conversations.get(ALICE, "c")).is_active
    assert (await service.conversations.get(ALICE, "c")).message_count == 4
    assert await service.lifecycle.cleanup_inactive(ALICE) == ()


async def look(service: Recollect, job: Job) -> Job:
    """Look after the user's conversations, and return the job that looks again."""
    await service.lifecycle.tidy_job(ALICE, job)
    await service.store.claim_jobs  # noqa: B018
    return next(one for one in await jobs_of(service, "tidy") if one.id != job.id)


@pytest.mark.spec("R19")
@pytest.mark.parametrize("error", [BACK, AHEAD])
async def test_a_wrong_clock_at_one_look_erases_nothing(
    error: timedelta, service: Recollect, clock: JumpingClock
) -> None:
    worker = hired(service, clock)
    await say(service, "young", "hello")
    for wrong in (RIGHT, error, RIGHT, RIGHT, error, RIGHT):
        clock.error = RIGHT
        clock.truth.advance(days=2)
        await say(service, "young", "still here")
        clock.error = wrong
        await worked(worker)
        assert await names(service) == {"young"}
    assert (await service.conversations.get(ALICE, "young")).message_count == 14


def hired(service: Recollect, clock: JumpingClock, **lease: float) -> Worker:
    """Return a worker that looks after users and nothing else."""
    limits = AttemptLimits(lease=timedelta(**lease or {"seconds": 60}))
    return Worker(
        service.store,
        {"tidy": service.lifecycle.tidy_job},
        options=WorkerOptions(name="w", limits=limits),
        pace=Pace(clock),
    )


async def worked(worker: Worker) -> None:
    """Let the worker do what is due."""
    raise NotImplementedError
