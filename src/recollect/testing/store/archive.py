"""Batches that a client kept until now: retried, reordered and overlapping, each message is stored once."""

from __future__ import annotations

from datetime import datetime

from recollect.domain.conversation import ConversationChanges
from recollect.errors import ConversationNotFoundError, InvalidMessageError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, append, batch, erasure, message
from recollect.testing.store.messages import page_ids


async def activity(store: Store) -> datetime:
    """Return when the conversation was used last."""
    return (await store.get_conversation(ALICE, "c1")).last_activity_at


class ArchiveConformance:
    """Check what a store promises about archived batches."""

    async def test_a_batch_is_stored_in_the_given_order(self, store: Store) -> None:
        said = (message("m1", created_at=after(9)), message("m2", created_at=after(3)))
        answer = await store.archive(ALICE, batch("b1", "c1", *said, at=after(20)))
        assert (answer.id, answer.conversation_id) == ("b1", "c1")
        assert (answer.archived, answer.duplicates, answer.refused) == (2, 0, 0)
        assert (answer.start_at, answer.end_at, answer.archived_at) == (after(3), after(9), after(20))
        assert await page_ids(store, "c1") == ["m1", "m2"]

    async def test_the_same_batch_again_gets_the_first_answer(self, store: Store) -> None:
        first = await store.archive(ALICE, batch("b1", "c1", "m1", "m2"))
        await store.append(ALICE, append("c1", "m3"))
        assert await store.archive(ALICE, batch("b1", "c1", "m1", "m2", at=after(60))) == first
        assert await store.archive(ALICE, batch("another id", "c1", "m1", "m2")) == first
        assert await page_ids(store, "c1") == ["m1", "m2", "m3"]

    async def test_activity_is_when_the_store_took_something_new(self, store: Store) -> None:
        await store.archive(ALICE, batch("b1", "c1", message("m1", created_at=after(-900)), at=after(10)))
        assert await activity(store) == after(10)
        await store.archive(ALICE, batch("b1", "c1", message("m1", created_at=after(-900)), at=after(20)))
        await store.archive(ALICE, batch("b2", "c1", "m1", at=after(30)))
        assert await activity(store) == after(10)
        for at, is_archived in ((40, True), (50, False)):
            await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(at), is_archived=is_archived))
            assert await activity(store) == after(10)
        await store.archive(ALICE, batch("b3", "c1", "m1", message("m2", created_at=after(999)), at=after(60)))
        assert await activity(store) == after(60)

    async def test_overlapping_batches_store_each_message_once(self, store: Store) -> None:
        await store.archive(ALICE, batch("b1", "c1", "m1", "m2", "m3"))
        answer = await store.archive(ALICE, batch("b2", "c1", "m2", "m3", "m4"))
        assert (answer.archived, answer.duplicates) == (1, 2)
        assert await page_ids(store, "c1") == ["m1", "m2", "m3", "m4"]

    async def test_a_batch_id_with_other_messages_loses_none_of_them(self, store: Store) -> None:
        await store.archive(ALICE, batch("b1", "c1", "m1"))
        answer = await store.archive(ALICE, batch("b1", "c1", "m1", "m2"))
        assert (answer.archived, answer.duplicates) == (1, 1)
        assert await page_ids(store, "c1") == ["m1", "m2"]

    async def test_batches_out_of_order_lose_nothing(self, store: Store) -> None:
        await store.archive(ALICE, batch("b2", "c1", "m3", "m4"))
        await store.archive(ALICE, batch("b1", "c1", "m1", "m2"))
        await store.archive(ALICE, batch("b2", "c1", "m3", "m4"))
        assert await page_ids(store, "c1") == ["m3", "m4", "m1", "m2"]

    async def test_a_batch_with_an_erased_message_stores_the_others(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        answer = await store.archive(ALICE, batch("b1", "c1", "m1", "m2", "m3"))
        assert (answer.archived, answer.duplicates, answer.refused) == (1, 1, 1)
        assert await page_ids(store, "c1") == ["m1", "m3"]

    async def test_a_refused_batch_leaves_nothing_and_can_be_sent_again(self, store: Store) -> None:
        with raises(InvalidMessageError):
            await store.archive(ALICE, batch("b1", "c1", "m1", message("m2", parent_id="m9")))
        with raises(ConversationNotFoundError):
            await page_ids(store, "c1")
        assert (await store.archive(ALICE, batch("b1", "c1", "m9", message("m2", parent_id="m9")))).archived == 2

    async def test_a_batch_needs_a_conversation_unless_it_may_create_one(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await store.archive(ALICE, batch("b1", "c1", "m1", create=False))
