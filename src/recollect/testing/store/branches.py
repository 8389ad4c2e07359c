"""Branches: an edit or a new reply starts beside what it replaces, and the head says which one is read."""

from __future__ import annotations

from recollect.domain.conversation import ConversationChanges
from recollect.domain.page import MessageQuery
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.samples import ALICE, append, conversation, erasure, ids_of, message, summary
from recollect.testing.store.messages import backwards, forwards, page_ids

#: The branch before the edit, and after it.
OLD = ["m1", "m2", "m3", "m4"]
NEW = ["m1", "m2", "m5", "m6", "m7"]


async def branched(store: Store) -> None:
    """Store four messages, then edit the third."""
    await store.append(ALICE, append("c1", *OLD))
    await store.append(ALICE, append("c1", message("m5", parent_id="m2"), "m6", "m7"))


async def move_head(store: Store, head_id: str | None) -> None:
    """Read and continue another branch."""
    await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, head_id=head_id))


class BranchConformance:
    """Check what a store promises about branches."""

    async def test_the_branch_that_leads_to_the_head_is_read(self, store: Store) -> None:
        await branched(store)
        assert await page_ids(store, "c1") == NEW
        await move_head(store, "m4")
        assert await page_ids(store, "c1") == OLD
        await move_head(store, "m2")
        assert await page_ids(store, "c1") == ["m1", "m2"]

    async def test_all_branches_are_read_in_order_of_seq(self, store: Store) -> None:
        await branched(store)
        assert await page_ids(store, "c1", all_branches=True) == [f"m{seq}" for seq in range(1, 8)]
        assert await page_ids(store, "c1", all_branches=True, before="m5", limit=2) == ["m3", "m4"]
        assert await page_ids(store, "c1", all_branches=True, after="m3", limit=2) == ["m4", "m5"]

    async def test_pages_of_a_branch_meet_without_gap_or_overlap(self, store: Store) -> None:
        await branched(store)
        for head, names in (("m7", NEW), ("m4", OLD)):
            await move_head(store, head)
            for limit in range(1, 7):
                assert ids_of(await backwards(store, "c1", limit)) == names
                assert await forwards(store, "c1", "m1", limit) == names

    async def test_a_message_continues_the_head(self, store: Store) -> None:
        await branched(store)
        await move_head(store, "m4")
        appended = await store.append(ALICE, append("c1", "m8"))
        assert (appended.messages[0].parent_id, appended.messages[0].seq) == ("m4", 8)
        assert await page_ids(store, "c1") == [*OLD, "m8"]

    async def test_a_message_without_a_parent_starts_a_new_root(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.append(ALICE, append("c1", message("m3", parent_id=None), "m4"))
        assert await page_ids(store, "c1") == ["m3", "m4"]
        await move_head(store, "m2")
        assert await page_ids(store, "c1") == ["m1", "m2"]

    async def test_a_page_tells_the_other_answers_to_each_parent(self, store: Store) -> None:
        await branched(store)
        await store.append(ALICE, append("c1", message("r1", parent_id=None), message("m8", parent_id="m2")))
        await move_head(store, "m4")
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert page.siblings == {"m1": ("m1", "r1"), "m3": ("m3", "m5", "m8")}
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=1, from_start=True))
        assert page.siblings == {"m1": ("m1", "r1")}
        whole = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", all_branches=True))
        assert whole.siblings["m8"] == whole.siblings["m5"] == ("m3", "m5", "m8")

    async def test_a_page_tells_the_newest_end_of_each_branch(self, store: Store) -> None:
        await branched(store)
        await store.append(ALICE, append("c1", message("r1", parent_id=None), "r2"))
        await store.append(ALICE, append("c1", message("m10", parent_id="m6"), "m11"))
        await store.append(ALICE, append("c1", message("m12", parent_id="m2")))
        await store.append(ALICE, append("c1", message("r3", parent_id="r1")))
        await move_head(store, "m4")
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert page.siblings == {"m1": ("m1", "r1"), "m3": ("m3", "m5", "m12")}
        assert page.ends == {"m1": "m12", "r1": "r3", "m3": "m4", "m5": "m11", "m12": "m12"}
        await move_head(store, page.ends["m5"])
        assert await page_ids(store, "c1") == ["m1", "m2", "m5", "m6", "m10", "m11"]
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=2))
        assert page.ends == {"m7": "m7", "m10": "m11"}
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=1))
        assert (page.siblings, page.ends) == ({}, {})

    async def test_the_ends_of_branches_follow_what_is_erased(self, store: Store) -> None:
        await branched(store)
        for message_id in ("m5", "m4", "m7"):
            await store.erase_message(ALICE, "c1", message_id, erasure(f"r-{message_id}"))
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert (page.siblings, page.ends) == ({"m6": ("m3", "m6")}, {"m3": "m3", "m6": "m6"})

    async def test_without_a_head_nothing_is_read(self, store: Store) -> None:
        await store.append(ALICE, append("c1", *OLD))
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        before = await store.get_window(ALICE, "c1")
        await move_head(store, None)
        empty = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert (empty.messages, empty.summaries, empty.more) == ((), (), False)
        assert await page_ids(store, "c1", after="m1") == []
        window, backlog = await store.get_window(ALICE, "c1"), await store.get_backlog(ALICE, "c1", 9)
        assert (window.messages, window.summaries) == (backlog.messages, backlog.summaries) == ((), ())
        now = window.conversation
        assert (now.head_id, now.is_branched, now.message_count) == (None, True, 4)
        assert (now.version, now.revision) == (before.conversation.version + 1, before.conversation.revision + 1)
        assert await page_ids(store, "c1", all_branches=True) == OLD
        await move_head(store, "m4")
        assert await page_ids(store, "c1") == OLD
        assert (await store.get_window(ALICE, "c1")).messages == before.messages

    async def test_without_a_head_the_next_message_starts_a_new_root(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await move_head(store, None)
        appended = await store.append(ALICE, append("c1", "m3", "m4"))
        assert [(one.id, one.parent_id, one.seq) for one in appended.messages] == [("m3", None, 3), ("m4", "m3", 4)]
        assert appended.conversation.head_id == "m4"
        assert await page_ids(store, "c1") == ids_of((await store.get_window(ALICE, "c1")).messages) == ["m3", "m4"]
        assert ids_of((await store.get_backlog(ALICE, "c1", 9)).messages) == ["m3", "m4"]
        await move_head(store, "m2")
        assert await page_ids(store, "c1") == ["m1", "m2"]

    async def test_an_empty_conversation_has_no_head_to_take_away(self, store: Store) -> None:
        before = await store.create_conversation(ALICE, conversation("c1"))
        await move_head(store, None)
        assert await store.get_conversation(ALICE, "c1") == before

    async def test_a_summary_shows_on_the_branches_that_hold_what_it_covers(self, store: Store) -> None:
        await branched(store)
        await store.put_summary(ALICE, summary("shared", "m1", "m2"))
        await store.put_summary(ALICE, summary("edited", "m5", "m6"))
        shown = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(shown.summaries) == ["shared", "edited"]
        await move_head(store, "m4")
        shown = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(shown.summaries) == ["shared"]
        assert ids_of(await store.active_summaries(ALICE, "c1")) == ["shared", "edited"]

    async def test_branches_that_share_messages_can_each_be_summarised(self, store: Store) -> None:
        await branched(store)
        await store.put_summary(ALICE, summary("old", "m1", "m2", "m3"))
        await store.put_summary(ALICE, summary("new", "m1", "m2", "m5"))
        shown = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(shown.summaries) == ["new"]
        await move_head(store, "m4")
        shown = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert ids_of(shown.summaries) == ["old"]
