"""Windows and backlogs: what a prompt needs of a conversation, and what is still to be summarised."""

from __future__ import annotations

from recollect.domain.conversation import ConversationChanges
from recollect.domain.window import MAX_WINDOW
from recollect.errors import ConversationNotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, after, append, conversation, erasure, ids_of, message, summary


async def say(store: Store, first: int, last: int) -> None:
    """Store the messages with these numbers."""
    for start in range(first, last + 1, 100):
        end = min(last, start + 99)
        said = [message(f"m{number}", created_at=after(number)) for number in range(start, end + 1)]
        await store.append(ALICE, append("c1", *said))


def numbered(first: int, last: int) -> list[str]:
    """Return the ids of the messages with these numbers."""
    return [f"m{number}" for number in range(first, last + 1)]


async def window_ids(store: Store) -> tuple[list[str], list[str], list[str]]:
    """Return the ids of the summaries, messages and uncovered messages of the window."""
    window = await store.get_window(ALICE, "c1")
    return ids_of(window.summaries), ids_of(window.messages), ids_of(window.uncovered)


async def backlog_ids(store: Store, limit: int = 50) -> list[str]:
    """Return the ids of the messages of the backlog."""
    return ids_of((await store.get_backlog(ALICE, "c1", limit)).messages)


class WindowConformance:
    """Check what a store promises about windows and backlogs."""

    async def test_a_window_is_the_newest_twenty_and_the_conversation(self, store: Store) -> None:
        await say(store, 1, 25)
        window = await store.get_window(ALICE, "c1")
        await store.put_summary(ALICE, summary("s1", *numbered(1, 20)))
        assert window.conversation.message_count == 25
        assert await window_ids(store) == (["s1"], numbered(6, 25), numbered(21, 25))

    async def test_a_window_goes_back_to_the_newest_summary(self, store: Store) -> None:
        await say(store, 1, 40)
        await store.put_summary(ALICE, summary("s1", *numbered(1, 10)))
        assert await window_ids(store) == (["s1"], numbered(11, 40), numbered(11, 40))

    async def test_a_window_is_bounded_however_far_summaries_are_behind(self, store: Store) -> None:
        await say(store, 1, MAX_WINDOW + 30)
        assert ids_of((await store.get_window(ALICE, "c1")).messages) == numbered(31, MAX_WINDOW + 30)

    async def test_a_window_shows_every_change_at_once(self, store: Store) -> None:
        await say(store, 1, 4)
        assert await window_ids(store) == ([], numbered(1, 4), numbered(1, 4))
        await say(store, 5, 6)
        assert await window_ids(store) == ([], numbered(1, 6), numbered(1, 6))
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        assert await window_ids(store) == (["s1"], numbered(1, 6), numbered(3, 6))
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(1), title="Named"))
        assert (await store.get_window(ALICE, "c1")).conversation.title == "Named"
        await store.erase_message(ALICE, "c1", "m4", erasure())
        assert await window_ids(store) == (["s1"], ["m1", "m2", "m3", "m5", "m6"], ["m3", "m5", "m6"])
        await store.mark_inactive(ALICE, after(1000), 10)
        assert not (await store.get_window(ALICE, "c1")).conversation.is_active
        await store.clear_conversation(ALICE, "c1", erasure("r2"))
        assert await window_ids(store) == ([], [], [])
        await store.erase_conversation(ALICE, "c1", erasure("r3"))
        with raises(ConversationNotFoundError):
            await store.get_window(ALICE, "c1")

    async def test_every_change_raises_the_revision(self, store: Store) -> None:
        seen = [(await store.create_conversation(ALICE, conversation("c1"))).revision]
        await say(store, 1, 2)
        seen.append((await store.get_window(ALICE, "c1")).conversation.revision)
        await say(store, 1, 2)
        assert (await store.get_window(ALICE, "c1")).conversation.revision == seen[-1]
        await store.put_summary(ALICE, summary("s1", "m1"))
        seen.append((await store.get_window(ALICE, "c1")).conversation.revision)
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(1), is_pinned=True))
        seen.append((await store.get_window(ALICE, "c1")).conversation.revision)
        await store.clear_conversation(ALICE, "c1", erasure())
        seen.append((await store.get_window(ALICE, "c1")).conversation.revision)
        assert seen == sorted(set(seen))

    async def test_a_window_follows_the_head(self, store: Store) -> None:
        await say(store, 1, 4)
        await store.put_summary(ALICE, summary("s1", "m1", "m2", "m3"))
        await store.append(ALICE, append("c1", message("edit", parent_id="m2")))
        assert await window_ids(store) == ([], ["m1", "m2", "edit"], ["m1", "m2", "edit"])
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(1), head_id="m4"))
        assert await window_ids(store) == (["s1"], numbered(1, 4), ["m4"])

    async def test_a_fold_of_another_branch_hides_nothing_here(self, store: Store) -> None:
        await say(store, 1, 6)
        for number in (1, 3, 5):
            await store.put_summary(ALICE, summary(f"s{number}", f"m{number}", f"m{number + 1}"))
        await store.put_summary(ALICE, summary("fold", folds=("s1", "s3", "s5")))
        await store.append(ALICE, append("c1", message("edit", parent_id="m4")))
        assert await window_ids(store) == (["s1", "s3"], ["m1", "m2", "m3", "m4", "edit"], ["edit"])

    async def test_a_backlog_is_the_oldest_uncovered_messages(self, store: Store) -> None:
        await say(store, 1, 12)
        assert await backlog_ids(store, 5) == numbered(1, 5)
        await store.put_summary(ALICE, summary("s1", *numbered(1, 4)))
        assert await backlog_ids(store) == numbered(5, 12)
        await store.put_summary(ALICE, summary("s2", *numbered(7, 8)))
        assert await backlog_ids(store, 4) == ["m5", "m6", "m9", "m10"]

    async def test_a_backlog_has_what_an_erasure_uncovered(self, store: Store) -> None:
        await say(store, 1, 8)
        for number in (1, 4):
            await store.put_summary(ALICE, summary(f"s{number}", *numbered(number, number + 2)))
        await store.erase_message(ALICE, "c1", "m2", erasure())
        backlog = await store.get_backlog(ALICE, "c1", 50)
        assert (ids_of(backlog.summaries), ids_of(backlog.messages)) == (["s4"], ["m1", "m3", "m7", "m8"])

    async def test_a_backlog_tells_what_other_branches_cover(self, store: Store) -> None:
        await say(store, 1, 4)
        await store.put_summary(ALICE, summary("s1", "m1", "m2", "m3"))
        await store.append(ALICE, append("c1", message("edit", parent_id="m2")))
        backlog = await store.get_backlog(ALICE, "c1", 50)
        assert (ids_of(backlog.messages), backlog.elsewhere) == (
            ["m1", "m2", "edit"],
            frozenset({"m1", "m2", "m3"}),
        )

    async def test_windows_belong_to_their_user(self, store: Store) -> None:
        await say(store, 1, 2)
        await store.get_window(ALICE, "c1")
        for read in (store.get_window(BOB, "c1"), store.get_backlog(BOB, "c1", 5), store.get_window(ALICE, "c2")):
            with raises(ConversationNotFoundError):
                await read
