"""Extractions: a range of a conversation is saved once, with its job, or not at all."""

from __future__ import annotations

from typing import Any

from recollect.domain.job import Claim
from recollect.domain.memory import Extraction, MemoryChanges, MemoryEdit, Source
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
from recollect.testing.samples import ALICE, append, claims, erasure, ids_of, job, memory
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
