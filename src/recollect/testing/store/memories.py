"""Memories: no two say the same, every change keeps what was, and an extraction is saved once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.domain.memory import Memory, MemoryChanges, MemoryQuery, NewMemory, Source
from recollect.domain.memory_listing import MEMORY_SORTS, MemorySort
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, InvalidCursorError, MemoryNotFoundError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, after, ids_of, memory
from recollect.testing.store.dump import dump


def rich_memory() -> NewMemory:
    """Return a memory that uses every field."""
    return memory(
        "k1",
        "Prefers trains",
        memory_type="preference",
        category="travel",
        agent="guide",
        importance=0.25,
        confidence=0.75,
        is_pinned=True,
        origin="user",
        trust="pending",
        quote="I'd rather take the train",
        conversation_id="c1",
        sources=(Source("c1", "m1"), Source("c2", "m2")),
        subject="alice",
        attribute="transport",
        valid_from=after(-60),
    )


async def change(store: Store, memory_id: str, at: datetime = START, **changes: Any) -> Memory:
    """Change a memory of Alice's."""
    return await store.change_memory(ALICE, memory_id, MemoryChanges(at=at, **changes))


async def listed(store: Store, scope: Scope = ALICE, **query: Any) -> list[str]:
    """Return the ids that a query lists."""
    return ids_of((await store.list_memories(scope, MemoryQuery(**query))).items)


class MemoryConformance:
    """Check what a store promises about memories."""

    async def test_every_part_of_a_memory_comes_back(self, store: Store) -> None:
        new = rich_memory()
        saved = await store.add_memories(ALICE, (new,))
        stored = await store.get_memory(ALICE, "k1")
        assert saved.created == (stored,)
        for name in set(new.__struct_fields__) - {"at", "vector", "denies"}:
            assert getattr(stored, name) == getattr(new, name), name
        assert (stored.created_at, stored.updated_at, stored.last_accessed_at) == (START, START, START)
        assert (stored.version, stored.access_count, stored.is_archived, stored.superseded_by) == (1, 0, False, None)

    async def test_a_statement_that_is_stored_is_a_duplicate(self, store: Store) -> None:
        (first,) = (await store.add_memories(ALICE, (memory("k1", "Likes  tea."),))).created
        saved = await store.add_memories(ALICE, (memory("k2", "likes tea"), memory("k3", "Likes coffee")))
        assert (ids_of(saved.created), saved.duplicates) == (["k3"], (first,))
        assert await listed(store) == ["k3", "k1"]

    async def test_equal_statements_of_one_call_become_one(self, store: Store) -> None:
        saved = await store.add_memories(ALICE, (memory("k1", "Likes tea"), memory("k2", "LIKES TEA!")))
        assert (ids_of(saved.created), ids_of(saved.duplicates)) == (["k1"], ["k1"])

    async def test_a_memory_id_again_stores_nothing(self, store: Store) -> None:
        (first,) = (await store.add_memories(ALICE, (memory("k1", "Likes tea"),))).created
        saved = await store.add_memories(ALICE, (memory("k1", "Likes coffee"),))
        assert (saved.created, saved.duplicates) == ((), (first,))

    async def test_statements_that_differ_in_a_word_are_two(self, store: Store) -> None:
        said = ["Born on March 15", "Born on March 16", "Likes tea", "Does not like tea", "喜欢茶", "喜欢咖啡"]
        await store.add_memories(ALICE, tuple(memory(f"k{n}", text) for n, text in enumerate(said)))
        assert len(await listed(store)) == len(said)

    async def test_a_missing_memory_is_not_found(self, store: Store) -> None:
        with raises(MemoryNotFoundError):
            await store.get_memory(ALICE, "k1")
        with raises(MemoryNotFoundError):
            await change(store, "k1", is_pinned=True)
        with raises(MemoryNotFoundError):
            await store.memory_history(ALICE, "k1")

    async def test_memories_are_found_by_their_ids(self, store: Store) -> None:
        await store.add_memories(ALICE, tuple(memory(f"k{number}", f"Fact {number}") for number in (3, 1, 2)))
        await store.add_memories(BOB, (memory("k4"),))
        wanted = ("k2", "k3", "k4", "nothing")
        found = await store.find_memories(ALICE, wanted)
        assert found == tuple([await store.get_memory(ALICE, memory_id) for memory_id in ("k3", "k2")])
        await change(store, "k3", deleted_at=after(1))
        assert ids_of(await store.find_memories(ALICE, wanted)) == ["k2"]

    async def test_a_deleted_memory_counts_as_missing_until_it_is_brought_back(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await change(store, "k1", deleted_at=after(1))
        with raises(MemoryNotFoundError):
            await store.get_memory(ALICE, "k1")
        assert await listed(store) == []
        await change(store, "k1", deleted_at=None)
        assert (await store.get_memory(ALICE, "k1")).deleted_at is None
        assert await listed(store) == ["k1"]

    async def test_a_deleted_statement_does_not_come_back_beside_its_equal(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Likes tea"),))
        await change(store, "k1", deleted_at=after(1))
        assert ids_of((await store.add_memories(ALICE, (memory("k2", "Likes tea"),))).created) == ["k2"]
        with raises(ConflictError):
            await change(store, "k1", deleted_at=None)
        assert await listed(store) == ["k2"]


class MemoryListConformance:
    """Check what a store promises about lists of memories."""

    async def test_the_last_added_memory_is_listed_first(self, store: Store) -> None:
        for number, seconds in ((1, 50), (2, 10), (3, 30)):
            await store.add_memories(ALICE, (memory(f"k{number}", at=after(seconds)),))
        await change(store, "k1", is_pinned=True)
        assert await listed(store) == ["k3", "k2", "k1"]

    async def test_every_page_size_lists_each_memory_once(self, store: Store) -> None:
        await store.add_memories(ALICE, tuple(memory(f"k{number}") for number in range(7)))
        whole = await listed(store)
        for limit in range(1, 9):
            found: list[str] = []
            query = MemoryQuery(limit=limit)
            while True:
                page = await store.list_memories(ALICE, query)
                found += ids_of(page.items)
                if page.next is None:
                    break
                query = MemoryQuery(limit=limit, before_id=page.next)
            assert found == whole

    async def test_memories_are_listed_in_every_order_in_pages_of_any_size(self, store: Store) -> None:
        for number, importance in enumerate((0.5, 0.9, 0.1, 0.5, 1.0, 0.0, 0.5)):
            await store.add_memories(ALICE, (memory(f"k{number}", importance=importance, at=after(-number)),))
        await change(store, "k5", importance=0.7)
        orders: dict[MemorySort, list[str]] = {
            "newest": ["k6", "k5", "k4", "k3", "k2", "k1", "k0"],
            "oldest": ["k0", "k1", "k2", "k3", "k4", "k5", "k6"],
            "importance": ["k4", "k1", "k5", "k6", "k3", "k0", "k2"],
        }
        for sort, names in orders.items():
            for limit in range(1, 9):
                page = await store.list_memories(ALICE, MemoryQuery(limit=limit, sort=sort))
                found = ids_of(page.items)
                while page.next is not None:
                    page = await store.list_memories(ALICE, MemoryQuery(limit=limit, sort=sort, before_id=page.next))
                    found += ids_of(page.items)
                assert found == names, (sort, limit)

    async def test_memories_are_listed_by_when_they_were_learned(self, store: Store) -> None:
        for number in range(4):
            await store.add_memories(ALICE, (memory(f"k{number}", at=after(10 * number)),))
        await change(store, "k0", at=after(99), content="Other words")
        assert await listed(store, since=after(10)) == ["k3", "k2", "k1"]
        assert await listed(store, until=after(10)) == ["k0"]
        assert await listed(store, since=after(5), until=after(30), sort="oldest") == ["k1", "k2"]
        assert await listed(store, since=after(5), until=after(5)) == []

    async def test_a_position_that_is_not_known_is_refused(self, store: Store) -> None:
        for sort in MEMORY_SORTS:
            with raises(InvalidCursorError):
                await listed(store, before_id="nothing", sort=sort)

    async def test_memories_are_listed_by_every_filter(self, store: Store) -> None:
        plain = memory("plain")
        await store.add_memories(ALICE, (rich_memory(), plain))
        await change(store, "plain", is_archived=True)
        expected: list[tuple[dict[str, Any], list[str]]] = [
            ({"trust": "pending"}, ["k1"]),
            ({"trust": "active"}, []),
            ({"trust": "active", "archived": True}, ["plain"]),
            ({"trust": None, "archived": None}, ["plain", "k1"]),
            ({"trust": None, "memory_type": "preference"}, ["k1"]),
            ({"trust": None, "memory_type": "project"}, []),
            ({"trust": None, "category": "travel"}, ["k1"]),
            ({"trust": None, "category": "Travel"}, []),
            ({"trust": None, "archived": None, "origin": "manual"}, ["plain"]),
            ({"trust": None, "pinned": True}, ["k1"]),
            ({"trust": None, "archived": None, "pinned": False}, ["plain"]),
            ({"trust": None, "conversation_id": "c1"}, ["k1"]),
            ({"trust": None, "conversation_id": "c2"}, []),
        ]
        for query, names in expected:
            assert await listed(store, **query) == names, query

    async def test_only_current_values_are_listed_unless_a_time_is_given(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("old", "Lives in Kyiv", valid_from=after(0)),))
        await store.add_memories(ALICE, (memory("new", "Lives in Lviv", valid_from=after(100)),))
        await change(store, "old", valid_to=after(100), superseded_by="new")
        assert await listed(store) == ["new"]
        assert await listed(store, as_of=after(50)) == ["old"]
        assert await listed(store, as_of=after(100)) == ["new"]
        assert await listed(store, as_of=after(-1)) == []

    async def test_a_superseded_statement_may_be_said_again(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Lives in Kyiv"),))
        await change(store, "k1", valid_to=after(1), superseded_by="k2")
        assert ids_of((await store.add_memories(ALICE, (memory("k3", "Lives in Kyiv"),))).created) == ["k3"]


class MemoryChangeConformance:
    """Check what a store promises about changes of memories."""

    async def test_a_change_returns_the_memory_after_it_and_keeps_what_was(self, store: Store) -> None:
        (before,) = (await store.add_memories(ALICE, (rich_memory(),))).created
        changes: dict[str, Any] = {
            "content": "Prefers night trains",
            "memory_type": "fact",
            "category": None,
            "importance": 1.0,
            "confidence": 0.0,
            "is_pinned": False,
            "is_archived": True,
            "trust": "active",
        }
        changed = await change(store, "k1", at=after(9), expected_version=1, **changes)
        for name, value in changes.items():
            assert getattr(changed, name) == value, name
        assert (changed.version, changed.updated_at, changed.created_at) == (2, after(9), START)
        assert await store.get_memory(ALICE, "k1") == changed
        (was,) = await store.memory_history(ALICE, "k1")
        assert (was.memory, was.until) == (before, after(9))

    async def test_history_is_listed_newest_first(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "one"),))
        for number, text in enumerate(("two", "three", "four")):
            await change(store, "k1", content=text, at=after(-number))
        history = await store.memory_history(ALICE, "k1")
        assert [was.memory.content for was in history] == ["three", "two", "one"]
        assert [was.memory.version for was in history] == [3, 2, 1]

    async def test_a_change_of_nothing_keeps_the_version(self, store: Store) -> None:
        (before,) = (await store.add_memories(ALICE, (rich_memory(),))).created
        assert await change(store, "k1", at=after(9), is_pinned=True, more_sources=before.sources) == before
        assert await store.memory_history(ALICE, "k1") == ()

    async def test_sources_are_added_to_those_it_has(self, store: Store) -> None:
        await store.add_memories(ALICE, (rich_memory(),))
        changed = await change(store, "k1", more_sources=(Source("c2", "m2"), Source("c3", "m3")))
        assert changed.sources == (Source("c1", "m1"), Source("c2", "m2"), Source("c3", "m3"))
        assert await store.get_memory(ALICE, "k1") == changed

    async def test_a_stale_version_of_a_memory_changes_nothing(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        before = await dump(store, ALICE)
        with raises(StaleVersionError):
            await change(store, "k1", content="Lost", expected_version=2)
        assert await dump(store, ALICE) == before

    async def test_a_change_into_what_another_memory_says_is_refused(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Likes tea"), memory("k2", "Likes coffee")))
        before = await dump(store, ALICE)
        with raises(ConflictError):
            await change(store, "k2", content="likes TEA")
        assert await dump(store, ALICE) == before
        assert (await change(store, "k1", content="likes TEA")).content == "likes TEA"

    async def test_what_a_write_returns_is_what_a_read_returns(self, store: Store) -> None:
        await store.add_memories(ALICE, (rich_memory(),))
        changed = await change(store, "k1", valid_to=after(5), superseded_by="k2", importance=1)
        assert await store.get_memory(ALICE, "k1") == changed
