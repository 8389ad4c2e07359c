"""Plans: memories are added and edited together, and no value ends before its successor is there."""

from __future__ import annotations

from typing import Any

from recollect.domain.memory import MemoryChanges, MemoryEdit, MemoryPlan, NewMemory, SavedMemories, Source
from recollect.errors import ConflictError, MemoryNotFoundError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, append, erasure, ids_of, memory
from recollect.testing.store.dump import dump
from recollect.testing.store.extraction import extraction
from recollect.testing.store.memories import listed
from recollect.testing.store.recall import revision


def plan(*new: NewMemory, edits: tuple[MemoryEdit, ...] = (), **more: Any) -> MemoryPlan:
    """Return a plan."""
    return MemoryPlan(at=START, new=new, edits=edits, **more)


def superseded(memory_id: str, by: str, **more: Any) -> MemoryEdit:
    """Return the end of a value for the sake of another."""
    return MemoryEdit(memory_id=memory_id, changes=MemoryChanges(at=START, valid_to=START, superseded_by=by, **more))


class PlanConformance:
    """Check what a store promises about saving memories as planned."""

    async def test_a_plan_adds_and_edits_together(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Lives in Bergen"),))
        saved = await store.save_memories(ALICE, plan(memory("k2", "Lives in Oslo"), edits=(superseded("k1", "k2"),)))
        assert (ids_of(saved.created), ids_of(saved.changed), saved.skipped) == (["k2"], ["k1"], ())
        assert await listed(store) == ["k2"]
        assert (await store.get_memory(ALICE, "k1")).superseded_by == "k2"
        assert saved.revision == await revision(store)
        assert await store.save_memories(ALICE, plan()) == SavedMemories(revision=saved.revision)

    async def test_a_value_may_come_back_in_the_plan_that_ends_it(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Lives in Bergen"),))
        back = plan(
            memory("k2", "Lives in Oslo", valid_to=START),
            memory("k3", "Lives in Bergen"),
            edits=(superseded("k1", "k2"),),
        )
        assert ids_of((await store.save_memories(ALICE, back)).created) == ["k2", "k3"]
        assert await listed(store) == ["k3"]

    async def test_a_plan_for_memories_that_changed_since_saves_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.add_memories(ALICE, (memory("k1"),))
        planned_for = await revision(store)
        await store.add_memories(ALICE, (memory("k2"),))
        before = await dump(store, ALICE)
        edits = (superseded("k1", "k3"),)
        with raises(ConflictError):
            await store.save_memories(ALICE, plan(memory("k3"), edits=edits, memory_revision=planned_for))
        with raises(ConflictError):
            result = extraction(0, 1, new=(memory("k3"),), edits=edits, memory_revision=planned_for)
            await store.save_extraction(ALICE, result)
        assert await dump(store, ALICE) == before
        again = plan(memory("k3"), edits=edits, memory_revision=await revision(store))
        assert ids_of((await store.save_memories(ALICE, again)).created) == ["k3"]

    async def test_the_first_plan_of_a_user_is_for_revision_zero(self, store: Store) -> None:
        assert await revision(store) == 0
        saved = await store.save_memories(ALICE, plan(memory("k1"), memory_revision=0))
        assert ids_of(saved.created) == ["k1"]

    async def test_a_plan_with_a_wrong_edit_saves_nothing(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        before = await dump(store, ALICE)
        with raises(MemoryNotFoundError):
            await store.save_memories(ALICE, plan(memory("k2"), edits=(superseded("k1", "k2"), superseded("no", "k2"))))
        with raises(StaleVersionError):
            stale = superseded("k1", "k2", expected_version=7)
            await store.save_memories(ALICE, plan(memory("k2"), edits=(stale,)))
        assert await dump(store, ALICE) == before

    async def test_no_value_ends_for_a_successor_that_is_refused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.add_memories(ALICE, (memory("k1", "Lives in Bergen"), memory("k0", "Lives in Oslo")))
        await store.erase_memory(ALICE, "k0", erasure("r1"))
        await store.erase_message(ALICE, "c1", "m1", erasure("r2"))
        erased = memory("k2", "lives in OSLO", origin="user")
        cited = memory("k3", "Lives in Rome", origin="user", sources=(Source("c1", "m1"),))
        for refused in (erased, cited):
            edits = (superseded("k1", refused.id),)
            saved = await store.save_memories(ALICE, plan(refused, edits=edits))
            assert (saved.refused, saved.skipped, saved.changed) == ((refused.id,), ("k1",), ())
        saved = await store.save_extraction(ALICE, extraction(0, 1, new=(erased,), edits=(superseded("k1", "k2"),)))
        assert saved.skipped == ("k1",)
        assert await listed(store) == ["k1"]

    async def test_no_value_ends_for_a_successor_that_was_deleted(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"), memory("k2")))
        await store.change_memory(ALICE, "k2", MemoryChanges(at=START, deleted_at=START))
        saved = await store.save_memories(ALICE, plan(memory("k2"), edits=(superseded("k1", "k2"),)))
        assert saved.skipped == ("k1",)
        assert await listed(store) == ["k1"]

    async def test_the_stored_twin_of_a_new_memory_takes_its_place(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Lives in Bergen"), memory("twin", "Lives in Oslo")))
        saved = await store.save_memories(ALICE, plan(memory("k2", "lives in oslo"), edits=(superseded("k1", "k2"),)))
        assert (ids_of(saved.duplicates), saved.changed[0].superseded_by) == (["twin"], "twin")
        assert saved.changed == (await store.get_memory(ALICE, "k1"),)
        assert await listed(store) == ["twin"]
