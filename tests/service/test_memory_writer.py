"""How new memories meet the stored ones, however many are added at once and from wherever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.domain.memory import MAX_SOURCES, Memory, MemoryQuery, NewMemory, Source
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, StaleVersionError
from recollect.service.memories import Correction, Statement
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB, erasure, memory, message
from tests.support.memory_jobs import said_by
from tests.support.services import opened, settings_of
from tests.unit.update_suite import DISTRACTORS, HISTORIES, History

HOME = {"subject": "user", "attribute": "residence"}
MANY = 50


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    return str(request.getfixturevalue("postgres_url"))


async def add(service: Recollect, content: str, **more: object) -> Memory:
    return await service.memories.add(ALICE, Statement(content=content, **more))  # type: ignore[arg-type]


async def recalled(service: Recollect, text: str, scope: Scope = ALICE) -> list[str]:
    found = await service.recall.search(scope, RecallRequest(text=text, messages=False))
    return [one.memory.content for one in found if one.memory is not None]


@pytest.mark.spec("S1.7")
async def test_an_equal_statement_is_skipped_a_similar_one_merged_and_another_added(service: Recollect) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    first = await add(service, "The user likes green tea", importance=0.5)
    assert await add(service, "  the user LIKES green tea. ", importance=1.0) == first, "exact: skipped"
    similar = await add(service, "The user likes green teas", importance=0.5, conversation_id="c1")
    assert (similar.id, similar.content) == (first.id, first.content), "similar: merged"
    assert similar.importance == pytest.approx(0.6)
    again = await add(service, "The user likes a green tea", conversation_id="c1")
    assert again.id == first.id
    other = await add(service, "The user likes black coffee")
    assert other.id != first.id
    assert await said_by(service, ALICE) == [first.content, other.content]


@pytest.mark.spec("S1.7")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The report is due on March 15", "The report is due on March 16"),
        ("The user likes green tea", "The user does not like green tea"),
        ("Anna lives in the old house", "Hanna lives in the old house"),
        ("Pays 100 euros for the garage", "Pays 1000 euros for the garage"),
        ("The meeting with Peter is before lunch", "The meeting with Peter is after lunch"),
    ],
    ids=["date", "negation", "name", "number", "opposite"],
)
async def test_statements_that_differ_in_what_matters_are_never_merged(
    service: Recollect, one: str, other: str
) -> None:
    first, second = await add(service, one), await add(service, other)
    assert first.id != second.id
    assert await said_by(service, ALICE) == [one, other]


PARAPHRASES = [
    ("The user's father is ill", "The user's dad is sick"),
    ("The user resides in a big house near the sea", "The user lives in a large house close to the sea"),
    ("The user is employed as a nurse in a hospital", "The user works as a nurse at a hospital"),
]


@pytest.mark.spec("S1.7")
@pytest.mark.parametrize(("one", "other"), PARAPHRASES)
async def test_the_same_meaning_in_other_words_is_one_memory(service: Recollect, one: str, other: str) -> None:
    first = await add(service, one)
    assert await add(service, other) == first
    assert await said_by(service, ALICE) == [one]


@pytest.mark.spec("B11")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Пользователь играет на гитаре", "Пользователь играет на пианино"),
        ("Пользователь работает врачом", "Пользователь играет на гитаре"),
        ("يحب المستخدم القهوة", "يعيش المستخدم في القاهرة"),
        ("사용자는 의사입니다", "사용자는 기타를 칩니다"),
        ("המשתמש אוהב קפה", "המשתמש גר בחיפה"),
        ("उपयोगकर्ता डॉक्टर है", "उपयोगकर्ता गिटार बजाता है"),
        ("ผู้ใช้เป็นหมอ", "ผู้ใช้เล่นกีตาร์"),
        ("用户是医生", "用户会弹吉他"),
    ],
    ids=["ru", "ru-other-verb", "ar", "ko", "he", "hi", "th", "zh"],
)
async def test_statements_in_letters_that_the_embedder_does_not_know_are_told_apart(
    service: Recollect, one: str, other: str
) -> None:
    first = await add(service, one)
    assert (await add(service, f" {one}")).id == first.id
    await add(service, other)
    assert await said_by(service, ALICE) == [one, other]


@pytest.mark.spec("B4")
@pytest.mark.parametrize("history", HISTORIES, ids=lambda one: f"{one.language}-{one.name}")
async def test_updates_in_many_languages_leave_nothing_stale_and_touch_nothing_else(
    service: Recollect, clock: FakeClock, history: History
) -> None:
    around = DISTRACTORS.get(history.language, ())
    for one in (*around, *history.said):
        clock.advance(days=1)
        await add(service, one.content, subject=one.subject, attribute=one.attribute)
    current = await said_by(service, ALICE)
    assert set(history.stale).isdisjoint(current)
    assert set(history.current) | {one.content for one in around} <= set(current)
    for one in history.said:
        assert set(history.stale).isdisjoint(await recalled(service, one.content))


@pytest.mark.spec("R9")
async def test_fifty_equal_statements_at_once_are_one_memory(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        services = (first.service, second.service)
        made = await asyncio.gather(*(add(services[n % 2], "The user likes green tea") for n in range(MANY)))
        assert len({one.id for one in made}) == 1
        for service in services:
            assert await said_by(service, ALICE) == ["The user likes green tea"]
            assert await recalled(service, "green tea") == ["The user likes green tea"]


@pytest.mark.spec("R9")
async def test_fifty_near_equal_statements_at_once_are_one_memory(database: str) -> None:
    words = [
        "The user likes green tea",
        "the user likes a green tea",
        "The user likes green teas!",
        "user likes green tea",
    ]
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        services = (first.service, second.service)
        made = await asyncio.gather(
            *(add(services[n % 2], words[n % 4] + "." * (n // 8), importance=n / 100) for n in range(MANY))
        )
        assert len({one.id for one in made}) == 1
        assert len(await said_by(first.service, ALICE)) == 1


@pytest.mark.spec("R9")
async def test_of_fifty_values_of_a_slot_at_once_one_is_current_and_the_others_are_history(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        services = (first.service, second.service)
        await asyncio.gather(*(add(services[n % 2], f"Lives at number {n}", **HOME) for n in range(MANY)))
        (current,) = await said_by(second.service, ALICE)
        known = await first.service.recall.known(ALICE)
        assert len(known) == MANY
        past = [one for one in known if one.valid_to is not None]
        assert len(past) == MANY - 1
        ids = {one.id for one in known}
        assert all(one.valid_to >= (one.valid_from or one.created_at) for one in past if one.valid_to is not None)
        assert all(one.superseded_by is None or one.superseded_by in ids for one in past)
        assert await recalled(first.service, "Where does the user live?") == [current]


async def test_what_one_service_does_another_recalls_at_once(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        one, other = first.service, second.service
        tea = await add(one, "The user likes green tea")
        assert await recalled(other, "green tea") == ["The user likes green tea"]
        await one.memories.change(ALICE, tea.id, Correction(content="The user likes black coffee"))
        assert await recalled(other, "green tea") == ["The user likes black coffee"]
        await other.memories.delete(ALICE, tea.id)
        assert await recalled(one, "coffee") == []
        await one.memories.undo(ALICE, tea.id)
        assert await recalled(other, "coffee") == ["The user likes black coffee"]
        await other.memories.erase(ALICE, tea.id)
        assert await recalled(one, "coffee") == []
        assert (await recalled(one, "coffee", BOB), await recalled(other, "coffee", BOB)) == ([], [])


async def test_messages_of_one_service_are_recalled_by_another_and_erased_ones_by_none(database: str) -> None:
    async def found(service: Recollect) -> list[str]:
        hits = await service.recall.search(ALICE, RecallRequest(text="whales", memories=False))
        return [one.message.content for one in hits if one.message is not None]

    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        one, other = first.service, second.service
        await one.conversations.add_messages(ALICE, "c1", [message("m1", "We saw whales")])
        assert await found(other) == ["We saw whales"]
        await other.conversations.add_messages(ALICE, "c1", [message("m2", "No whales in winter")])
        assert sorted(await found(one)) == ["No whales in winter", "We saw whales"]
        await one.store.erase_message(ALICE, "c1", "m1", erasure())
        assert (await found(one), await found(other)) == (["No whales in winter"],) * 2
        await other.store.erase_user(ALICE, erasure("all"))
        assert (await found(one), await found(other)) == ([], [])


async def test_an_erased_user_is_recalled_by_nobody_whatever_is_added_after(database: str) -> None:
    settings = settings_of(database)
    async with opened(settings) as first, opened(settings) as second:
        for drink in ("tea", "coffee", "milk"):
            await add(first.service, f"The user often drinks {drink}")
        assert len(await recalled(second.service, "drinks")) == 3
        await first.service.store.erase_user(ALICE, erasure())
        for food in ("bread", "rice", "soup"):
            await add(first.service, f"The user often eats {food}")
        assert all("eats" in one for one in await recalled(second.service, "drinks and eats"))


async def test_a_change_between_reading_and_saving_is_planned_again(service: Recollect, clock: FakeClock) -> None:
    await add(service, "Lives in Bergen", **HOME)
    clock.advance(days=1)
    seen: list[int] = []

    class Interrupting:
        """A store in which somebody else adds a memory just before a plan is saved."""

        def __init__(self) -> None:
            self.inner = service.store

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        async def save_memories(self, scope: Scope, plan: object) -> object:
            if not seen:
                seen.append(1)
                await self.inner.add_memories(scope, (memory("late", "Works as a nurse"),))
            return await self.inner.save_memories(scope, plan)  # type: ignore[arg-type]

    writer = service.memories._writer  # the writer is no use case of its own
    writer._store = Interrupting()  # type: ignore[assignment]  # as above
    await add(service, "Lives in Oslo", **HOME)
    assert seen == [1]
    assert await said_by(service, ALICE) == ["Works as a nurse", "Lives in Oslo"]


async def test_an_expected_version_that_does_not_hold_is_told(service: Recollect) -> None:
    tea = await add(service, "Likes tea")
    await service.memories.change(ALICE, tea.id, Correction(importance=0.9))
    with pytest.raises(StaleVersionError):
        await service.memories.change(ALICE, tea.id, Correction(importance=0.1, expected_version=1))
    assert (await service.memories.get(ALICE, tea.id)).importance == 0.9


def learned(memory_id: str, content: str, clock: FakeClock, **more: object) -> NewMemory:
    given = {"origin": "user", "at": clock(), "conversation_id": "c1", "sources": (Source("c1", "m1"),)} | more
    return memory(memory_id, content, **given)


async def write(service: Recollect, *new: NewMemory) -> object:
    return await service.memories._writer.write(ALICE, new)  # as learning does


async def forget(service: Recollect, content: str, **slot: str) -> None:
    made = await add(service, content, **slot)
    await service.memories.erase(ALICE, made.id)


async def test_a_forgotten_statement_ends_nothing_and_what_follows_it_does(
    service: Recollect, clock: FakeClock
) -> None:
    await forget(service, "Lives in Oslo", **HOME)
    await add(service, "Lives in Bergen", **HOME)
    clock.advance(days=1)
    await write(service, learned("oslo", "Lives in Oslo", clock, **HOME))
    assert await said_by(service, ALICE) == ["Lives in Bergen"]
    clock.advance(days=1)
    oslo = learned("oslo2", "Lives in Oslo", clock, **HOME)
    clock.advance(days=1)
    await write(service, oslo, learned("rome", "Lives in Rome", clock, **HOME))
    assert await said_by(service, ALICE) == ["Lives in Rome"], "the slot has one current value"


async def test_a_forgotten_statement_does_not_make_the_one_before_it_history(
    service: Recollect, clock: FakeClock
) -> None:
    await forget(service, "Lives in Rome", **HOME)
    oslo = learned("oslo", "Lives in Oslo", clock, **HOME)
    clock.advance(days=1)
    await write(service, oslo, learned("rome", "Lives in Rome", clock, **HOME))
    assert await said_by(service, ALICE) == ["Lives in Oslo"]
    assert (await service.memories.get(ALICE, "oslo")).valid_to is None


async def test_a_statement_that_joined_a_forgotten_one_is_kept_by_itself(service: Recollect, clock: FakeClock) -> None:
    await forget(service, "The user likes green tea")
    await write(
        service,
        learned("m1", "The user likes green tea", clock),
        learned("m2", "The user likes green teas", clock, sources=(Source("c1", "m2"),)),
    )
    assert await said_by(service, ALICE) == ["The user likes green teas"]


async def test_statements_of_one_batch_that_mean_the_same_are_one(service: Recollect, clock: FakeClock) -> None:
    one, other = PARAPHRASES[1]
    await write(service, learned("m1", one, clock), learned("m2", other, clock))
    assert len(await said_by(service, ALICE)) == 1


async def test_a_merge_never_has_more_sources_than_are_kept(service: Recollect, clock: FakeClock) -> None:
    sources = tuple(Source("c1", f"m{n}") for n in range(MAX_SOURCES))
    await write(service, learned("m1", "The user likes green tea", clock, sources=sources))
    await write(service, learned("m2", "The user likes green teas", clock, sources=(Source("c1", "one-more"),)))
    (kept,) = (await service.memories.list(ALICE, MemoryQuery())).items
    assert kept.sources == sources


async def test_the_one_who_never_gets_a_turn_is_told(make: Callable[..., Recollect]) -> None:
    service = make()
    await add(service, "Likes tea")

    class Contested:
        """A store whose memories somebody else changes before every save."""

        def __init__(self) -> None:
            self.inner = service.store
            self.others = 0

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        async def save_memories(self, scope: Scope, plan: object) -> object:
            self.others += 1
            await self.inner.add_memories(scope, (memory(f"o{self.others}"),))
            return await self.inner.save_memories(scope, plan)  # type: ignore[arg-type]

    contested = Contested()
    service.memories._writer._store = contested  # type: ignore[assignment]  # as above
    with pytest.raises(ConflictError, match="try again"):
        await add(service, "Has a dog")
    assert contested.others == 100
    assert "Has a dog" not in await said_by(service, ALICE)
