"""Extractions: a range of a conversation is saved once, with its job, or not at all."""

from __future__ import annotations

from typing import Any

from recollect.domain.job import Claim
from recollect.domain.memory import Extraction, MemoryChanges, MemoryEdit, Source
from recollect.domain.window import Unextracted
from recollect.errors import (
    ConflictError,
    ConversationNotFoundError,
    ErasedError,
    JobNotFoundError,
    MemoryNotFoundError,
)
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, append, claims, erasure, ids_of, job, memory, message, summary
from recollect.testing.store.branches import branched, move_head
from recollect.testing.store.dump import dump
from recollect.testing.store.memories import listed


def extraction(from_seq: int, to_seq: int, **more: Any) -> Extraction:
    """Return what was extracted from a range of conversation c1."""
    return Extraction(conversation_id="c1", from_seq=from_seq, to_seq=to_seq, at=START, **more)


def edit(memory_id: str, **changes: Any) -> MemoryEdit:
    """Return a change of a stored memory."""
    return MemoryEdit(memory_id=memory_id, changes=MemoryChanges(at=START, **changes))


async def claimed(store: Store) -> Claim:
    """Store four messages with the job to extract them, and take it."""
    await store.append(ALICE, append("c1", "m1", "m2", "m3", "m4", jobs=(job("j1", conversation_id="c1"),)))
    (taken,) = await store.claim_jobs(claims())
    return taken.claim


def ranges(unread: Unextracted) -> tuple[list[str], list[str], int, int, bool]:
    """Return what is to be read, what helps to understand it, and where that begins and ends."""
    return ids_of(unread.messages), ids_of(unread.context), unread.from_seq, unread.to_seq, unread.more


class ExtractionConformance:
    """Check what a store promises about saving what was extracted."""

    async def test_an_extraction_saves_memories_moves_its_mark_and_ends_its_job(self, store: Store) -> None:
        claim = await claimed(store)
        await store.add_memories(ALICE, (memory("k1", "Likes tea"),))
        new = (memory("k2"), memory("k3", "likes tea"))
        result = extraction(0, 2, new=new, edits=(edit("k1", importance=0.9),), claim=claim)
        saved = await store.save_extraction(ALICE, result)
        assert (ids_of(saved.created), ids_of(saved.changed), ids_of(saved.duplicates)) == (["k2"], ["k1"], ["k1"])
        assert (await store.get_conversation(ALICE, "c1")).extracted_seq == 2
        assert (await store.get_job(ALICE, "j1")).state == "done"
        assert (await store.get_memory(ALICE, "k1")).importance == 0.9

    async def test_a_range_is_extracted_once(self, store: Store) -> None:
        await claimed(store)
        await store.save_extraction(ALICE, extraction(0, 2, new=(memory("k1"),)))
        before = await dump(store, ALICE)
        for result in (extraction(0, 2, new=(memory("k2"),)), extraction(1, 4), extraction(3, 4)):
            with raises(ConflictError):
                await store.save_extraction(ALICE, result)
        assert await dump(store, ALICE) == before
        await store.save_extraction(ALICE, extraction(2, 4, new=(memory("k2"),)))

    async def test_a_range_beyond_the_conversation_is_refused(self, store: Store) -> None:
        await claimed(store)
        with raises(ConflictError):
            await store.save_extraction(ALICE, extraction(0, 5, new=(memory("k1"),)))
        with raises(ConversationNotFoundError):
            missing = Extraction(conversation_id="nothing", from_seq=0, to_seq=0, at=START)
            await store.save_extraction(ALICE, missing)
        assert await listed(store) == []

    async def test_an_extraction_whose_job_was_lost_saves_nothing(self, store: Store) -> None:
        claim = await claimed(store)
        await store.complete_job(ALICE, claim, START)
        before = await dump(store, ALICE)
        for lost in (claim, Claim("j1", "w2", 1), Claim("nothing", "w1", 1)):
            with raises(JobNotFoundError):
                await store.save_extraction(ALICE, extraction(0, 2, new=(memory("k1"),), claim=lost))
        assert await dump(store, ALICE) == before

    async def test_an_extraction_with_a_wrong_edit_saves_nothing(self, store: Store) -> None:
        claim = await claimed(store)
        await store.add_memories(ALICE, (memory("k1"),))
        before = await dump(store, ALICE)
        edits = (edit("k1", importance=0.9), edit("nothing", importance=0.9))
        with raises(MemoryNotFoundError):
            await store.save_extraction(ALICE, extraction(0, 2, new=(memory("k2"),), edits=edits, claim=claim))
        assert await dump(store, ALICE) == before

    async def test_what_was_erased_is_not_extracted_again(self, store: Store) -> None:
        await claimed(store)
        await store.add_memories(ALICE, (memory("k1", "Likes tea", origin="user"),))
        await store.erase_memory(ALICE, "k1", erasure())
        learned = (memory("k2", "likes TEA", origin="user"), memory("k3", "Likes coffee", origin="user"))
        saved = await store.save_extraction(ALICE, extraction(0, 4, new=learned))
        assert (ids_of(saved.created), saved.refused) == (["k3"], ("k2",))

    async def test_what_cites_an_erased_message_is_not_saved(self, store: Store) -> None:
        await claimed(store)
        await store.add_memories(ALICE, (memory("k1"),))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        gone = (Source("c1", "m1"),)
        saved = await store.save_extraction(ALICE, extraction(0, 2, new=(memory("k2", origin="user", sources=gone),)))
        assert (saved.created, saved.refused) == ((), ("k2",))
        with raises(ErasedError):
            await store.save_extraction(ALICE, extraction(2, 4, edits=(edit("k1", more_sources=gone),)))
        assert (await store.get_memory(ALICE, "k1")).sources == ()

    async def test_what_was_read_and_erased_meanwhile_is_not_saved(self, store: Store) -> None:
        claim = await claimed(store)
        await store.erase_message(ALICE, "c1", "m1", erasure())
        before = await dump(store, ALICE)
        read = extraction(0, 4, new=(memory("k1", sources=(Source("c1", "m2"),)),), claim=claim, read=("m1", "m2"))
        with raises(ErasedError):
            await store.save_extraction(ALICE, read)
        assert await dump(store, ALICE) == before
        await store.save_extraction(ALICE, extraction(0, 4, new=read.new, claim=claim, read=("m2", "m3", "m4")))
        assert await listed(store) == ["k1"]

    async def test_a_conversation_that_was_cleared_and_filled_again_is_not_taken_for_the_old_one(
        self, store: Store
    ) -> None:
        await claimed(store)
        await store.clear_conversation(ALICE, "c1", erasure())
        await store.append(ALICE, append("c1", "n1", "n2", "n3", "n4"))
        with raises(ErasedError):
            await store.save_extraction(ALICE, extraction(0, 4, new=(memory("k1"),), read=("m1", "m2", "m3", "m4")))
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 9)) == (["n1", "n2", "n3", "n4"], [], 0, 4, False)

    async def test_what_is_to_be_learned_from_comes_oldest_first_with_what_was_before_it(self, store: Store) -> None:
        await claimed(store)
        every = ["m1", "m2", "m3", "m4"]
        assert ranges(await store.list_unextracted(ALICE, "c1", 4, 2)) == (every, [], 0, 4, False)
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 2)) == (every[:3], [], 0, 3, True)
        await store.save_extraction(ALICE, extraction(0, 3))
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 2)) == (["m4"], ["m2", "m3"], 3, 4, False)
        await store.save_extraction(ALICE, extraction(3, 4))
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 1)) == ([], ["m4"], 4, 4, False)
        for read in (store.list_unextracted(BOB, "c1", 3, 1), store.list_unextracted(ALICE, "c2", 3, 1)):
            with raises(ConversationNotFoundError):
                await read

    async def test_what_was_erased_is_not_to_be_learned_from(self, store: Store) -> None:
        await claimed(store)
        await store.save_extraction(ALICE, extraction(0, 2))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        await store.erase_message(ALICE, "c1", "m4", erasure())
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 9)) == (["m3"], ["m2"], 2, 4, False)
        await store.erase_message(ALICE, "c1", "m3", erasure())
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 9)) == ([], ["m2"], 2, 4, False)

    async def test_a_summary_is_nothing_to_learn_from_and_takes_nothing_away(self, store: Store) -> None:
        await claimed(store)
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 9))[0] == ["m1", "m2", "m3", "m4"]

    async def test_only_the_branch_that_leads_to_the_head_is_learned_from(self, store: Store) -> None:
        await branched(store)
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 2)) == (["m1", "m2", "m5"], [], 0, 5, True)
        await move_head(store, "m4")
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 2)) == (["m1", "m2", "m3"], [], 0, 3, True)
        await store.save_extraction(ALICE, extraction(0, 3))
        assert ranges(await store.list_unextracted(ALICE, "c1", 3, 2)) == (["m4"], ["m2", "m3"], 3, 7, False)
        await move_head(store, "m7")
        assert ranges(await store.list_unextracted(ALICE, "c1", 2, 2)) == (["m5", "m6"], ["m1", "m2"], 3, 6, True)
        await store.append(ALICE, append("c1", message("m8", parent_id="m4")))
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 1)) == (["m4", "m8"], ["m3"], 3, 8, False)
        await move_head(store, None)
        assert ranges(await store.list_unextracted(ALICE, "c1", 9, 9)) == ([], [], 3, 8, False)
