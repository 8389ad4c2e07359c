"""Conversations that nobody uses: marked inactive, and erased only by a retention and a second look."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from recollect.domain.job import ClaimRequest, JobQuery
from recollect.errors import SettingsError
from recollect.service.keeping import EXTRACT
from recollect.service.recollect import Recollect
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB, ids_of, message


async def talk(service: Recollect, *conversation_ids: str) -> None:
    for name in conversation_ids:
        await service.conversations.add_messages(ALICE, name, [message(f"{name}-m")])


async def look(service: Recollect, kind: str) -> None:
    """Do the job of this kind that waits."""
    (held,) = await service.store.claim_jobs(
        ClaimRequest(worker="test", now=START + timedelta(days=1_000), lease=timedelta(minutes=1), kinds=(kind,))
    )
    jobs = {"tidy": "tidy_job", "expire": "expire_job", "prune": "prune_job"}
    await getattr(service.lifecycle, jobs[kind])(ALICE, held.job)
    await service.store.complete_job(ALICE, held.claim, START)


async def waiting(service: Recollect) -> dict[str, datetime]:
    jobs = await service.store.list_jobs(ALICE, JobQuery(state="queued"))
    return {job.kind: job.run_at for job in jobs if job.kind != EXTRACT}


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


async def test_a_user_is_looked_after_while_a_conversation_is_active(service: Recollect, clock: FakeClock) -> None:
    await talk(service, "c1")
    assert await waiting(service) == {"tidy": START + timedelta(hours=24)}
    clock.advance(hours=23)
    await look(service, "tidy")
    assert await waiting(service) == {"tidy": START + timedelta(hours=29)}
    clock.advance(hours=6)
    await look(service, "tidy")
    assert await waiting(service) == {}
    assert not (await service.conversations.get(ALICE, "c1")).is_active


async def test_what_is_too_old_is_erased_at_a_second_look(make: Callable[..., Recollect], clock: FakeClock) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=2)
    await look(service, "tidy")
    assert await waiting(service) == {"expire": START + timedelta(days=30)}
    clock.advance(days=29)
    await look(service, "expire")
    assert (await waiting(service))["prune"] == START + timedelta(days=31, hours=1)
    assert await names(service) == ["c1"]
    clock.advance(hours=1)
    await look(service, "prune")
    assert await names(service) == []


async def test_somebody_who_comes_back_is_looked_after_before_anything_expires(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=2)
    await look(service, "tidy")
    await talk(service, "c2")
    assert await waiting(service) == {"expire": START + timedelta(days=30), "tidy": START + timedelta(days=3)}


async def test_what_is_used_between_the_looks_is_kept(make: Callable[..., Recollect], clock: FakeClock) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=2)
    await look(service, "tidy")
    clock.advance(days=29)
    await look(service, "expire")
    await service.conversations.add_messages(ALICE, "c1", [message("again")])
    clock.advance(hours=1)
    await look(service, "prune")
    assert await names(service) == ["c1"]


async def test_a_clock_that_was_wrong_at_one_look_erases_nothing(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make(archive__retention_days=30)
    await talk(service, "c1")
    clock.advance(days=2)
    await look(service, "tidy")
    clock.advance(days=365)
    await look(service, "expire")
    clock.advance(days=-365, hours=1)
    await look(service, "prune")
    assert await names(service) == ["c1"]


async def test_a_conversation_that_woke_by_a_clock_set_back_is_looked_after(
    service: Recollect, clock: FakeClock
) -> None:
    await talk(service, "a", "b")
    clock.advance(hours=24)
    await look(service, "tidy")
    clock.advance(hours=-36)
    await service.conversations.add_messages(ALICE, "a", [message("again")])
    clock.advance(hours=24)
    await look(service, "tidy")
    assert "tidy" in await waiting(service)
