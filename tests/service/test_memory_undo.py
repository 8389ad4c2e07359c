"""History and undo: whatever changes a memory can be taken back, a deletion for half a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.domain.memory import Memory
from recollect.domain.recalling import RecallRequest
from recollect.errors import (
    ConflictError,
    MemoryNotFoundError,
)
from recollect.service.memories import Correction, Statement
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, message
from tests.support.memory_jobs import do_jobs, said_by
from tests.support.memory_services import STORES, service_on

Make = Callable[..., Recollect]
HOME = {"subject": "user", "attribute": "residence"}


@pytest.fixture(params=STORES)
async def everywhere(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Recollect]:
    """Give a service on each kind of store."""
    is_postgres = request.param == "postgres"
    database = request.getfixturevalue("postgres_url") if is_postgres else f"sqlite:///{tmp_path / 'memories.db'}"
    async with service_on("inmemory" if request.param == "inmemory" else "other", database, clock) as opened:
        yield opened


async def add(service: Recollect, content: str, **more: object) -> Memory:
    return await service.memories.add(ALICE, Statement(content=content, **more))  # type: ignore[arg-type]


async def recalled(service: Recollect, text: str, **more: object) -> list[str]:
    request = RecallRequest(text=text, messages=False, **more)  # type: ignore[arg-type]
    return [one.memory.content for one in await service.recall.search(ALICE, request) if one.memory is not None]


async def test_a_deletion_is_undone_for_half_a_minute_and_then_erased(everywhere: Recollect, clock: FakeClock) -> None:
    service = everywhere
    tea = await add(service, "Likes green tea")
    await service.memories.delete(ALICE, tea.id)
    assert await recalled(service, "green tea") == []
    clock.advance(seconds=30)
    assert await do_jobs(service, "erase_memory", clock()) == 0
    back = await service.memories.undo(ALICE, tea.id)
    assert (back.content, back.deleted_at) == (tea.content, None)
    assert await recalled(service, "green tea") == ["Likes green tea"]
    clock.advance(seconds=60)
    assert await do_jobs(service, "erase_memory", clock()) == 1
    assert await said_by(service, ALICE) == ["Likes green tea"], "the job does nothing after an undo"

    await service.memories.delete(ALICE, tea.id)
    clock.advance(seconds=31)
    with pytest.raises(MemoryNotFoundError):
        await service.memories.undo(ALICE, tea.id)
    clock.advance(seconds=2)
    assert await do_jobs(service, "erase_memory", clock()) == 1
    with pytest.raises(MemoryNotFoundError):
        await service.memories.history(ALICE, tea.id)


async def test_a_second_deletion_can_be_undone_as_long_as_the_first(service: Recollect, clock: FakeClock) -> None:
    tea = await add(service, "Likes green tea")
    await service.memories.delete(ALICE, tea.id)
    clock.advance(seconds=25)
    await service.memories.undo(ALICE, tea.id)
    clock.advance(seconds=5)
    await service.memories.delete(ALICE, tea.id)
    clock.advance(seconds=5)
    await do_jobs(service, "erase_memory", clock())
    clock.advance(seconds=20)
    assert (await service.memories.undo(ALICE, tea.id)).content == "Likes green tea"


async def test_an_early_job_waits_until_the_deletion_is_final(service: Recollect, clock: FakeClock) -> None:
    tea = await add(service, "Likes green tea")
    await service.memories.delete(ALICE, tea.id)
    early = clock() + timedelta(minutes=5)
    assert await do_jobs(service, "erase_memory", early) == 1, "a worker whose clock runs ahead"
    assert (await service.memories.undo(ALICE, tea.id)).content == "Likes green tea"
    await service.memories.delete(ALICE, tea.id)
    clock.advance(minutes=2)
    await do_jobs(service, "erase_memory", clock())
    with pytest.raises(MemoryNotFoundError):
        await service.memories.history(ALICE, tea.id)


async def test_what_is_brought_back_keeps_its_vector(service: Recollect) -> None:
    boat = await add(service, "Owns a small sailing boat")
    await add(service, "Works as a nurse")
    await service.memories.delete(ALICE, boat.id)
    await service.memories.undo(ALICE, boat.id)
    progress = await service.embedding.progress(ALICE)
    assert (progress.done, progress.total) == (2, 2)
    assert (await recalled(service, "What vessel is there?"))[0] == "Owns a small sailing boat"


async def test_an_erased_memory_is_gone_at_once_and_may_be_stated_again(service: Recollect) -> None:
    tea = await add(service, "Likes green tea")
    receipt = await service.memories.erase(ALICE, tea.id)
    assert (receipt.erased.memories, receipt.erased.vectors) == (1, 1)
    assert await recalled(service, "green tea") == []
    with pytest.raises(MemoryNotFoundError):
        await service.memories.undo(ALICE, tea.id)
    assert (await add(service, "Likes green tea")).id != tea.id


@pytest.mark.parametrize(
    "correction",
    [
        Correction(content="Likes black coffee"),
        Correction(memory_type="preference"),
        Correction(category="drinks"),
        Correction(importance=0.9),
        Correction(confidence=0.1),
        Correction(is_pinned=True),
        Correction(is_archived=True),
    ],
    ids=["content", "memory_type", "category", "importance", "confidence", "pin", "archive"],
)
async def test_every_edit_is_in_the_history_and_undone(
    service: Recollect, clock: FakeClock, correction: Correction
) -> None:
    before = await add(service, "Likes green tea")
    clock.advance(seconds=5)
    after = await service.memories.change(ALICE, before.id, correction)
    assert after != before
    (version,) = await service.memories.history(ALICE, before.id)
    assert (version.memory, version.until) == (before, clock())
    clock.advance(days=3)
    undone = await service.memories.undo(ALICE, before.id)
    same = ("content", "memory_type", "category", "importance", "confidence", "is_pinned", "is_archived", "trust")
    assert {name: getattr(undone, name) for name in same} == {name: getattr(before, name) for name in same}
    assert [one.memory.version for one in await service.memories.history(ALICE, before.id)] == [2, 1]
    assert (await service.memories.undo(ALICE, before.id)).version == 4, "an undo is undone, too"
    assert (await recalled(service, "green tea coffee", archived=None)) == [after.content]


async def test_what_was_never_changed_has_nothing_to_undo(service: Recollect) -> None:
    tea = await add(service, "Likes tea")
    with pytest.raises(ConflictError):
        await service.memories.undo(ALICE, tea.id)
    with pytest.raises(MemoryNotFoundError):
        await service.memories.undo(ALICE, "nothing")


async def test_a_supersession_is_undone_and_the_undo_as_well(everywhere: Recollect, clock: FakeClock) -> None:
    service = everywhere
    bergen = await add(service, "Lives in Bergen", **HOME)
    clock.advance(days=1)
    oslo = await add(service, "Lives in Oslo", **HOME)
    clock.advance(days=1)
    back = await service.memories.undo(ALICE, bergen.id)
    assert (back.valid_to, back.superseded_by) == (None, None)
    assert await said_by(service, ALICE) == ["Lives in Bergen"]
    assert (await service.memories.get(ALICE, oslo.id)).superseded_by == bergen.id
    clock.advance(days=1)
    await service.memories.undo(ALICE, bergen.id)
    assert await said_by(service, ALICE) == ["Lives in Oslo"]
    clock.advance(days=1)
    await service.memories.undo(ALICE, oslo.id)
    assert await said_by(service, ALICE) == ["Lives in Bergen"]


async def test_a_deleted_value_that_comes_back_is_the_only_one_of_its_slot(
    service: Recollect, clock: FakeClock
) -> None:
    bergen = await add(service, "Lives in Bergen", **HOME)
    await service.memories.delete(ALICE, bergen.id)
    clock.advance(seconds=5)
    await add(service, "Lives in Oslo", **HOME)
    clock.advance(seconds=5)
    await service.memories.undo(ALICE, bergen.id)
    assert await said_by(service, ALICE) == ["Lives in Bergen"]


async def test_a_merge_is_undone(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    first = await add(service, "The user likes green tea", importance=0.5)
    clock.advance(seconds=5)
    merged = await add(service, "The user likes green teas", importance=0.5, conversation_id="c1")
    assert (merged.id, merged.importance > 0.5) == (first.id, True)
    assert (await service.memories.undo(ALICE, first.id)).importance == 0.5


async def test_the_values_of_a_slot_are_told_in_their_order(everywhere: Recollect, clock: FakeClock) -> None:
    service = everywhere
    bergen = await add(service, "Lives in Bergen", **HOME)
    clock.advance(hours=1)
    oslo = await add(service, "Lives in Oslo", **HOME)
    await add(service, "Likes green tea")
    for asked in (bergen, oslo):
        told = await service.memories.lineage(ALICE, asked.id)
        assert [one.content for one in told] == ["Lives in Bergen", "Lives in Oslo"]
        assert told[0].superseded_by == oslo.id
    with pytest.raises(MemoryNotFoundError):
        await service.memories.lineage(ALICE, "nobody")
