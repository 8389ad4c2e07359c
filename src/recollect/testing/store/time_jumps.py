"""A clock that jumps: order is kept, and nothing is deleted that nobody asked to delete."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationChanges, ConversationQuery
from recollect.domain.job import JobFailure
from recollect.domain.memory import MemoryChanges, MemoryQuery
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery
from recollect.ports.store import Store
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import (
    ALICE,
    after,
    append,
    batch,
    claims,
    conversation,
    erasure,
    ids_of,
    job,
    memory,
    message,
    note,
    summary,
    turn,
)
from recollect.testing.store.dump import dump
from recollect.testing.store.messages import page_ids

#: Two hours back, a year ahead, and back again.
JUMPS = ({"seconds": 1}, {"hours": -2}, {"seconds": 1}, {"days": 365}, {"days": -366}, {"seconds": 1})


class TimeConformance:
    """Check that a store does not trust the clock with order or with deletion."""

    async def test_messages_keep_their_order_whatever_the_clock_says(self, store: Store) -> None:
        clock = FakeClock()
        for number, jump in enumerate(JUMPS):
            at = clock.advance(**jump)
            said = [message(f"m{number}-{part}", created_at=at) for part in range(2)]
            await store.record_turn(ALICE, turn(f"t{number}", append("c1", *said, at=at)))
        names = [f"m{number}-{part}" for number in range(len(JUMPS)) for part in range(2)]
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(page.messages) == names
        assert [one.seq for one in page.messages] == list(range(1, len(names) + 1))
        assert ids_of(await store.list_turns(ALICE, "c1")) == [f"t{number}" for number in range(len(JUMPS))]

    async def test_last_activity_never_goes_back(self, store: Store) -> None:
        clock = FakeClock()
        newest = clock()
        for number, jump in enumerate(JUMPS):
            newest = max(newest, clock.advance(**jump))
            appended = await store.append(ALICE, append("c1", f"m{number}", at=clock()))
            assert appended.conversation.last_activity_at == newest
            assert appended.conversation.updated_at == newest

    async def test_lists_keep_their_order_whatever_the_clock_says(self, store: Store) -> None:
        clock = FakeClock()
        numbers = range(len(JUMPS))
        for number, jump in zip(numbers, JUMPS, strict=True):
            at = clock.advance(**jump)
            await store.add_memories(ALICE, (memory(f"k{number}", at=at),))
            await store.change_note(ALICE, note("overwrite", f"text {number}", at=at))
            await store.change_memory(ALICE, "k0", MemoryChanges(at=at, content=f"text {number}"))
        newest_first = [f"k{number}" for number in reversed(numbers)]
        assert ids_of((await store.list_memories(ALICE, MemoryQuery())).items) == newest_first
        assert (await store.get_note(ALICE)).notes == f"text {numbers[-1]}"
        versions = await store.note_history(ALICE, NoteHistoryQuery())
        assert [one.version for one in versions] == [number + 1 for number in reversed(numbers)]
        history = await store.memory_history(ALICE, "k0")
        assert [was.memory.version for was in history] == [number + 1 for number in reversed(numbers)]
        trail = await store.list_audit(ALICE, AuditQuery(entity_id="k0"))
        assert [entry.action for entry in trail] == ["change"] * len(JUMPS) + ["create"]

    async def test_a_clock_a_year_ahead_deletes_nothing(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1", "m2", jobs=(job("j1"),))))
        await store.add_memories(ALICE, (memory("k1"),))
        await store.change_note(ALICE, note("append", "one"))
        future = START + timedelta(days=365)
        await store.mark_inactive(ALICE, future, 10)
        for _ in range(9):
            future += timedelta(days=1)
            await store.claim_jobs(claims(now=future))
        assert await page_ids(store, "c1") == ["m1", "m2"]
        assert (await store.get_memory(ALICE, "k1")).id == "k1"
        assert (await store.get_note(ALICE)).notes == "one"
        assert (await store.get_job(ALICE, "j1")).state == "dead"
        assert (await store.retry_job(ALICE, "j1", START)).state == "queued"

    async def test_a_clock_that_goes_back_takes_no_job_from_its_worker(self, store: Store) -> None:
        await store.enqueue_job(ALICE, job("j1"), START)
        (taken,) = await store.claim_jobs(claims(now=after(7200)))
        assert await store.claim_jobs(claims("w2", now=after(0))) == ()
        failure = JobFailure(at=after(0), error="down", retry_at=after(1))
        assert (await store.fail_job(ALICE, taken.claim, failure)).state == "queued"

    async def test_times_are_kept_to_the_microsecond_and_given_in_utc(self, store: Store) -> None:
        kathmandu = timezone(timedelta(hours=5, minutes=45))
        local = datetime(2026, 1, 1, 12, 30, 15, 123_456, tzinfo=kathmandu)
        results = await everything_at(store, local)
        found = [time for result in (*results, await dump(store, ALICE)) for time in times(result)]
        assert len(found) > 50
        assert all(time.utcoffset() == timedelta(0) for time in found)
        assert {time for time in found if abs(time - local) < timedelta(seconds=1)} == {local}

    async def test_the_ends_of_the_calendar_can_be_kept(self, store: Store) -> None:
        for number, end in enumerate((datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))):
            said = message("m1", created_at=end)
            await store.append(ALICE, append(f"c{number}", said, at=end))
            assert (await store.get_message(ALICE, f"c{number}", "m1")).created_at == end
        assert ids_of((await store.list_conversations(ALICE, ConversationQuery())).items) == ["c1", "c0"]


async def everything_at(store: Store, at: datetime) -> list[Any]:
    """Write something of every kind at one time and return what the writes returned."""
    said = message("m1", created_at=at)
    changes = MemoryChanges(at=at, valid_to=at, deleted_at=None)
    results: list[Any] = [
        await store.create_conversation(ALICE, conversation("c0", at=at)),
        await store.change_conversation(ALICE, "c0", ConversationChanges(at=at, title="New")),
        await store.record_turn(ALICE, turn("t1", append("c1", said, at=at))),
        await store.archive(ALICE, batch("b1", "c1", message("m2", created_at=at), "m3", at=at)),
        await store.put_summary(ALICE, summary("s1", "m1", at=at)),
        await store.add_memories(ALICE, (memory("k1", at=at, valid_from=at),)),
        await store.change_memory(ALICE, "k1", changes),
        await store.change_note(ALICE, note("append", "one", at=at)),
        await store.change_note(ALICE, note("append", "two", at=at)),
        await store.undo_note(ALICE, at),
        await store.enqueue_job(ALICE, job("j1", run_at=at), at),
        await store.claim_jobs(claims(now=at, lease=timedelta(0))),
        await store.enqueue_job(ALICE, job("j2", key="k", run_at=at), at),
        await store.enqueue_job(ALICE, job("j3", key="k", run_at=at), at),
        await store.erase_message(ALICE, "c1", "m2", erasure(at=at)),
    ]
    (taken,) = await store.claim_jobs(claims(now=at, lease=timedelta(0), kinds=("extract",), limit=1))
    results.append(await store.heartbeat_job(ALICE, taken.claim, at))
    results.append(await store.fail_job(ALICE, taken.claim, JobFailure(at=at, error="down", retry_at=at)))
    return results


def times(value: object) -> list[datetime]:
    """Find every time in an answer."""
    if isinstance(value, datetime):
        return [value]
    if isinstance(value, msgspec.Struct):
        value = [getattr(value, name) for name in value.__struct_fields__]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [time for part in value for time in times(part)]
    return []
