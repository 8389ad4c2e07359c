"""A clock that jumps two hours back and a year ahead: order is kept, nothing is erased, and no job is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from recollect.bootstrap import new_id, new_worker
from recollect.domain.conversation import ConversationQuery
from recollect.domain.job import ClaimRequest, Job, JobQuery, NewJob
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatRequest
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import message
from tests.support.services import opened, settings_of
from tests.support.worker_process import EFFECTS, handlers

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
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def service(database: str, clock: JumpingClock) -> AsyncIterator[Recollect]:
    """Open a service that erases conversations after thirty days."""
    async with opened(settings_of(database, archive_retention_days=RETENTION.days), clock=clock) as parts:
        yield parts.service


@pytest.fixture
async def keeping(database: str, clock: JumpingClock) -> AsyncIterator[Recollect]:
    """Open a service that keeps conversations for ever."""
    async with opened(settings_of(database), clock=clock) as parts:
        yield parts.service


async def say(service: Recollect, conversation_id: str, text: str) -> None:
    await service.chat.turn(ALICE, ChatRequest(text=text, conversation_id=conversation_id))


async def jobs_of(service: Recollect, kind: str) -> list[Job]:
    return [job for job in await service.store.list_jobs(ALICE, JobQuery(limit=500)) if job.kind == kind]


async def queued(service: Recollect, kind: str) -> list[Job]:
    return [job for job in await jobs_of(service, kind) if job.state == "queued"]


async def names(service: Recollect) -> set[str]:
    page = await service.conversations.list(ALICE, ConversationQuery(limit=500))
    return {one.id for one in page.items}


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
            await service.conversations.add_messages(
                ALICE, "c", [message(f"m-{number}", texts[-1], created_at=clock())]
            )
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


async def tidied(service: Recollect, clock: JumpingClock) -> int:
    """Do the looks that are due, as a worker does, and return how many there were."""
    looks = {
        "tidy": service.lifecycle.tidy_job,
        "expire": service.lifecycle.expire_job,
        "prune": service.lifecycle.prune_job,
    }
    for done in range(10):
        request = ClaimRequest(worker=new_id(), now=clock(), lease=timedelta(minutes=1), kinds=tuple(looks))
        taken = await service.store.claim_jobs(request)
        for held in taken:
            await looks[held.job.kind](held.scope, held.job)
            await service.store.complete_job(held.scope, held.claim, clock())
        if not taken:
            return done
    raise AssertionError("a look is due again and again")


@pytest.mark.spec("R19")
@pytest.mark.parametrize("wrong", [BACK, AHEAD])
@pytest.mark.parametrize("first", ["wrong", "right"])
async def test_a_wrong_clock_at_one_look_erases_nothing(
    wrong: timedelta, first: str, service: Recollect, clock: JumpingClock
) -> None:
    await say(service, "young", "hello")
    clock.truth.advance(days=RETENTION.days - 1)
    looks = (wrong, RIGHT) if first == "wrong" else (RIGHT, wrong)
    clock.error = looks[0]
    await service.lifecycle.expire_job(ALICE, await tidy_look(service))
    clock.truth.advance(hours=1)
    clock.error = looks[1]
    for second in await queued(service, "prune"):
        await service.lifecycle.prune_job(ALICE, second)
    assert await names(service) == {"young"}


async def tidy_look(service: Recollect) -> Job:
    return (await queued(service, "tidy"))[0]


@pytest.mark.spec("R19")
async def test_a_wrong_clock_forgets_no_answer_too_early(service: Recollect, clock: JumpingClock) -> None:
    asked = ChatRequest(text="hello", conversation_id="c", key="once")
    first = await service.chat.turn(ALICE, asked)
    job = await tidy_look(service)
    clock.error = AHEAD
    await service.lifecycle.tidy_job(ALICE, job)
    clock.error = RIGHT
    assert (await service.chat.turn(ALICE, asked)).message == first.message


@pytest.mark.spec("R19")
async def test_what_is_old_by_the_right_clock_is_erased_and_what_is_young_is_kept(
    service: Recollect, clock: JumpingClock
) -> None:
    await say(service, "old", "hello")
    for _ in range(RETENTION.days - 1):
        clock.truth.advance(days=1)
        await tidied(service, clock)
    assert await names(service) == {"old"}
    await say(service, "old-but-used", "hello")
    clock.error = BACK
    await say(service, "young", "hello")
    clock.error = RIGHT
    for _ in range(3):
        clock.truth.advance(hours=25)
        await tidied(service, clock)
    assert await names(service) == {"old-but-used", "young"}


@pytest.mark.spec("R19")
async def test_looks_neither_end_nor_repeat_without_end_whatever_the_clock_says(
    keeping: Recollect, clock: JumpingClock, seed: int, count: Callable[[int, int], int]
) -> None:
    chance = Random(seed)
    used = {"c-0", "c-1", "c-2"}
    for number in range(count(20, 200)):
        clock.truth.advance(hours=chance.randrange(1, 30))
        clock.error = chance.choice((RIGHT, BACK, AHEAD))
        await tidied(keeping, clock)
        clock.error = RIGHT
        await tidied(keeping, clock)
        await say(keeping, f"c-{number % 3}", "hello again")
        # A new conversation by the right clock is enough to be looked after soon, whatever a wrong one put off.
        used.add(f"d-{number}")
        await say(keeping, f"d-{number}", "hello")
        (job,) = await queued(keeping, "tidy")
        assert job.run_at <= clock() + timedelta(hours=24)
    assert await names(keeping) == used


async def test_a_conversation_is_summarised_though_its_job_was_queued_by_a_clock_that_ran_ahead(
    service: Recollect, clock: JumpingClock
) -> None:
    clock.error = AHEAD
    for number in range(8):
        await say(service, "c", f"We met in Lviv {number} times.")
    clock.error = RIGHT
    await say(service, "c", "When was that?")
    (job,) = await queued(service, "summarise")
    assert job.run_at <= clock() + timedelta(minutes=5)


@pytest.mark.spec("R19")
async def test_a_worker_does_every_job_once_whatever_the_clock_says(
    service: Recollect, clock: JumpingClock, seed: int
) -> None:
    chance = Random(seed)
    begun: list[str] = []
    worker = new_worker(
        service.store, handlers(service.store, begun.append), settings_of("sqlite:///-", jobs_poll_seconds=0.01), clock
    )
    worker.start()
    names = [f"job-{number}" for number in range(40)]
    for number, name in enumerate(names):
        clock.error = chance.choice((RIGHT, BACK, AHEAD)) if number % 4 else RIGHT
        new = NewJob(id=name, kind="append", run_at=clock.truth() + BACK, max_attempts=1_000)
        await service.store.enqueue_job(ALICE, new, clock())
        worker.wake()
        await asyncio.sleep(chance.random() * 0.02)
    clock.error = AHEAD
    async with asyncio.timeout(30):
        # A clock that runs ahead makes a worker forget what is done.
        while left := {job.state for job in await jobs_of(service, "append")} - {"done"}:
            if "running" not in left:
                clock.truth.advance(minutes=1)
            worker.wake()
            await asyncio.sleep(0.01)
    await worker.stop()
    page = await service.store.list_messages(ALICE, MessageQuery(conversation_id=EFFECTS, limit=500))
    assert sorted(one.id for one in page.messages) == sorted(names)
    assert set(begun) == set(names)
