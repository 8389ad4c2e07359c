"""What the work in the background tells a user's sessions: titles, ages and jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from recollect.domain.job import Job, JobQuery
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError
from recollect.ports.events import Event
from recollect.service.recollect import Recollect
from recollect.service.titles import Titles
from recollect.testing.clock import FakeClock
from recollect.testing.models import ScriptedModelServer, ScriptedReply
from recollect.testing.samples import ALICE, BOB, message
from tests.support.heard_events import Heard
from tests.support.worker_bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    opened = Bench()
    yield opened
    await opened.close()


def told(heard: Heard) -> list[tuple[str, str | None]]:
    return [(event.kind, event.entity_id) for event in heard.events]


async def test_a_job_is_told_of_when_it_is_done_fails_or_dies(bench: Bench) -> None:
    heard = Heard()
    bench.worker = bench.hire(events=heard)

    async def stumble(_scope: Scope, given: Job) -> None:
        if given.attempts == 1:
            raise OSError("once")

    async def despair(_scope: Scope, _given: Job) -> None:
        raise InvalidInputError("never")

    bench.acts = {"j1": stumble, "j2": despair}
    await bench.enqueue("j3", scope=BOB)
    await bench.begin("j1", "j2")
    await bench.time.advance(60)
    assert [(await bench.job(one)).state for one in ("j1", "j2")] == ["done", "dead"]
    assert sorted(told(heard)) == [("job.updated", one) for one in ("j1", "j1", "j2", "j3")]
    assert {event.scope for event in heard.events if event.entity_id == "j3"} == {BOB}


async def test_a_better_title_is_told_of(make: Callable[..., Recollect], clock: FakeClock) -> None:
    async with ScriptedModelServer() as server:
        service = make(model__url=server.url, model__kind="openai", model__max_retries=0)
        await service.conversations.add_messages(ALICE, "c1", [message("m1", "My cat is called Miso.")])
        (job,) = [one for one in await service.store.list_jobs(ALICE, JobQuery()) if one.kind == "title"]
        server.script(ScriptedReply(text=("Cats and their names",)))
        heard = Heard()
        assert service.model is not None
        await Titles(service.store, service.model, clock=clock, events=heard).title_job(ALICE, job)
        assert heard.events == [Event(kind="conversation.updated", scope=ALICE, entity_id="c1")]
        await service.conversations.update(ALICE, "c1", title="Mine")
        await Titles(service.store, service.model, clock=clock, events=heard).title_job(ALICE, job)
        assert len(heard.events) == 1


async def test_a_conversation_that_is_erased_by_its_age_is_told_of(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(archive__retention_days=30)
    await service.conversations.add_messages(ALICE, "old", [message("m1")])
    clock.advance(days=40)
    await service.conversations.add_messages(ALICE, "new", [message("m1")])
    heard = service.events.subscribe(ALICE)
    await service.lifecycle.prune(ALICE)
    await service.conversations.update(ALICE, "new", title="Last")
    events = [await anext(heard) for _ in range(2)]
    assert [(event.kind, event.entity_id) for event in events] == [
        ("conversation.deleted", "old"),
        ("conversation.updated", "new"),
    ]
