"""The review inbox: what tools and imports say waits for a person, who approves, edits or rejects it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recollect.domain.memory import Memory, MemoryQuery, Origin
from recollect.domain.recalling import RecallRequest
from recollect.errors import ConflictError, InvalidInputError, MemoryNotFoundError
from recollect.service.memories import Correction, Review, Statement
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB, ids_of, memory, message
from tests.support.memory_jobs import said_by
from tests.support.memory_services import STORES, service_on

HOME = {"subject": "user", "attribute": "residence"}


@pytest.fixture(params=STORES)
async def everywhere(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Recollect]:
    """Give a service on each kind of store."""
    is_postgres = request.param == "postgres"
    database = request.getfixturevalue("postgres_url") if is_postgres else f"sqlite:///{tmp_path / 'memories.db'}"
    async with service_on("inmemory" if request.param == "inmemory" else "other", database, clock) as opened:
        yield opened


async def bring(service: Recollect, memory_id: str, content: str, origin: Origin = "tool", **slot: str) -> Memory:
    """Store what somebody else than the user said, as learning does."""
    (made,) = (
        await service.store.add_memories(ALICE, (memory(memory_id, content, origin=origin, trust="pending", **slot),))
    ).created
    return made


async def waiting(service: Recollect) -> list[str]:
    return ids_of((await service.memories.list(ALICE, MemoryQuery(trust="pending"))).items)


async def recalled(service: Recollect, text: str) -> list[str]:
    found = await service.recall.search(ALICE, RecallRequest(text=text, messages=False))
    return [one.memory.content for one in found if one.memory is not None]


@pytest.mark.spec("B10")
@pytest.mark.parametrize("origin", ["tool", "import"])
async def test_what_waits_is_neither_recalled_nor_pinned_nor_told(service: Recollect, origin: Origin) -> None:
    await bring(service, "w", "The user likes green tea", origin)
    assert await waiting(service) == ["w"]
    assert await said_by(service, ALICE) == []
    assert await recalled(service, "green tea") == []
    with pytest.raises(ConflictError):
        await service.memories.change(ALICE, "w", Correction(is_pinned=True))
    await service.conversations.create(ALICE)
    assert await service.recall.pinned(ALICE) == ()
    await service.memories.review(ALICE, "w", "reject")
    with pytest.raises(ConflictError):
        await service.memories.change(ALICE, "w", Correction(is_pinned=True))
    assert await recalled(service, "green tea") == []
    assert await waiting(service) == []


@pytest.mark.spec("B10")
async def test_an_approved_memory_is_recalled_and_can_be_pinned(service: Recollect) -> None:
    await bring(service, "w", "The user likes green tea")
    approved = await service.memories.review(ALICE, "w", "approve")
    assert (approved.trust, approved.origin) == ("active", "tool")
    assert await recalled(service, "green tea") == ["The user likes green tea"]
    assert (await service.memories.change(ALICE, "w", Correction(is_pinned=True))).is_pinned
    with pytest.raises(ConflictError):
        await service.memories.review(ALICE, "w", "reject")


async def test_other_words_are_approved_without_secrets_and_found_by_their_meaning(service: Recollect) -> None:
    await bring(service, "w", "The user likes green tea")
    key = "sk-proj-" + "a1B2c3D4" * 6
    approved = await service.memories.review(ALICE, "w", "approve", f"The user owns a ship, key {key}")
    assert approved.content.startswith("The user owns a ship")
    assert key not in approved.content
    progress = await service.embedding.progress(ALICE)
    assert (progress.done, progress.total) == (1, 1)
    await service.memories.add(ALICE, Statement(content="The user cooks dinner"))
    assert (await recalled(service, "boat"))[0] == approved.content


async def test_many_are_decided_at_once_or_none_of_them(service: Recollect) -> None:
    for number, content in enumerate(("Plays chess", "Has a dog", "Works as a nurse")):
        await bring(service, f"w{number}", content)
    active = await service.memories.add(ALICE, Statement(content="Likes tea"))
    decisions: tuple[Review, ...] = ("approve", "reject")
    for chosen in decisions:
        with pytest.raises(ConflictError):
            await service.memories.review_many(ALICE, ("w0", active.id), chosen)
        with pytest.raises(MemoryNotFoundError):
            await service.memories.review_many(ALICE, ("w0", "nothing"), chosen)
    with pytest.raises(InvalidInputError):
        await service.memories.review_many(ALICE, ("w0", "w1"), "approve", "other words")
    with pytest.raises(InvalidInputError):
        await service.memories.review(ALICE, "w0", "perhaps")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(MemoryNotFoundError):
        await service.memories.review(BOB, "w0", "approve")
    assert await waiting(service) == ["w2", "w1", "w0"], "nothing was decided by what failed"
    approved = await service.memories.review_many(ALICE, ("w0", "w1", "w0"), "approve")
    assert [(one.id, one.trust) for one in approved] == [("w0", "active"), ("w1", "active")]
    (rejected,) = await service.memories.review_many(ALICE, ("w2",), "reject")
    assert rejected.trust == "rejected"
    assert await said_by(service, ALICE) == ["Plays chess", "Has a dog", "Likes tea"]


@pytest.mark.spec("B10")
async def test_an_approval_takes_the_place_of_the_value_of_its_slot_and_its_undo_gives_it_back(
    everywhere: Recollect, clock: FakeClock
) -> None:
    service = everywhere
    home = await service.memories.add(
        ALICE, Statement(content="Lives in Bergen", subject="user", attribute="residence")
    )
    clock.advance(days=1)
    (made,) = (
        await service.store.add_memories(
            ALICE, (memory("w", "Lives in Oslo", origin="import", trust="pending", at=clock(), **HOME),)
        )
    ).created
    clock.advance(days=1)
    await service.memories.review(ALICE, made.id, "approve")
    assert await said_by(service, ALICE) == ["Lives in Oslo"]
    clock.advance(days=1)
    assert (await service.memories.undo(ALICE, "w")).trust == "pending"
    assert await said_by(service, ALICE) == ["Lives in Bergen"], "the value before it is current again"
    clock.advance(days=1)
    await service.memories.review(ALICE, "w", "approve")
    clock.advance(days=1)
    await service.memories.undo(ALICE, home.id)
    assert await said_by(service, ALICE) == ["Lives in Bergen"]
    assert await waiting(service) == ["w"], "an approval is taken back from either side"


async def test_an_approval_of_what_is_known_joins_it_and_its_undo_leaves_it_alone(
    service: Recollect, clock: FakeClock
) -> None:
    tea = await service.memories.add(ALICE, Statement(content="The user likes green tea", importance=0.5))
    await bring(service, "w", "The user likes green teas")
    clock.advance(days=1)
    joined = await service.memories.review(ALICE, "w", "approve")
    assert (joined.trust, joined.superseded_by) == ("active", tea.id)
    assert await said_by(service, ALICE) == ["The user likes green tea"]
    clock.advance(days=1)
    undone = await service.memories.undo(ALICE, "w")
    assert (undone.trust, undone.superseded_by, undone.valid_to) == ("pending", None, None)
    assert await said_by(service, ALICE) == ["The user likes green tea"]
    assert (await service.memories.get(ALICE, tea.id)).importance == 0.5


async def test_a_rejection_is_undone(service: Recollect, clock: FakeClock) -> None:
    await bring(service, "w", "The user likes green tea")
    clock.advance(seconds=1)
    await service.memories.review(ALICE, "w", "reject")
    clock.advance(seconds=1)
    assert (await service.memories.undo(ALICE, "w")).trust == "pending"
    assert await waiting(service) == ["w"]


@pytest.mark.spec("B10")
@pytest.mark.parametrize(("origin", "trust"), [("user", "active"), ("import", "pending"), ("tool", "pending")])
async def test_where_a_message_came_from_decides_whether_what_is_learned_waits(
    service: Recollect, origin: str, trust: str
) -> None:
    said = message("m1", "I work as a nurse in Bergen.", metadata={"origin": origin})
    await service.conversations.add_messages(ALICE, "c1", [said])
    learned = await service.learner.learn(ALICE, "c1")
    assert learned.memories
    assert {(one.origin, one.trust) for one in learned.memories} == {(origin, trust)}
    assert bool(await waiting(service)) == (trust == "pending")
    assert bool(await recalled(service, "nurse")) == (trust == "active")


async def test_repetition_does_not_make_what_waits_trusted(service: Recollect) -> None:
    await bring(service, "w", "The user likes green tea")
    again = memory("w2", "The user likes green tea", origin="tool", trust="pending")
    await service.store.add_memories(ALICE, (again,))
    assert await waiting(service) == ["w"]
    mine = await service.memories.add(ALICE, Statement(content="The user likes green tea"))
    assert (mine.origin, mine.trust) == ("manual", "active"), "the own word of a person stands for itself"
    assert await said_by(service, ALICE) == ["The user likes green tea"]
