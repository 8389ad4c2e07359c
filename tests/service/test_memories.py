"""Memories by hand: added, read, listed, changed, deleted, erased, and every change undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from recollect.domain.job import JobQuery
from recollect.domain.memory import Memory, MemoryQuery
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.errors import (
    ConflictError,
    ConversationNotFoundError,
    ErasedError,
    InvalidInputError,
    MemoryNotFoundError,
    StaleVersionError,
)
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Correction, Statement
from recollect.service.recollect import Recollect
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB, ids_of, message
from tests.support.memory_jobs import said_by

Make = Callable[..., Recollect]
HOME = {"subject": "user", "attribute": "residence"}


async def add(service: Recollect, content: str, **more: object) -> Memory:
    return await service.memories.add(ALICE, Statement(content=content, **more))  # type: ignore[arg-type]


async def recalled(service: Recollect, text: str, **more: object) -> list[str]:
    request = RecallRequest(text=text, messages=False, **more)  # type: ignore[arg-type]
    return [one.memory.content for one in await service.recall.search(ALICE, request) if one.memory is not None]


async def test_a_memory_at_another_version_is_not_deleted(service: Recollect) -> None:
    tea = await add(service, "I drink green tea")
    changed = await service.memories.change(ALICE, tea.id, Correction(importance=0.9))
    with pytest.raises(StaleVersionError):
        await service.memories.delete(ALICE, tea.id, expected_version=tea.version)
    assert await service.memories.get(ALICE, tea.id) == changed
    deleted = await service.memories.delete(ALICE, tea.id, expected_version=changed.version)
    assert deleted.deleted_at is not None


@pytest.mark.spec("S1.5")
async def test_what_is_added_by_hand_is_read_listed_and_deleted(service: Recollect) -> None:
    tea = await add(service, "Likes green tea", memory_type="preference", importance=0.8)
    dog = await add(service, "Has a dog named Rex")
    assert await service.memories.get(ALICE, tea.id) == tea
    assert ids_of((await service.memories.list(ALICE, MemoryQuery())).items) == [dog.id, tea.id]
    await service.memories.delete(ALICE, tea.id)
    assert await said_by(service, ALICE) == ["Has a dog named Rex"]
    for call in (service.memories.get, service.memories.delete):
        with pytest.raises(MemoryNotFoundError):
            await call(ALICE, tea.id)
    with pytest.raises(MemoryNotFoundError):
        await service.memories.get(BOB, dog.id)
    assert await said_by(service, BOB) == []


@pytest.mark.spec("S4.3")
async def test_every_column_is_kept_and_can_be_listed_by(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    agent = Scope(ALICE.tenant, ALICE.user, "coach")
    made = await service.memories.add(
        agent,
        Statement(
            content="Runs a marathon in May",
            memory_type="project",
            category="sport",
            importance=0.9,
            confidence=0.7,
            is_pinned=True,
            conversation_id="c1",
            subject="user",
            attribute="goal",
            valid_from=START - timedelta(days=3),
            id="run",
        ),
    )
    await add(service, "Likes tea", memory_type="preference")
    assert await service.memories.get(ALICE, "run") == made
    assert (made.id, made.agent, made.memory_type, made.category) == ("run", "coach", "project", "sport")
    assert (made.importance, made.confidence, made.is_pinned, made.is_archived) == (0.9, 0.7, True, False)
    assert (made.origin, made.trust, made.quote, made.conversation_id) == ("manual", "active", None, "c1")
    assert (made.sources, made.subject, made.attribute) == ((), "user", "goal")
    assert (made.valid_from, made.valid_to, made.superseded_by) == (START - timedelta(days=3), None, None)
    assert (made.created_at, made.updated_at, made.last_accessed_at) == (clock(), clock(), clock())
    assert (made.access_count, made.version, made.deleted_at) == (0, 1, None)
    for asked in (
        {"memory_type": "project"},
        {"category": "sport"},
        {"pinned": True},
        {"conversation_id": "c1"},
    ):
        page = await service.memories.list(ALICE, MemoryQuery(**asked))
        assert ids_of(page.items) == ["run"], asked
    assert (await service.memories.list(ALICE, MemoryQuery(origin="user"))).items == ()
    assert (await service.memories.list(ALICE, MemoryQuery(trust="pending"))).items == ()
    changed = await service.memories.change(
        ALICE,
        "run",
        Correction(
            content="Runs a marathon in June",
            memory_type="decision",
            category=None,
            importance=0.2,
            confidence=0.1,
            is_pinned=False,
            is_archived=True,
            expected_version=1,
        ),
    )
    assert changed == await service.memories.get(ALICE, "run")
    assert (changed.content, changed.memory_type, changed.category) == ("Runs a marathon in June", "decision", None)
    assert (changed.importance, changed.confidence, changed.is_pinned, changed.is_archived) == (0.2, 0.1, False, True)
    assert changed.version == 2
    with pytest.raises(StaleVersionError):
        await service.memories.change(ALICE, "run", Correction(importance=1.0, expected_version=1))
    assert ids_of((await service.memories.list(ALICE, MemoryQuery(archived=True))).items) == ["run"]


@pytest.mark.spec("S4.3")
@pytest.mark.spec("S1.8")
async def test_what_is_extracted_names_its_source_if_it_matters_enough(make: Make, clock: FakeClock) -> None:
    strict = make(memory__extraction_threshold=1.0)
    await strict.conversations.add_messages(ALICE, "c0", [message("m0", "I work as a nurse in Bergen.")])
    assert (await strict.learner.learn(ALICE, "c0")).memories == ()
    service = make()
    await service.conversations.add_messages(ALICE, "c1", [message("m1", "I work as a nurse in Bergen.")])
    learned = await service.learner.learn(ALICE, "c1")
    assert learned.memories
    for one in learned.memories:
        assert await service.memories.get(ALICE, one.id) == one
        assert (one.origin, one.trust, one.conversation_id) == ("user", "active", "c1")
        assert one.quote is not None
        assert one.quote in "I work as a nurse in Bergen."
        assert [(source.conversation_id, source.message_id) for source in one.sources] == [("c1", "m1")]
    page = await service.memories.list(ALICE, MemoryQuery(origin="user", conversation_id="c1"))
    assert {one.id for one in page.items} == {one.id for one in learned.memories}


async def test_a_use_in_a_chat_is_counted(service: Recollect, clock: FakeClock) -> None:
    tea = await add(service, "Likes green tea from Uji")
    clock.advance(hours=1)
    await service.chat.turn(ALICE, ChatRequest(text="Which green tea do I like?", conversation_id="c1"))
    used = await service.memories.get(ALICE, tea.id)
    assert (used.access_count, used.last_accessed_at, used.version) == (1, clock(), 1)


async def test_the_same_id_again_adds_nothing(service: Recollect) -> None:
    first = await add(service, "Likes tea", id="m1")
    assert await add(service, "Likes tea", id="m1") == first
    assert await add(service, "Rides a horse to work", id="m1") == first
    assert await said_by(service, ALICE) == ["Likes tea"]
    await service.memories.delete(ALICE, "m1")
    with pytest.raises(ErasedError):
        await add(service, "Rides a horse to work", id="m1")


async def test_a_conversation_that_is_not_there_gets_no_memory(service: Recollect) -> None:
    with pytest.raises(ConversationNotFoundError):
        await add(service, "Likes tea", conversation_id="nowhere")
    with pytest.raises(InvalidInputError):
        await add(service, "")
    assert await said_by(service, ALICE) == []


async def test_a_secret_is_redacted_before_it_is_stored(service: Recollect) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    made = await add(service, f"The key of the service is {key}")
    assert key not in made.content
    changed = await service.memories.change(ALICE, made.id, Correction(content=f"Now the key is {key}"))
    assert key not in changed.content
    assert "key" in changed.content


async def test_a_change_may_not_make_two_memories_say_the_same(service: Recollect) -> None:
    await add(service, "Likes tea")
    dog = await add(service, "Has a dog")
    with pytest.raises(ConflictError):
        await service.memories.change(ALICE, dog.id, Correction(content="likes TEA."))
    assert await said_by(service, ALICE) == ["Likes tea", "Has a dog"]


@pytest.mark.spec("B4")
async def test_a_slot_holds_one_value_and_the_past_can_be_asked_for(service: Recollect, clock: FakeClock) -> None:
    bergen = await add(service, "Lives in Bergen", **HOME)
    brother = await add(service, "The brother lives in Bergen", subject="brother", attribute="residence")
    clock.advance(days=10)
    moved = clock()
    oslo = await add(service, "Lives in Oslo", **HOME)
    clock.advance(days=10)
    assert await said_by(service, ALICE) == ["The brother lives in Bergen", "Lives in Oslo"]
    assert "Lives in Bergen" not in await recalled(service, "Where does the user live? Bergen?")
    past = await service.memories.get(ALICE, bergen.id)
    assert (past.valid_to, past.superseded_by) == (moved, oslo.id)
    assert (oslo.valid_from, oslo.valid_to) == (moved, None)
    assert await service.memories.get(ALICE, brother.id) == brother, "only the slot is touched"
    for when, expected in ((moved - timedelta(days=1), bergen), (moved, oslo), (clock(), oslo)):
        listed = (await service.memories.list(ALICE, MemoryQuery(as_of=when))).items
        assert [one.content for one in listed if one.attribute == "residence" and one.subject == "user"] == [
            expected.content
        ]
        found = await recalled(service, "Where does the user live?", as_of=when)
        assert expected.content in found
        assert {bergen.content, oslo.content}.difference([expected.content]).isdisjoint(found)
    assert await recalled(service, "Where does the user live?", as_of=START - timedelta(days=1)) == []


@pytest.mark.spec("S1.8")
async def test_past_its_limit_a_conversation_keeps_what_matters_most(make: Make, clock: FakeClock) -> None:
    service = make(memory__max_per_session=3)
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    await service.conversations.add_messages(ALICE, "c2", [message("m1")])
    facts = {"Has a dog": 0.5, "Plays chess": 0.2, "Works as a nurse": 0.9, "Owns a red car": 0.4}
    for number, (content, importance) in enumerate(facts.items()):
        clock.advance(seconds=1)
        await add(service, content, importance=importance, conversation_id="c1", is_pinned=number == 1)
    assert await said_by(service, ALICE) == ["Has a dog", "Plays chess", "Works as a nurse"], "the pinned one stays"
    last = await add(service, "Was born in Riga", importance=0.1, conversation_id="c1")
    assert last.is_archived, "what is told of a new memory is how it is now"
    await add(service, "Sings in a choir", importance=0.1, conversation_id="c2")
    await add(service, "Bakes bread", importance=0.1)
    assert len(await said_by(service, ALICE)) == 5, "other conversations have room of their own"
    archived = (await service.memories.list(ALICE, MemoryQuery(archived=True))).items
    assert {one.content for one in archived} == {"Owns a red car", "Was born in Riga"}


@pytest.mark.spec("S1.8")
async def test_memory_that_is_switched_off_learns_and_tells_nothing(make: Make) -> None:
    service = make(memory__enabled=False)
    await add(service, "Likes green tea", is_pinned=True)
    reply = await service.chat.turn(ALICE, ChatRequest(text="I like green tea a lot.", conversation_id="c1"))
    assert reply.recalled == ()
    assert "extract" not in {job.kind for job in await service.store.list_jobs(ALICE, JobQuery())}
    preview = await service.contexts.preview(ALICE, "c1", query="green tea")
    assert preview.memory_ids == ()


@pytest.mark.spec("S1.8")
async def test_a_prompt_gets_as_many_memories_as_the_setting_says(make: Make) -> None:
    service = make(memory__context_limit=2)
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    for drink in ("tea", "coffee", "milk", "water"):
        await add(service, f"Drinks {drink} at breakfast on Sundays")
    preview = await service.contexts.preview(ALICE, "c1", query="What to drink at breakfast?")
    assert len(preview.memory_ids) == 2


async def test_others_are_told_of_every_change(service: Recollect, clock: FakeClock) -> None:
    events = service.events.subscribe(ALICE)
    bergen = await add(service, "Lives in Bergen", **HOME)
    clock.advance(seconds=1)
    oslo = await add(service, "Lives in Oslo", **HOME)
    await service.memories.change(ALICE, oslo.id, Correction(importance=0.9))
    await service.memories.delete(ALICE, oslo.id)
    await service.memories.undo(ALICE, oslo.id)
    await service.memories.erase(ALICE, oslo.id)
    expected = [
        ("memory.created", bergen.id),
        ("memory.created", oslo.id),
        ("memory.updated", bergen.id),
        ("memory.updated", oslo.id),
        ("memory.deleted", oslo.id),
        ("memory.created", oslo.id),
        ("memory.deleted", oslo.id),
    ]
    told = [await anext(events) for _ in expected]
    assert [(event.kind, event.entity_id) for event in told] == expected
