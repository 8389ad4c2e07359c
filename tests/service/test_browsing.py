"""Looking through memories for words: every page, whatever lies between the memories that hold them."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.domain.memory import Memory, MemoryQuery, NewMemory
from recollect.domain.scope import Scope
from recollect.errors import InvalidCursorError
from recollect.service.browsing import READ, memories_with
from recollect.service.recollect import Recollect
from recollect.testing.clock import START
from recollect.testing.samples import ALICE, BOB, ids_of

WORDS = ("tea", "Green", "Straße", "京都", "x+y", "100%")


async def store(service: Recollect, scope: Scope, new: list[NewMemory]) -> None:
    for start in range(0, len(new), 500):
        await service.store.add_memories(scope, tuple(new[start : start + 500]))


async def browsed(service: Recollect, scope: Scope, text: str, limit: int) -> list[tuple[Memory, ...]]:
    pages: list[tuple[Memory, ...]] = []
    before: str | None = None
    while True:
        page = await memories_with(service.store, scope, MemoryQuery(limit=limit, before_id=before), text)
        pages.append(page.items)
        before = page.next
        if before is None:
            return pages


async def test_rare_words_are_found_among_more_memories_than_are_read_at_once(service: Recollect) -> None:
    total = 2 * READ + 50
    rare = {3, READ, READ + 1, total - 1}
    new = [
        NewMemory(id=f"m{n}", content=f"Number {n}" + (" is rare" if n in rare else ""), at=START) for n in range(total)
    ]
    await store(service, ALICE, new)
    await store(service, BOB, [NewMemory(id="b", content="This is rare", at=START)])
    pages = await browsed(service, ALICE, "RARE number", 3)
    assert [ids_of(page) for page in pages] == [[f"m{total - 1}", f"m{READ + 1}", f"m{READ}"], ["m3"]]
    assert await browsed(service, ALICE, "nowhere", 3) == [()]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), max_size=12),
    asked=st.lists(st.sampled_from([*(word.lower() for word in WORDS), "gree", "STRASSE", "都"]), max_size=2),
    limit=st.integers(1, 5),
)
async def test_pages_hold_what_a_look_at_every_memory_finds(
    service: Recollect, said: list[list[str]], asked: list[str], limit: int
) -> None:
    scope = Scope("acme", str(uuid.uuid4()))
    contents = [f"{n}: {' '.join(words)}" for n, words in enumerate(said)]
    new = [NewMemory(id=f"m{n}", content=content, at=START) for n, content in enumerate(contents)]
    if new:
        await store(service, scope, new)
    expected = [
        content for content in reversed(contents) if all(part.casefold() in content.casefold() for part in asked)
    ]
    pages = await browsed(service, scope, " ".join(asked), limit)
    assert [memory.content for page in pages for memory in page] == expected
    assert all(len(page) == limit for page in pages[:-1])


async def test_the_category_is_looked_at_too_and_filters_hold(service: Recollect) -> None:
    await store(
        service,
        ALICE,
        [
            NewMemory(id="a", content="Likes sencha", category="Tea & coffee", memory_type="preference", at=START),
            NewMemory(id="b", content="Sells tea", at=START),
            NewMemory(id="c", content="Grows tea", at=START, trust="pending", origin="import"),
        ],
    )
    for query, found in (
        (MemoryQuery(), ["b", "a"]),
        (MemoryQuery(memory_type="preference"), ["a"]),
        (MemoryQuery(trust=None), ["c", "b", "a"]),
    ):
        assert ids_of((await memories_with(service.store, ALICE, query, "tea")).items) == found


async def test_a_position_of_nobody_is_refused(service: Recollect) -> None:
    with pytest.raises(InvalidCursorError):
        await memories_with(service.store, ALICE, MemoryQuery(before_id="nobody"), "tea")
