"""Counting what is kept of a user: exactly, day by day, and of nobody else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from recollect.domain.conversation import ConversationChanges
from recollect.domain.holdings import Count, Holdings, HoldingsQuery, MemoryDay
from recollect.domain.job import JobFailure
from recollect.domain.memory import MemoryChanges
from recollect.errors import InvalidInputError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import (
    ALICE,
    BOB,
    STRANGER,
    after,
    append,
    claims,
    conversation,
    erasure,
    job,
    memory,
    message,
    note,
)

#: The last microsecond of a day, and the day.
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
BEFORE = MIDNIGHT - timedelta(microseconds=1)


async def held(store: Store, **more: Any) -> Holdings:
    """Count what is kept of Alice."""
    given: dict[str, Any] = {"now": START, "days": 1}
    return await store.count_holdings(ALICE, HoldingsQuery(**(given | more)))


async def change(store: Store, memory_id: str, **changes: Any) -> None:
    """Change a memory of Alice's."""
    await store.change_memory(ALICE, memory_id, MemoryChanges(**({"at": START} | changes)))


class HoldingsConformance:
    """Check what a store promises about counts."""

    async def test_nothing_is_counted_before_anything_is_kept(self, store: Store) -> None:
        found = await held(store, days=2)
        assert (found.conversations, found.archived_conversations, found.messages) == (0, 0, 0)
        assert (set(found.memories.values()), set(found.jobs.values())) == ({0}, {0})
        assert (found.by_type, found.by_category, found.by_origin) == ((), (), ())
        assert (found.texts.messages, found.texts.memories, found.texts.notes) == (0, 0, 0)
        today = START.date()
        assert found.days == (MemoryDay(day=today - timedelta(days=1)), MemoryDay(day=today))

    async def test_conversations_and_messages_of_all_branches_are_counted(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", message("m3", parent_id="m1")))
        await store.append(ALICE, append("c2", "m1"))
        await store.create_conversation(ALICE, conversation("c3"))
        await store.change_conversation(ALICE, "c2", ConversationChanges(at=START, is_archived=True))
        found = await held(store)
        assert (found.conversations, found.archived_conversations, found.messages) == (3, 1, 4)

    async def test_each_memory_is_counted_in_one_state(self, store: Store) -> None:
        await store.add_memories(ALICE, tuple(memory(f"k{number}") for number in range(6)))
        await store.add_memories(ALICE, (memory("waiting", trust="pending"), memory("no", trust="rejected")))
        await store.add_memories(ALICE, (memory("over", valid_to=after(-5)),))
        await change(store, "k1", is_archived=True)
        await change(store, "k2", superseded_by="k3", valid_to=START, is_archived=True)
        await change(store, "k4", deleted_at=START)
        await change(store, "waiting", is_archived=True)
        counts = {"active": 3, "archived": 1, "pending": 1, "rejected": 1, "superseded": 2}
        assert (await held(store)).memories == counts

    async def test_active_memories_are_counted_by_type_category_and_origin(self, store: Store) -> None:
        for number, category in enumerate(("tea", "tea", "work", None, "Tea")):
            kind = "preference" if category == "tea" else "fact"
            new = memory(f"k{number}", memory_type=kind, category=category, origin="user" if number else "manual")
            await store.add_memories(ALICE, (new,))
        await store.add_memories(ALICE, (memory("old", category="past", valid_to=START),))
        found = await held(store)
        assert found.by_type == (Count("fact", 3), Count("preference", 2))
        assert found.by_category == (Count("tea", 2), Count("Tea", 1), Count("work", 1))
        assert found.by_origin == (Count("user", 4), Count("manual", 1))
        assert (await held(store, categories=1)).by_category == (Count("tea", 2),)

    async def test_what_became_of_memories_is_told_for_each_day_in_utc(self, store: Store) -> None:
        for number, at in enumerate((BEFORE, MIDNIGHT, MIDNIGHT + timedelta(hours=9), MIDNIGHT + timedelta(days=5))):
            await store.add_memories(ALICE, (memory(f"k{number}", at=at),))
        await change(store, "k0", at=MIDNIGHT, superseded_by="k1", valid_to=BEFORE - timedelta(days=1))
        await change(store, "k2", at=BEFORE, superseded_by="k1")
        await store.erase_memory(ALICE, "k3", erasure("r1", at=MIDNIGHT))
        days = (await held(store, now=MIDNIGHT, days=4)).days
        assert [one.day for one in days] == [date(2026, 2, 27), date(2026, 2, 28), date(2026, 3, 1), date(2026, 3, 2)]
        assert [one.learned for one in days] == [0, 0, 1, 2]
        assert [one.superseded for one in days] == [0, 1, 1, 0]
        assert [one.forgotten for one in days] == [0, 0, 0, 1]

    async def test_memories_that_went_with_a_conversation_are_forgotten_too(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.add_memories(ALICE, (memory("k1", conversation_id="c1"), memory("k2", conversation_id="c1")))
        await store.erase_conversation(ALICE, "c1", erasure())
        (today,) = (await held(store)).days
        assert (today.learned, today.forgotten) == (2, 2)

    async def test_days_at_both_ends_of_the_calendar_can_be_asked_for(self, store: Store) -> None:
        ends = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
        for number, at in enumerate(ends):
            await store.add_memories(ALICE, (memory(f"k{number}", at=at),))
            days = (await held(store, now=at, days=3)).days
            assert (days[-1].day, days[-1].learned, len(days)) == (at.date(), 1, 1 if number == 0 else 3)

    async def test_texts_are_measured_in_utf_8(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "tea"), message("m2", "茶🍵")))
        await store.add_memories(ALICE, (memory("k1", "Likes té"), memory("k2", "Gone")))
        await change(store, "k2", deleted_at=START)
        await store.change_note(ALICE, note("overwrite", "Größe"))
        texts = (await held(store)).texts
        assert (texts.messages, texts.memories, texts.notes) == (10, 9, 7)

    async def test_messages_that_are_too_many_are_not_measured(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        assert (await held(store, measured=1)).texts.messages is None
        assert (await held(store, measured=2)).texts.messages == 2 * len("words of m1")

    async def test_jobs_are_counted_by_state(self, store: Store) -> None:
        for name in ("a", "b", "c", "d", "e"):
            await store.enqueue_job(ALICE, job(name), after(0))
        claimed = {one.job.id: one.claim for one in await store.claim_jobs(claims(limit=3))}
        dead, done, _ = claimed.values()
        await store.fail_job(ALICE, dead, JobFailure(at=after(1), error="broken", retry_at=None))
        await store.complete_job(ALICE, done, after(1))
        assert (await held(store)).jobs == {"queued": 2, "running": 1, "done": 1, "dead": 1}

    async def test_nothing_of_another_is_in_the_counts(self, store: Store) -> None:
        empty = await held(store)
        for scope in (BOB, STRANGER):
            await store.append(scope, append("c1", "m1", jobs=(job("j1"),)))
            await store.add_memories(scope, (memory("k1", category="tea"), memory("k2")))
            await store.change_note(scope, note("overwrite", "text"))
            await store.erase_memory(scope, "k2", erasure())
        assert await held(store) == empty

    async def test_the_size_of_the_database_is_told_only_if_it_is_asked_for(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        assert (await held(store)).database_bytes is None
        size = (await held(store, database=True)).database_bytes
        assert size is None or size > 0

    async def test_a_count_of_no_days_or_of_too_many_is_refused(self, store: Store) -> None:
        for days in (0, 367):
            with raises(InvalidInputError):
                await held(store, days=days)
