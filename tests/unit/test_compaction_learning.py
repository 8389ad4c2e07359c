"""No original is deleted before memories were learned from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from recollect.domain.job import JobFailure, JobQuery, job_from
from recollect.domain.memory import Extraction
from recollect.domain.page import MessageQuery
from recollect.history.plan import PlanSettings
from recollect.ports.store import Store
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, claims, ids_of, job
from tests.support.compaction import add, compactor, open_store, told

SUMMARISE_JOB = job_from(job("j1", kind="summarise", conversation_id="c1"), START)


@pytest.fixture(params=["inmemory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    kind = request.getfixturevalue("postgres_url") if request.param == "postgres" else request.param
    opened = await open_store(kind)
    yield opened
    await opened.close()


async def learned(store: Store, to_seq: int) -> None:
    """Say that memories were learned from the messages up to this one."""
    from_seq = (await store.get_conversation(ALICE, "c1")).extracted_seq
    await store.save_extraction(ALICE, Extraction(conversation_id="c1", from_seq=from_seq, to_seq=to_seq, at=START))


async def stored(store: Store) -> list[str]:
    """List the ids of the messages that are stored."""
    return ids_of((await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=1_000))).messages)


async def test_only_originals_that_were_learned_from_are_deleted(store: Store) -> None:
    names = await add(store, 12)
    await learned(store, 4)
    own = compactor(store, delete_originals=True, learns=True, plan=PlanSettings(threshold=10, keep_verbatim=2))
    await own.compact(ALICE, "c1")
    assert await stored(store) == names[4:]
    assert await told(store) == names
    await learned(store, 12)
    names += await add(store, 3, first=13)
    await own.compact(ALICE, "c1")
    assert await stored(store) == names[12:]
    assert await told(store) == names


async def test_originals_that_nobody_learns_from_are_summarised_and_kept(store: Store) -> None:
    names = await add(store, 12)
    own = compactor(store, delete_originals=True, learns=True)
    await own.summarise_job(ALICE, SUMMARISE_JOB)
    assert len(await store.active_summaries(ALICE, "c1")) == 1
    assert (await stored(store), await told(store)) == (names, names)


async def test_a_job_waits_while_memories_are_learned(store: Store) -> None:
    names = await add(store, 12)
    clock = FakeClock()
    own = compactor(store, clock=clock, delete_originals=True, learns=True)
    await store.enqueue_job(ALICE, job("x1", kind="extract", conversation_id="c1"), START)
    await own.summarise_job(ALICE, SUMMARISE_JOB)
    assert await store.active_summaries(ALICE, "c1") == ()
    queued = await store.list_jobs(ALICE, JobQuery(conversation_id="c1", state="queued"))
    again = next(one for one in queued if one.kind == "summarise")
    assert again.run_at == START + timedelta(minutes=1)
    await learned(store, 12)
    await own.summarise_job(ALICE, again)
    assert (await stored(store), await told(store)) == (names[6:], names)


async def test_a_job_does_not_wait_for_learning_that_fails(store: Store) -> None:
    names = await add(store, 12)
    await store.enqueue_job(ALICE, job("x1", kind="extract", conversation_id="c1"), START)
    (taken,) = await store.claim_jobs(claims())
    await store.fail_job(ALICE, taken.claim, JobFailure(at=START, error="no model", retry_at=START))
    await compactor(store, delete_originals=True, learns=True).summarise_job(ALICE, SUMMARISE_JOB)
    assert len(await store.active_summaries(ALICE, "c1")) == 1
    assert await stored(store) == names
