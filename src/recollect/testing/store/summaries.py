"""Summaries: each message is covered at most once, and a fold takes the place of what it folds."""

from __future__ import annotations

from recollect.domain.page import MessageQuery, SearchQuery
from recollect.errors import ConflictError, ConversationNotFoundError, MessageNotFoundError, NotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, append, ids_of, message, summary
from recollect.testing.store.dump import dump
from recollect.testing.store.messages import page_ids


async def six_messages(store: Store) -> None:
    """Store m1 to m6, a second apart."""
    said = [message(f"m{number}", created_at=after(number)) for number in range(1, 7)]
    await store.append(ALICE, append("c1", *said))


async def folded(store: Store) -> None:
    """Summarise six messages in three pairs and fold the first two."""
    await six_messages(store)
    for number in (1, 3, 5):
        await store.put_summary(ALICE, summary(f"s{number}", f"m{number}", f"m{number + 1}"))
    await store.put_summary(ALICE, summary("fold", folds=("s1", "s3")))


class SummaryConformance:
    """Check what a store promises about summaries."""

    async def test_a_summary_says_what_it_covers(self, store: Store) -> None:
        await six_messages(store)
        put = await store.put_summary(ALICE, summary("s1", "m2", "m3", "m4", at=after(60), metadata={"k": [1]}))
        assert (put.message_ids, put.first_seq, put.last_seq) == (("m2", "m3", "m4"), 2, 4)
        assert (put.last_message_id, put.message_count, put.level) == ("m4", 3, 0)
        assert (put.start_at, put.end_at, put.created_at) == (after(2), after(4), after(60))
        assert (put.content, put.generator, put.metadata) == ("text of s1", "test", {"k": [1]})
        assert await store.active_summaries(ALICE, "c1") == (put,)

    async def test_a_page_brings_the_summaries_whose_range_ends_in_it(self, store: Store) -> None:
        await six_messages(store)
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        await store.put_summary(ALICE, summary("s2", "m3", "m4"))
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=3))
        assert (ids_of(page.messages), ids_of(page.summaries)) == (["m4", "m5", "m6"], ["s2"])
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(page.summaries) == ["s1", "s2"]

    async def test_the_conversation_carries_the_newest_summary_text(self, store: Store) -> None:
        await six_messages(store)
        assert (await store.get_conversation(ALICE, "c1")).summary is None
        await store.put_summary(ALICE, summary("s2", "m3", "m4"))
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        assert (await store.get_conversation(ALICE, "c1")).summary == "text of s2"

    async def test_the_same_summary_id_again_returns_the_stored_one(self, store: Store) -> None:
        await six_messages(store)
        first = await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        before = await dump(store, ALICE)
        assert await store.put_summary(ALICE, summary("s1", "m3", "m4", content="other")) == first
        assert await dump(store, ALICE) == before

    async def test_a_message_is_covered_once(self, store: Store) -> None:
        await six_messages(store)
        await store.put_summary(ALICE, summary("s1", "m2", "m3", "m4"))
        before = await dump(store, ALICE)
        for covered in (["m4"], ["m1", "m2"], ["m4", "m5"], ["m3"], [f"m{number}" for number in range(1, 7)]):
            with raises(ConflictError):
                await store.put_summary(ALICE, summary("s2", *covered))
        assert await dump(store, ALICE) == before

    async def test_a_folded_summary_still_covers_its_messages(self, store: Store) -> None:
        await folded(store)
        with raises(ConflictError):
            await store.put_summary(ALICE, summary("again", "m1", "m2"))

    async def test_a_range_is_one_contiguous_chain_in_order(self, store: Store) -> None:
        await six_messages(store)
        before = await dump(store, ALICE)
        for covered in (["m1", "m3"], ["m2", "m1"], ["m1", "nothing"], ["nothing"], ["m1", "m1"]):
            with raises(ConflictError):
                await store.put_summary(ALICE, summary("s1", *covered))
        assert await dump(store, ALICE) == before

    async def test_a_summary_needs_a_conversation(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await store.put_summary(ALICE, summary("s1", "m1"))
        with raises(ConversationNotFoundError):
            await store.active_summaries(ALICE, "c1")

    async def test_a_fold_takes_the_place_of_what_it_folds(self, store: Store) -> None:
        await folded(store)
        active = await store.active_summaries(ALICE, "c1")
        assert ids_of(active) == ["fold", "s5"]
        fold = active[0]
        assert (fold.level, fold.first_seq, fold.last_seq, fold.message_count) == (1, 1, 4, 4)
        assert (fold.start_at, fold.end_at, fold.folds) == (after(1), after(4), ("s1", "s3"))

    async def test_a_fold_folds_active_neighbours_in_order(self, store: Store) -> None:
        await folded(store)
        before = await dump(store, ALICE)
        for folds in (("s1", "s3"), ("s1", "fold"), ("s5", "fold"), ("fold", "nothing"), ("nothing",)):
            with raises(ConflictError):
                await store.put_summary(ALICE, summary("again", folds=folds))
        assert await dump(store, ALICE) == before

    async def test_a_fold_leaves_no_gap(self, store: Store) -> None:
        await six_messages(store)
        for number in (1, 3, 5):
            await store.put_summary(ALICE, summary(f"s{number}", f"m{number}", f"m{number + 1}"))
        with raises(ConflictError):
            await store.put_summary(ALICE, summary("fold", folds=("s1", "s5")))
        assert ids_of(await store.active_summaries(ALICE, "c1")) == ["s1", "s3", "s5"]

    async def test_a_fold_is_expanded_widest_first(self, store: Store) -> None:
        await folded(store)
        await store.put_summary(ALICE, summary("all", folds=("fold", "s5")))
        layers = await store.expand_summary(ALICE, "c1", "all")
        assert ids_of(layers) == ["all", "fold", "s5", "s1", "s3"]
        assert [layer.folded_into for layer in layers] == [None, "all", "all", "fold", "fold"]
        assert ids_of(await store.expand_summary(ALICE, "c1", "s5")) == ["s5"]
        with raises(NotFoundError):
            await store.expand_summary(ALICE, "c1", "nothing")
        with raises(ConversationNotFoundError):
            await store.expand_summary(ALICE, "nothing", "all")

    async def test_with_delete_originals_the_covered_messages_are_gone(self, store: Store) -> None:
        await six_messages(store)
        await store.put_summary(ALICE, summary("s1", "m1", "m2", delete_originals=True))
        assert await page_ids(store, "c1") == ["m3", "m4", "m5", "m6"]
        with raises(MessageNotFoundError):
            await store.get_message(ALICE, "c1", "m1")
        assert await store.search_messages(ALICE, SearchQuery(text="m1")) == ()
        assert (await store.get_conversation(ALICE, "c1")).message_count == 4
        assert ids_of(await store.active_summaries(ALICE, "c1")) == ["s1"]

    async def test_deleted_originals_keep_their_seqs(self, store: Store) -> None:
        await six_messages(store)
        whole = [f"m{number}" for number in range(1, 7)]
        await store.put_summary(ALICE, summary("s1", *whole, delete_originals=True))
        appended = await store.append(ALICE, append("c1", "m7"))
        assert (appended.messages[0].seq, appended.messages[0].parent_id) == (7, "m6")
        assert await page_ids(store, "c1") == ["m7"]

    async def test_deleted_originals_are_refused_when_they_are_sent_again(self, store: Store) -> None:
        await six_messages(store)
        await store.put_summary(ALICE, summary("s1", "m1", "m2", delete_originals=True))
        appended = await store.append(ALICE, append("c1", "m1", "m2", "m7"))
        assert (ids_of(appended.messages), appended.refused) == (["m7"], ("m1", "m2"))
