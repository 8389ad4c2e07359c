"""Callers at the same moment: each write happens once, as a whole, one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from recollect.domain.conversation import ConversationChanges, ConversationQuery
from recollect.domain.memory import Extraction, MemoryChanges, MemoryQuery
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery
from recollect.errors import ConflictError, ErasedError, JobNotFoundError, RequestInFlightError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.samples import (
    ALICE,
    BOB,
    answer,
    append,
    batch,
    claims,
    conversation,
    erasure,
    ids_of,
    job,
    memory,
    note,
    start,
    summary,
    turn,
)

#: How many callers there are at once.
CALLERS = 50

T = TypeVar("T")


async def together(calls: Iterable[Awaitable[T]], *expected: type[Exception]) -> list[T]:
    """Make all calls at once; return the results of those that were not refused as expected."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    results: list[T] = []
    for one in ended:
        if not isinstance(one, BaseException):
            results.append(one)
        elif not isinstance(one, expected):
            raise one
    return results


class ParallelMemoryConformance:
    """Check what a store promises about memories and notes written at the same moment."""

    async def test_identical_memories_at_once_become_one(self, store: Store) -> None:
        adds = [store.add_memories(ALICE, (memory(f"k{number}", "Likes tea"),)) for number in range(CALLERS)]
        saved = await together(adds)
        assert sum(len(one.created) for one in saved) == 1
        assert sum(len(one.duplicates) for one in saved) == CALLERS - 1
        (kept,) = (await store.list_memories(ALICE, MemoryQuery())).items
        assert {one.id for result in saved for one in (*result.created, *result.duplicates)} == {kept.id}

    async def test_memories_of_two_users_at_once_do_not_meet(self, store: Store) -> None:
        adds = [
            store.add_memories(scope, (memory(f"k{number}", "Likes tea"),))
            for number in range(CALLERS // 2)
            for scope in (ALICE, BOB)
        ]
        saved = await together(adds)
        assert sum(len(one.created) for one in saved) == 2

    async def test_changes_into_one_statement_at_once_leave_one(self, store: Store) -> None:
        await store.add_memories(ALICE, tuple(memory(f"k{number}") for number in range(10)))
        same = MemoryChanges(at=START, content="Likes tea")
        changed = await together(
            (store.change_memory(ALICE, f"k{number}", same) for number in range(10)), ConflictError
        )
        assert len(changed) == 1

    async def test_one_expected_version_is_changed_once(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        changes = [MemoryChanges(at=START, content=f"text {n}", expected_version=1) for n in range(CALLERS)]
        changed = await together((store.change_memory(ALICE, "k1", one) for one in changes), StaleVersionError)
        assert len(changed) == 1
        assert (await store.get_memory(ALICE, "k1")) == changed[0]
        assert len(await store.memory_history(ALICE, "k1")) == 1

    async def test_note_appends_at_once_all_survive(self, store: Store) -> None:
        lines = [f"line {number}" for number in range(CALLERS)]
        changed = await together(store.change_note(ALICE, note("append", line)) for line in lines)
        written = await store.get_note(ALICE)
        assert sorted(written.notes.split("\n")) == sorted(lines)
        assert sorted(one.version for one in changed) == list(range(1, CALLERS + 1))
        assert len(await store.note_history(ALICE, NoteHistoryQuery(limit=1000))) == CALLERS

    async def test_edits_of_different_sections_at_once_all_survive(self, store: Store) -> None:
        sections = [f"Section {number}" for number in range(CALLERS // 2)]
        empty = "".join(f"## {name}\nempty\n" for name in (*sections, "End"))
        await store.change_note(ALICE, note("overwrite", empty))
        edits = [note("replace_section_by_header", f"text of {name}", section_header=name) for name in sections]
        added = [note("prepend", f"line {number}") for number in range(CALLERS // 2)]
        await together(store.change_note(ALICE, change) for pair in zip(edits, added, strict=True) for change in pair)
        written = (await store.get_note(ALICE)).notes
        for number, name in enumerate(sections):
            assert f"## {name}\ntext of {name}\n" in written
            assert f"line {number}\n" in written

    async def test_one_expected_version_of_a_note_is_changed_once(self, store: Store) -> None:
        changes = [note("overwrite", f"text {number}", expected_version=0) for number in range(CALLERS)]
        changed = await together((store.change_note(ALICE, one) for one in changes), StaleVersionError)
        assert [one.version for one in changed] == [1]


class ParallelConversationConformance:
    """Check what a store promises about conversations written at the same moment."""

    async def test_appends_at_once_make_one_gap_free_order_of_unsplit_appends(self, store: Store) -> None:
        appends = [append("c1", *(f"m{number}-{part}" for part in range(3))) for number in range(CALLERS)]
        await together(store.append(ALICE, one) for one in appends)
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=1000))
        assert [one.seq for one in page.messages] == list(range(1, 3 * CALLERS + 1))
        for first in range(0, 3 * CALLERS, 3):
            names = ids_of(page.messages[first : first + 3])
            number = names[0].split("-")[0]
            assert names == [f"{number}-{part}" for part in range(3)]
        parents = [one.parent_id for one in page.messages]
        assert parents == [None, *ids_of(page.messages[:-1])]

    async def test_one_append_at_once_is_stored_once(self, store: Store) -> None:
        one = append("c1", "m1", "m2", jobs=(job("j1"),))
        appended = await together(store.append(ALICE, one) for _ in range(CALLERS))
        assert Counter(len(result.messages) for result in appended) == {2: 1, 0: CALLERS - 1}
        assert (await store.get_conversation(ALICE, "c1")).message_count == 2

    async def test_one_turn_at_once_is_recorded_once(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        record = turn("t1", append("c1", "m1", "m2"), memory_ids=("k1",), answer=answer())
        await together(store.record_turn(ALICE, record) for _ in range(CALLERS))
        assert len(await store.list_turns(ALICE, "c1")) == 1
        assert (await store.get_memory(ALICE, "k1")).access_count == 1

    async def test_one_batch_at_once_gets_one_answer(self, store: Store) -> None:
        answers = await together(store.archive(ALICE, batch("b1", "c1", "m1", "m2")) for _ in range(CALLERS))
        assert all(one == answers[0] for one in answers)
        assert answers[0].archived == 2

    async def test_one_conversation_is_current_for_all_callers(self, store: Store) -> None:
        found = await together(
            store.current_conversation(ALICE, conversation(f"c{number}")) for number in range(CALLERS)
        )
        assert len({one.id for one in found}) == 1
        assert len((await store.list_conversations(ALICE, ConversationQuery())).items) == 1

    async def test_one_expected_version_of_a_conversation_is_changed_once(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1"))
        changes = [ConversationChanges(at=START, title=f"title {n}", expected_version=1) for n in range(CALLERS)]
        changed = await together((store.change_conversation(ALICE, "c1", one) for one in changes), StaleVersionError)
        assert len(changed) == 1

    async def test_summaries_of_one_range_at_once_leave_one(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        puts = [store.put_summary(ALICE, summary(f"s{number}", "m1", "m2")) for number in range(CALLERS)]
        assert len(await together(puts, ConflictError)) == 1
        assert len(await store.active_summaries(ALICE, "c1")) == 1

    async def test_an_append_beside_an_erasure_is_whole_or_refused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m0"))
        appends = [store.append(ALICE, append("c1", f"m{number}a", f"m{number}b")) for number in range(1, CALLERS)]
        erase = store.erase_conversation(ALICE, "c1", erasure())
        ended = await asyncio.gather(*appends[:25], erase, *appends[25:], return_exceptions=True)
        assert all(isinstance(one, ErasedError) for one in ended if isinstance(one, BaseException))
        assert (await store.list_conversations(ALICE, ConversationQuery())).items == ()


class ParallelWorkConformance:
    """Check what a store promises about requests and jobs taken at the same moment."""

    async def test_one_caller_of_a_key_does_the_work(self, store: Store) -> None:
        begun = await together((store.begin_request(ALICE, start()) for _ in range(CALLERS)), RequestInFlightError)
        assert begun == [None]

    async def test_each_job_is_taken_by_one_worker(self, store: Store) -> None:
        for number in range(CALLERS):
            await store.enqueue_job(ALICE if number % 2 else BOB, job(f"j{number}"), START)
        taken = await together(store.claim_jobs(claims(f"w{number}", limit=7)) for number in range(CALLERS))
        counted = Counter(one.job.id for worker in taken for one in worker)
        left = await store.claim_jobs(claims())
        counted.update(one.job.id for one in left)
        assert counted == {f"j{number}": 1 for number in range(CALLERS)}

    async def test_one_key_at_once_queues_one_job(self, store: Store) -> None:
        queued = await together(
            store.enqueue_job(ALICE, job(f"j{number}", key="k"), START) for number in range(CALLERS)
        )
        assert len({one.id for one in queued}) == 1
        assert len(await store.claim_jobs(claims())) == 1

    async def test_a_job_ends_once(self, store: Store) -> None:
        await store.enqueue_job(ALICE, job("j1"), START)
        (taken,) = await store.claim_jobs(claims())
        ended = await together(
            (store.complete_job(ALICE, taken.claim, START) for _ in range(CALLERS)), JobNotFoundError
        )
        assert len(ended) == 1

    async def test_one_extraction_at_once_is_saved_once(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        results = [
            Extraction(conversation_id="c1", from_seq=0, to_seq=2, at=START, new=(memory(f"k{number}"),))
            for number in range(CALLERS)
        ]
        saved = await together((store.save_extraction(ALICE, one) for one in results), ConflictError)
        assert [len(one.created) for one in saved] == [1]
        assert len((await store.list_memories(ALICE, MemoryQuery())).items) == 1
