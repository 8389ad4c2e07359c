"""Erasing: what is gone with what, what stays, and that nothing brings it back."""

from __future__ import annotations

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationChanges
from recollect.domain.erasure import Erased
from recollect.domain.job import JobFailure
from recollect.domain.memory import NewMemory, Source
from recollect.domain.page import SearchQuery
from recollect.errors import (
    ConflictError,
    ConversationNotFoundError,
    ErasedError,
    JobNotFoundError,
    MemoryNotFoundError,
    MessageNotFoundError,
)
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import (
    ALICE,
    BOB,
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
    summary,
    turn,
)
from recollect.testing.store.dump import dump
from recollect.testing.store.memories import change, listed
from recollect.testing.store.messages import page_ids


def learned(memory_id: str, *message_ids: str, quote: str = "words") -> NewMemory:
    """Return a memory drawn from messages of conversation c1."""
    sources = tuple(Source("c1", message_id) for message_id in message_ids)
    return memory(memory_id, origin="user", sources=sources, quote=quote, conversation_id="c1")


class EraseMessageConformance:
    """Check what a store promises about erasing one message."""

    async def test_an_erased_message_is_gone_and_its_seq_stays_unused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3"))
        receipt = await store.erase_message(ALICE, "c1", "m2", erasure("r1", at=after(5)))
        assert (receipt.receipt_id, receipt.at, receipt.erased) == ("r1", after(5), Erased(messages=1))
        with raises(MessageNotFoundError):
            await store.get_message(ALICE, "c1", "m2")
        assert await store.search_messages(ALICE, SearchQuery(text="m2")) == ()
        appended = await store.append(ALICE, append("c1", "m4"))
        assert appended.messages[0].seq == 4
        assert appended.conversation.message_count == 3

    async def test_the_answers_of_an_erased_message_move_up_to_its_parent(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3"))
        await store.append(ALICE, append("c1", message("m4", parent_id="m2")))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        for message_id in ("m3", "m4"):
            assert (await store.get_message(ALICE, "c1", message_id)).parent_id == "m1"
        assert await page_ids(store, "c1") == ["m1", "m4"]

    async def test_the_head_moves_up_from_an_erased_message(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        for message_id, head in (("m2", "m1"), ("m1", None)):
            await store.erase_message(ALICE, "c1", message_id, erasure())
            assert (await store.get_conversation(ALICE, "c1")).head_id == head
        appended = await store.append(ALICE, append("c1", "m3"))
        assert (appended.messages[0].seq, appended.messages[0].parent_id) == (3, None)

    async def test_an_automatic_title_goes_with_an_erased_message_and_the_title_of_a_person_stays(
        self, store: Store
    ) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        assert (await store.get_conversation(ALICE, "c1")).title is None
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, title="Plans"))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        assert (await store.get_conversation(ALICE, "c1")).title == "Plans"

    async def test_an_erased_message_is_refused_when_it_is_sent_again(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        appended = await store.append(ALICE, append("c1", "m2", "m3"))
        assert (ids_of(appended.messages), appended.refused) == (["m3"], ("m2",))
        again = await store.record_turn(ALICE, turn("t1", append("c1", "m2")))
        assert (again.messages, again.refused) == ((), ("m2",))

    async def test_the_summaries_over_an_erased_message_are_gone(self, store: Store) -> None:
        await store.append(ALICE, append("c1", *(f"m{number}" for number in range(1, 7))))
        for number in (1, 3, 5):
            await store.put_summary(ALICE, summary(f"s{number}", f"m{number}", f"m{number + 1}"))
        await store.put_summary(ALICE, summary("fold", folds=("s1", "s3")))
        receipt = await store.erase_message(ALICE, "c1", "m2", erasure())
        assert receipt.erased.summaries == 2
        assert ids_of(await store.active_summaries(ALICE, "c1")) == ["s3", "s5"]
        await store.erase_message(ALICE, "c1", "m6", erasure())
        assert (await store.get_conversation(ALICE, "c1")).summary == "text of s3"

    async def test_a_summary_of_another_branch_outlives_an_erased_message(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3"))
        await store.append(ALICE, append("c1", message("m4", parent_id="m1"), "m5"))
        await store.put_summary(ALICE, summary("old", "m1", "m2", "m3"))
        await store.put_summary(ALICE, summary("new", "m4", "m5"))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        assert ids_of(await store.active_summaries(ALICE, "c1")) == ["new"]

    async def test_the_memories_that_only_an_erased_message_bears_out_are_gone(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.add_memories(ALICE, (learned("k1", "m1"), learned("k2", "m1", "m2"), memory("by hand")))
        await change(store, "k2", importance=0.9)
        receipt = await store.erase_message(ALICE, "c1", "m1", erasure())
        assert (receipt.erased.memories, receipt.erased.memory_versions) == (1, 1)
        assert sorted(await listed(store)) == ["by hand", "k2"]
        kept = await store.get_memory(ALICE, "k2")
        assert (kept.sources, kept.quote) == ((Source("c1", "m2"),), None)
        assert await store.memory_history(ALICE, "k2") == ()

    async def test_memories_stay_if_the_erasure_says_so(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.add_memories(ALICE, (learned("k1", "m1"),))
        await store.erase_message(ALICE, "c1", "m1", erasure(memories=False))
        assert await listed(store) == ["k1"]

    async def test_a_failed_job_no_longer_quotes_what_was_erased(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", jobs=(job("j1", conversation_id="c1"),)))
        (taken,) = await store.claim_jobs(claims())
        await store.fail_job(ALICE, taken.claim, JobFailure(at=START, error="cannot read: words of m1", retry_at=None))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        assert "words" not in ((await store.get_job(ALICE, "j1")).error or "")

    async def test_erasing_what_is_missing_changes_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        before = await dump(store, ALICE)
        with raises(MessageNotFoundError):
            await store.erase_message(ALICE, "c1", "nothing", erasure())
        with raises(ConversationNotFoundError):
            await store.erase_message(ALICE, "nothing", "m1", erasure())
        with raises(ConversationNotFoundError):
            await store.erase_conversation(ALICE, "nothing", erasure())
        with raises(ConversationNotFoundError):
            await store.clear_conversation(ALICE, "nothing", erasure())
        with raises(MemoryNotFoundError):
            await store.erase_memory(ALICE, "nothing", erasure())
        assert await dump(store, ALICE) == before


class EraseConversationConformance:
    """Check what a store promises about clearing and erasing conversations."""

    async def test_a_conversation_that_was_used_is_not_erased_because_of_its_age(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", at=after(10)))
        before = await dump(store, ALICE)
        with raises(ConflictError):
            await store.erase_conversation(ALICE, "c1", erasure(idle_since=after(9)))
        assert await dump(store, ALICE) == before
        receipt = await store.erase_conversation(ALICE, "c1", erasure(idle_since=after(10)))
        assert receipt.erased.conversations == 1

    async def test_a_cleared_conversation_is_empty_and_starts_again(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1", "m2")))
        await store.put_summary(ALICE, summary("s1", "m1"))
        receipt = await store.clear_conversation(ALICE, "c1", erasure())
        assert receipt.erased == Erased(messages=2, summaries=1, turns=1)
        cleared = await store.get_conversation(ALICE, "c1")
        assert (cleared.message_count, cleared.next_seq, cleared.head_id) == (0, 1, None)
        assert (cleared.summary, cleared.title, cleared.extracted_seq) == (None, None, 0)
        assert await page_ids(store, "c1") == []
        assert await store.active_summaries(ALICE, "c1") == ()
        assert await store.list_turns(ALICE, "c1") == ()
        appended = await store.append(ALICE, append("c1", "m3"))
        assert (appended.messages[0].seq, appended.messages[0].parent_id) == (1, None)

    async def test_a_conversation_with_nothing_in_it_cannot_be_cleared(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1"))
        with raises(ConversationNotFoundError):
            await store.clear_conversation(ALICE, "c1", erasure())
        await store.append(ALICE, append("c1", "m1"))
        await store.clear_conversation(ALICE, "c1", erasure())
        with raises(ConversationNotFoundError):
            await store.clear_conversation(ALICE, "c1", erasure("r2"))

    async def test_clearing_keeps_what_a_person_chose(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        chosen = ConversationChanges(at=START, title="Mine", is_pinned=True, metadata={"k": 1})
        await store.change_conversation(ALICE, "c1", chosen)
        await store.clear_conversation(ALICE, "c1", erasure())
        cleared = await store.get_conversation(ALICE, "c1")
        assert (cleared.title, cleared.is_pinned, cleared.metadata) == ("Mine", True, {"k": 1})

    async def test_cleared_messages_are_refused_when_they_are_sent_again(self, store: Store) -> None:
        await store.archive(ALICE, batch("b1", "c1", "m1", "m2"))
        await store.clear_conversation(ALICE, "c1", erasure())
        answer = await store.archive(ALICE, batch("b1", "c1", "m1", "m2"))
        assert (answer.archived, answer.refused) == (0, 2)
        assert await page_ids(store, "c1") == []

    async def test_an_erased_conversation_is_gone_with_everything_derived(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1", jobs=(job("j1", conversation_id="c1"),))))
        await store.archive(ALICE, batch("b1", "c1", "m2"))
        await store.put_summary(ALICE, summary("s1", "m1"))
        await store.add_memories(ALICE, (learned("k1", "m1"), memory("k2", conversation_id="c1"), memory("k3")))
        receipt = await store.erase_conversation(ALICE, "c1", erasure())
        counted = Erased(conversations=1, messages=2, summaries=1, turns=1, batches=1, memories=2, jobs=1)
        assert receipt.erased == counted
        with raises(ConversationNotFoundError):
            await store.get_conversation(ALICE, "c1")
        with raises(JobNotFoundError):
            await store.get_job(ALICE, "j1")
        assert await store.search_messages(ALICE, SearchQuery(text="words")) == ()
        assert await listed(store) == ["k3"]

    async def test_the_id_of_an_erased_conversation_cannot_be_used_again(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.erase_conversation(ALICE, "c1", erasure())
        with raises(ErasedError):
            await store.create_conversation(ALICE, conversation("c1"))
        with raises(ErasedError):
            await store.current_conversation(ALICE, conversation("c1"))
        with raises(ErasedError):
            await store.append(ALICE, append("c1", "m2"))
        with raises(ErasedError):
            await store.archive(ALICE, batch("b1", "c1", "m2"))
        with raises(ErasedError):
            await store.record_turn(ALICE, turn("t1", append("c1", "m2")))
        assert (await store.create_conversation(BOB, conversation("c1"))).id == "c1"

    async def test_erasing_one_conversation_leaves_the_others(self, store: Store) -> None:
        await store.append(ALICE, append("c2", "m1"))
        await store.append(BOB, append("c1", "m1"))
        others = [await store.get_message(ALICE, "c2", "m1"), await dump(store, BOB)]
        await store.append(ALICE, append("c1", "m1"))
        await store.erase_conversation(ALICE, "c1", erasure())
        assert [await store.get_message(ALICE, "c2", "m1"), await dump(store, BOB)] == others
        found = await store.search_messages(ALICE, SearchQuery(text="words"))
        assert [(hit.message.conversation_id, hit.message.id) for hit in found] == [("c2", "m1")]


class EraseMemoryConformance:
    """Check what a store promises about erasing memories and users, and about the trail of it."""

    async def test_an_erased_memory_is_gone_with_its_history(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await change(store, "k1", importance=0.9)
        await change(store, "k1", deleted_at=after(1))
        receipt = await store.erase_memory(ALICE, "k1", erasure())
        assert receipt.erased == Erased(memories=1, memory_versions=2)
        with raises(MemoryNotFoundError):
            await store.memory_history(ALICE, "k1")
        with raises(MemoryNotFoundError):
            await store.erase_memory(ALICE, "k1", erasure("r2"))

    async def test_an_erased_statement_is_refused_unless_a_person_adds_it(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Likes tea", origin="user"),))
        await store.erase_memory(ALICE, "k1", erasure())
        saved = await store.add_memories(ALICE, (memory("k2", "likes TEA", origin="assistant"),))
        assert (saved.created, saved.refused) == ((), ("k2",))
        saved = await store.add_memories(ALICE, (memory("k3", "likes tea"),))
        assert ids_of(saved.created) == ["k3"]
        assert ids_of((await store.add_memories(BOB, (memory("k1", "Likes tea", origin="user"),))).created) == ["k1"]

    async def test_what_an_erased_memory_replaced_does_not_become_current(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("old", "Lives in Kyiv"), memory("new", "Lives in Lviv")))
        await change(store, "old", superseded_by="new")
        await store.erase_memory(ALICE, "new", erasure(at=after(9)))
        assert await listed(store) == []
        was = await store.get_memory(ALICE, "old")
        assert (was.superseded_by, was.valid_to) == (None, after(9))

    async def test_an_erased_user_has_nothing_left_but_the_receipt(self, store: Store) -> None:
        fresh = await dump(store, BOB)
        await store.record_turn(ALICE, turn("t1", append("c1", "m1", jobs=(job("j1"),))))
        await store.add_memories(ALICE, (memory("k1", origin="user"),))
        receipt = await store.erase_user(ALICE, erasure("r1"))
        assert receipt.erased == Erased(conversations=1, messages=1, turns=1, memories=1, jobs=1)
        left = await dump(store, ALICE)
        (entry,) = left["audit"]
        assert (entry.action, entry.kind, entry.detail["receipt_id"]) == ("erase", "user", "r1")
        assert {**left, "audit": ()} == fresh
        assert await store.search_messages(ALICE, SearchQuery(text="words")) == ()
        assert await store.claim_jobs(claims(now=after(9999))) == ()

    async def test_an_erased_user_may_come_back_but_the_data_do_not(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.add_memories(ALICE, (memory("k1", "Likes tea", origin="user"),))
        await store.erase_user(ALICE, erasure())
        with raises(ErasedError):
            await store.append(ALICE, append("c1", "m1"))
        assert (await store.add_memories(ALICE, (memory("k2", "Likes tea", origin="user"),))).refused == ("k2",)
        assert ids_of((await store.append(ALICE, append("c2", "m1"))).messages) == ["m1"]

    async def test_erasing_a_user_leaves_every_other_user(self, store: Store) -> None:
        for scope in (ALICE, BOB):
            await store.append(scope, append("c1", "m1", jobs=(job("j1"),)))
            await store.add_memories(scope, (memory("k1"),))
        before = await dump(store, BOB)
        await store.erase_user(ALICE, erasure())
        assert await dump(store, BOB) == before
        assert [hit.message.id for hit in await store.search_messages(BOB, SearchQuery(text="words"))] == ["m1"]

    async def test_the_trail_is_listed_newest_first_in_pages(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"), memory("k2")))
        await change(store, "k1", importance=0.9, at=after(-5))
        await store.erase_memory(ALICE, "k2", erasure("r1"))
        trail = await store.list_audit(ALICE, AuditQuery())
        did = [(entry.action, entry.kind, entry.entity_id) for entry in trail]
        assert did == [
            ("erase", "memory", "k2"),
            ("change", "memory", "k1"),
            ("create", "memory", "k2"),
            ("create", "memory", "k1"),
        ]
        first = await store.list_audit(ALICE, AuditQuery(limit=3))
        assert first + await store.list_audit(ALICE, AuditQuery(limit=3, before_id=first[-1].id)) == trail
        assert ids_of(await store.list_audit(ALICE, AuditQuery(entity_id="k1"))) == ids_of([trail[1], trail[3]])

    async def test_the_trail_holds_no_words(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "canary")))
        await store.add_memories(ALICE, (memory("k1", "canary", quote="canary"),))
        await change(store, "k1", content="another canary", category="canary")
        await store.erase_memory(ALICE, "k1", erasure())
        await store.erase_message(ALICE, "c1", "m1", erasure())
        assert "canary" not in repr(await store.list_audit(ALICE, AuditQuery()))
        assert await store.list_damaged(ALICE) == ()
