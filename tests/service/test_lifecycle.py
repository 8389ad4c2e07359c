"""Conversations that nobody uses: marked inactive, and erased only by a retention and a second look."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from recollect.domain.job import Job, JobQuery
from recollect.errors import SettingsError
from recollect.service.recollect import Recollect
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB, ids_of, message


async def talk(service: Recollect, *conversation_ids: str) -> None:
    for name in conversation_ids:
        await service.conversations.add_messages(ALICE, name, [message(f"{name}-m")])


async def tidy(service: Recollect) -> Job | None:
    """Do the job that looks after the user, and return the one that it queued, if any."""
    (job,) = [job for job in await service.store.list_jobs(ALICE, JobQuery(state="queued")) if job.kind == "tidy"]
    await service.lifecycle.tidy_job(ALICE, job)
    jobs = [job for job in await service.store.list_jobs(ALICE, JobQuery(state="queued")) if job.kind == "tidy"]
    return next((again for again in jobs if again != job), None)


async def names(service: Recollect) -> list[str]:
    return sorted(ids_of((await service.conversations.list(ALICE)).items))


@pytest.mark.spec("S2.10")
async def test_a_session_has_its_last_activity_and_its_summary(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(history__when="inline")
    await talk(service, "c1")
    clock.advance(minutes=5)
    await service.conversations.add_messages(ALICE, "c1", [message(f"m{n}", f"We saw {n} whales.") for n in range(12)])
    session = await service.conversations.get(ALICE, "c1")
    assert (session.agent, session.last_activity_at) == (ALICE.agent, clock())
    assert session.summary is not None
    assert "whales" in session.summary


async def test_idle_conversations_are_marked_and_nothing_is_deleted(service: Recollect, clock: FakeClock) -> None:
    await talk(service, "old")
    clock.advance(hours=23)
    await talk(service, "new")
    clock.advance(hours=1)
    assert await service.lifecycle.cleanup_inactive(ALICE) == ("old",)
    assert await service.lifecycle.cleanup_inactive(BOB) == ()
    assert [(c.id, c.is_active) for c in (await service.conversations.list(ALICE)).items] == [
        ("new", True),
        ("old", False),
    ]
    await talk(service, "old")
    await service.conversations.add_messages(ALICE, "old", [message("again")])
    assert (await service.conversations.get(ALICE, "old")).is_active


@pytest.mark.spec("S2.12")
async def test_a_retention_erases_what_is_old_and_a_dry_run_only_tells(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "old", "older")
    clock.advance(days=29)
    await talk(service, "new")
    clock.advance(days=2)
    told = await service.lifecycle.prune(ALICE, dry_run=True)
    assert (sorted(told.conversation_ids), told.erased.any()) == (["old", "older"], False)
    assert await names(service) == ["new", "old", "older"]
    done = await service.lifecycle.prune(ALICE)
    assert (sorted(done.conversation_ids), done.erased.messages) == (["old", "older"], 2)
    assert await names(service) == ["new"]


async def test_without_a_retention_nothing_is_pruned(service: Recollect) -> None:
    with pytest.raises(SettingsError, match="retention_days"):
        await service.lifecycle.prune(ALICE)


async def test_the_job_looks_again_while_a_conversation_is_active(service: Recollect, clock: FakeClock) -> None:
    await talk(service, "c1")
    clock.advance(hours=23)
    again = await tidy(service)
    assert again is not None
    assert again.run_at >= START + timedelta(hours=23)


async def test_the_job_erases_only_after_a_second_look(make: Callable[..., Recollect], clock: FakeClock) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=31)
    await tidy(service)
    assert await names(service) == ["c1"]
    clock.advance(hours=2)
    await tidy(service)
    assert await names(service) == []


async def test_a_clock_that_was_wrong_at_one_look_erases_nothing(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=365)
    await tidy(service)
    clock.advance(days=-365, hours=2)
    await tidy(service)
    await tidy(service)
    assert await names(service) == ["c1"]
