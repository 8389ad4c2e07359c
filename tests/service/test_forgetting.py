"""Memories that fade: the old, idle and unimportant are set aside, never the pinned, and never by a wrong clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.forgetting import has_faded
from recollect.domain.memory import Memory, MemoryQuery, memory_from
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Correction, Statement
from recollect.service.recollect import Recollect
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB, memory, message
from tests.support.memory_jobs import do_jobs, said_by

Make = Callable[..., Recollect]
HALF_LIFE = timedelta(days=90)
NEVER = timedelta(days=36_500)


def kept(**more: object) -> Memory:
    return msgspec.structs.replace(memory_from(memory("m")), **more)


@pytest.mark.parametrize(
    ("changes", "days", "faded"),
    [
        ({"importance": 0.4}, 0, False),
        ({"importance": 0.4}, 180, False),
        ({"importance": 0.4}, 181, True),
        ({"importance": 0.69}, 36_500, True),
        ({"importance": 0.7}, 36_500, False),
        ({"importance": 0.05}, 0, True),
        ({"importance": 0.4, "access_count": 10}, 181, False),
        ({"importance": 0.4, "last_accessed_at": START + timedelta(days=100)}, 181, False),
        ({"importance": 0.4, "updated_at": START + timedelta(days=100)}, 181, False),
        ({"importance": 0.1, "is_pinned": True}, 36_500, False),
        ({"importance": 0.1, "is_archived": True}, 36_500, False),
        ({"importance": 0.1, "trust": "pending"}, 36_500, False),
        ({"importance": 0.1, "trust": "rejected"}, 36_500, False),
        ({"importance": 0.1, "deleted_at": START}, 36_500, False),
        ({"importance": 0.1, "valid_to": START, "superseded_by": "x"}, 36_500, False),
        ({"importance": 0.4}, -36_500, False),
    ],
)
def test_what_has_faded(changes: dict[str, object], days: int, faded: bool) -> None:
    assert has_faded(kept(**changes), START + timedelta(days=days), HALF_LIFE) is faded


@given(
    importance=st.floats(0, 1),
    uses=st.integers(0, 10_000),
    pinned=st.booleans(),
    idle=st.lists(st.timedeltas(-NEVER, NEVER), min_size=2, max_size=2),
    half_life=st.timedeltas(timedelta(seconds=1), NEVER),
)
def test_the_longer_idle_the_sooner_faded_and_never_what_is_pinned(
    importance: float, uses: int, pinned: bool, idle: list[timedelta], half_life: timedelta
) -> None:
    one = kept(importance=importance, access_count=uses, is_pinned=pinned)
    sooner, later = (has_faded(one, START + days, half_life) for days in sorted(idle))
    assert later or not sooner
    assert not (pinned and later)
    if later:
        more = msgspec.structs.replace(one, access_count=uses + 1, importance=min(1.0, importance * 1.5))
        assert has_faded(one, START + max(idle), half_life / 2)
        assert has_faded(more, START + max(idle), half_life) or more.importance >= importance
    else:
        used = msgspec.structs.replace(one, access_count=uses + 1)
        assert not has_faded(used, START + max(idle), half_life), "a use never makes a memory fade"


async def add(service: Recollect, content: str, **more: object) -> Memory:
    return await service.memories.add(ALICE, Statement(content=content, **more))  # type: ignore[arg-type]


async def archived(service: Recollect) -> set[str]:
    page = await service.memories.list(ALICE, MemoryQuery(archived=True))
    return {one.content for one in page.items}


async def test_what_is_old_idle_and_unimportant_is_archived_and_comes_back(
    service: Recollect, clock: FakeClock
) -> None:
    weather = await add(service, "Asked for the weather in Riga", importance=0.3)
    await add(service, "Is allergic to nuts", importance=0.9)
    await add(service, "Prefers short answers", importance=0.3, is_pinned=True)
    clock.advance(days=200)
    fresh = await add(service, "Plans a trip to Peru", importance=0.3)
    faded = await service.forgetting.fade(ALICE)
    assert [one.id for one in faded] == [weather.id]
    assert await archived(service) == {weather.content}
    assert fresh.content in await said_by(service, ALICE)
    assert await service.forgetting.fade(ALICE) == ()
    assert await service.forgetting.fade(BOB) == ()
    assert not (await service.memories.undo(ALICE, weather.id)).is_archived
    assert await service.forgetting.fade(ALICE) == (), "what a person brought back is fresh"


async def test_uses_count_even_if_they_changed_no_revision(service: Recollect, clock: FakeClock) -> None:
    await add(service, "Likes green tea from Uji", importance=0.3)
    clock.advance(days=150)
    reply = await service.chat.turn(ALICE, ChatRequest(text="Which green tea do I like?", conversation_id="c1"))
    assert any(one.memory is not None for one in reply.recalled)
    clock.advance(days=60)
    assert await service.forgetting.fade(ALICE) == (), "it was used sixty days ago"


async def test_more_than_one_transaction_holds_are_archived(service: Recollect, clock: FakeClock) -> None:
    many = tuple(memory(f"m{n}", f"Fact number {n}", importance=0.2) for n in range(450))
    await service.store.add_memories(ALICE, many[:400])
    await service.store.add_memories(ALICE, many[400:])
    clock.advance(days=400)
    assert len(await service.forgetting.fade(ALICE)) == 450


async def test_without_a_half_life_nothing_fades(make: Make, clock: FakeClock) -> None:
    service = make(memory__half_life_days=0)
    await add(service, "Asked for the weather in Riga", importance=0.1)
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    clock.advance(days=10_000)
    assert await do_jobs(service, "tidy", clock()) == 1
    clock.advance(days=10_000)
    assert await do_jobs(service, "fade", clock()) == 0
    assert await service.forgetting.fade(ALICE) == ()
    assert await archived(service) == set()


async def looked_at(service: Recollect) -> None:
    """Add a memory that fades in half a year, and a conversation whose idleness makes somebody look."""
    await add(service, "Asked for the weather in Riga", importance=0.3)
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])


async def test_two_looks_archive_what_has_faded(service: Recollect, clock: FakeClock) -> None:
    await looked_at(service)
    clock.advance(days=300)
    assert await do_jobs(service, "tidy", clock()) == 1
    assert await archived(service) == set(), "one look archives nothing"
    assert await do_jobs(service, "fade", clock()) == 0, "the second comes later"
    clock.advance(hours=1)
    assert await do_jobs(service, "fade", clock()) == 1
    assert await archived(service) == {"Asked for the weather in Riga"}


@pytest.mark.parametrize("wrong", ["first", "second"])
async def test_a_clock_that_is_a_year_ahead_at_one_look_archives_nothing(
    service: Recollect, clock: FakeClock, wrong: str
) -> None:
    await looked_at(service)
    clock.advance(days=2)
    if wrong == "first":
        clock.advance(days=365)
        await do_jobs(service, "tidy", clock())
        clock.advance(days=-365)
        clock.advance(hours=1)
        await do_jobs(service, "fade", clock() + timedelta(days=366))
    else:
        await do_jobs(service, "tidy", clock())
        clock.advance(days=365)
        await do_jobs(service, "fade", clock())
        clock.advance(days=-365)
    assert await archived(service) == set()
    await service.forgetting.fade(ALICE)
    assert await archived(service) == set()


async def test_a_memory_that_is_used_between_the_looks_stays(service: Recollect, clock: FakeClock) -> None:
    tea = await add(service, "Likes green tea from Uji", importance=0.3)
    await service.conversations.add_messages(ALICE, "c1", [message("m1")])
    clock.advance(days=300)
    await do_jobs(service, "tidy", clock())
    await service.memories.change(ALICE, tea.id, Correction(category="drinks"))
    clock.advance(hours=1)
    assert await do_jobs(service, "fade", clock()) == 1
    assert await archived(service) == set()
