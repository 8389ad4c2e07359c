"""Erasing what a reply repeats: the reply goes too, wherever it stands, and does not come back."""

from __future__ import annotations

import asyncio

from recollect.domain.conversation import ConversationChanges
from recollect.domain.erasure import Erased
from recollect.domain.forgetting import NOTHING_LEFT
from recollect.domain.memory import Source
from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.passage import REPEATS
from recollect.domain.repeating import Repeated, repeating
from recollect.domain.repeating import memory as known
from recollect.errors import MemoryNotFoundError, MessageNotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import (
    ALICE,
    BOB,
    append,
    batch,
    conversation,
    erasure,
    ids_of,
    memory,
    message,
    message_vectors,
    summary,
    turn,
    vector,
)
from recollect.testing.store.memories import change, listed
from recollect.testing.store.messages import page_ids


def said(*ids: str) -> list[Repeated]:
    """Name messages of conversation c1."""
    return [Repeated("c1", one) for one in ids]


def reply(reply_id: str, *sources: Repeated) -> NewMessage:
    """Return a reply that repeats these."""
    return message(reply_id, f"you said it: {reply_id}", role="assistant", metadata=repeating(sources))


class EraseRepeatedConformance:
    """Check what a store promises about replies that repeat what is erased."""

    async def test_a_reply_goes_with_the_message_that_it_repeats(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.append(ALICE, append("c2", "q1"))
        await store.record_turn(ALICE, turn("t1", append("c2", "q2", reply("r1", *said("m1")))))
        receipt = await store.erase_message(ALICE, "c1", "m1", erasure())
        assert receipt.erased == Erased(messages=2, turns=1)
        assert await page_ids(store, "c1") == ["m2"]
        assert await page_ids(store, "c2") == ["q1", "q2"]
        assert await store.search_messages(ALICE, SearchQuery(text="you said it")) == ()
        with raises(MessageNotFoundError):
            await store.get_message(ALICE, "c2", "r1")
        after = await store.get_conversation(ALICE, "c2")
        assert (after.head_id, after.message_count) == ("q2", 2)

    async def test_a_reply_that_repeats_two_messages_goes_with_either(self, store: Store) -> None:
        for number, gone in enumerate(("m1", "m2")):
            await store.append(ALICE, append("c1", "m1", "m2") if not number else append("c1", "m3"))
            await store.append(ALICE, append(f"c{number + 2}", "q1", reply("r1", *said("m1", "m2"))))
            receipt = await store.erase_message(ALICE, "c1", gone, erasure())
            assert receipt.erased.messages == (2 if not number else 1)
            assert await page_ids(store, f"c{number + 2}") == ["q1"]

    async def test_the_answers_of_a_reply_move_up_and_other_replies_stay(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", reply("r1", *said("m1")), "m2", reply("r2", *said("m2"))))
        receipt = await store.erase_message(ALICE, "c1", "m1", erasure())
        assert receipt.erased == Erased(messages=2)
        assert await page_ids(store, "c1") == ["m2", "r2"]
        assert (await store.get_message(ALICE, "c1", "m2")).parent_id is None

    async def test_a_reply_that_repeats_a_reply_goes_too(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "q1", reply("r1", *said("m1"))))
        await store.append(ALICE, append("c3", "q2", reply("r2", Repeated("c2", "r1"), Repeated("c3", "r2"))))
        receipt = await store.erase_message(ALICE, "c1", "m1", erasure())
        assert receipt.erased == Erased(messages=3)
        assert (await page_ids(store, "c2"), await page_ids(store, "c3")) == (["q1"], ["q2"])

    async def test_what_was_made_of_a_reply_goes_with_it(self, store: Store) -> None:
        await store.append(ALICE, append("c2", "m1"))
        vectors = message_vectors(q1=vector(1.0))
        answered = reply("r1", Repeated("c2", "m1"))
        await store.append(ALICE, append("c1", "q1", answered, "q2", vectors=vectors))
        await store.change_conversation(
            ALICE, "c1", ConversationChanges(at=answered.created_at, title="tea", title_source="auto")
        )
        await store.put_summary(ALICE, summary("s1", "q1", "r1"))
        await store.add_memories(ALICE, (memory("k1", origin="user", sources=(Source("c1", "r1"),)),))
        receipt = await store.erase_message(ALICE, "c2", "m1", erasure())
        assert receipt.erased == Erased(messages=2, summaries=1, memories=1)
        after = await store.get_conversation(ALICE, "c1")
        assert (after.title, after.summary) == (None, None)
        with raises(MemoryNotFoundError):
            await store.get_memory(ALICE, "k1")

    async def test_a_reply_goes_with_a_memory_that_it_repeats(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"), memory("k2")))
        await store.append(ALICE, append("c1", "q1", reply("r1", known("k1")), "q2", reply("r2", known("k2"))))
        receipt = await store.erase_memory(ALICE, "k1", erasure())
        assert receipt.erased == Erased(memories=1, messages=1)
        assert await page_ids(store, "c1") == ["q1", "q2", "r2"]

    async def test_a_reply_goes_with_the_message_that_a_repeated_memory_was_drawn_from(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        alone = memory("k1", origin="user", sources=(Source("c1", "m1"),))
        both = memory("k2", origin="user", sources=(Source("c1", "m1"), Source("c1", "m2")))
        await store.add_memories(ALICE, (alone, both))
        await store.append(ALICE, append("c2", "q1", reply("r1", known("k1")), reply("r2", known("k2"))))
        receipt = await store.erase_message(ALICE, "c1", "m1", erasure())
        assert receipt.erased == Erased(messages=3, memories=1)
        assert await page_ids(store, "c2") == ["q1"]
        assert await listed(store) == ["k2"]

    async def test_a_reply_stays_with_a_memory_that_is_kept(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.add_memories(ALICE, (memory("k1", origin="user", sources=(Source("c1", "m1"),)),))
        await store.append(ALICE, append("c2", "q1", reply("r1", known("k1")), reply("r2", *said("m1"))))
        receipt = await store.erase_conversation(ALICE, "c1", erasure(memories=False))
        assert receipt.erased == Erased(conversations=1, messages=2)
        assert await page_ids(store, "c2") == ["q1", "r1"]

    async def test_changing_a_memory_leaves_its_replies(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await store.append(ALICE, append("c1", "q1", reply("r1", known("k1"))))
        await change(store, "k1", content="something else")
        assert await page_ids(store, "c1") == ["q1", "r1"]

    async def test_replies_go_with_a_conversation_and_with_one_that_is_cleared(self, store: Store) -> None:
        for number, erase in enumerate((store.clear_conversation, store.erase_conversation)):
            await store.append(ALICE, append("c1", f"m{number}", reply(f"r{number}", *said(f"m{number}"))))
            await store.append(ALICE, append("c2", f"q{number}", reply(f"r{number}", *said(f"m{number}"))))
            receipt = await erase(ALICE, "c1", erasure())
            assert receipt.erased == Erased(messages=3, conversations=number)
        assert await page_ids(store, "c2") == ["q0", "q1"]

    async def test_nothing_of_another_user_goes(self, store: Store) -> None:
        for scope in (ALICE, BOB):
            await store.append(scope, append("c1", "m1", reply("r1", *said("m1"))))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        assert ids_of((await store.list_messages(BOB, MessageQuery(conversation_id="c1"))).messages) == ["m1", "r1"]

    async def test_an_erased_reply_is_refused_when_it_is_brought_back(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "q1", reply("r1", *said("m1"))))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        archived = await store.archive(ALICE, batch("b1", "c2", "q1", message("r1", role="assistant"), "q2"))
        assert (archived.archived, archived.duplicates, archived.refused) == (1, 1, 1)

    async def test_a_reply_that_was_not_stored_yet_is_refused_once_its_source_is_erased(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.append(ALICE, append("c4", "m3"))
        await store.add_memories(ALICE, (memory("k1"),))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        await store.erase_conversation(ALICE, "c4", erasure())
        await store.erase_memory(ALICE, "k1", erasure())
        late = [reply("r1", *said("m1")), reply("r2", Repeated("c4", "m0")), reply("r3", known("k1"))]
        recorded = await store.record_turn(ALICE, turn("t1", append("c2", "q1", *late, reply("r4", *said("m2")))))
        assert (ids_of(recorded.messages), recorded.refused) == (["q1", "r4"], ("r1", "r2", "r3"))
        archived = await store.archive(ALICE, batch("b1", "c3", "q2", *late))
        assert (archived.archived, archived.refused) == (1, 3)

    async def test_a_summary_in_the_place_of_a_reply_loses_its_words(self, store: Store) -> None:
        await store.append(ALICE, append("c2", "m1"))
        await store.append(ALICE, append("c1", "q1", reply("r1", Repeated("c2", "m1")), "q2", "q3"))
        await store.put_summary(ALICE, summary("s1", "q1", "r1", delete_originals=True))
        await store.put_summary(ALICE, summary("s2", "q2", delete_originals=True))
        await store.put_summary(ALICE, summary("s3", folds=("s1", "s2")))
        receipt = await store.erase_message(ALICE, "c2", "m1", erasure())
        assert receipt.erased == Erased(messages=1, summaries=2)
        active = await store.active_summaries(ALICE, "c1")
        assert [(one.id, one.content) for one in active] == [("s1", NOTHING_LEFT), ("s2", "text of s2")]
        assert await page_ids(store, "c1") == ["q3"]
        archived = await store.archive(ALICE, batch("b1", "c1", "q1", reply("r1", Repeated("c2", "m1"))))
        assert archived.refused == 2

    async def test_a_reply_stays_with_a_message_that_a_summary_took_the_place_of(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3"))
        await store.append(ALICE, append("c2", "q1", reply("r1", *said("m1"))))
        await store.put_summary(ALICE, summary("s1", "m1", "m2", delete_originals=True))
        assert await page_ids(store, "c2") == ["q1", "r1"]
        receipt = await store.clear_conversation(ALICE, "c1", erasure())
        assert receipt.erased == Erased(messages=2, summaries=1)
        assert await page_ids(store, "c2") == ["q1"]

    async def test_what_names_no_source_repeats_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        odd: tuple[object, ...] = (
            True,
            [],
            "m1",
            {"memory_id": "k1"},
            [None, "m1", {}, {"message_id": "m1"}, {"memory_id": 5}],
        )
        for number, value in enumerate(odd):
            given = message(f"r{number}", role="assistant", metadata={REPEATS: value})
            await store.append(ALICE, append("c2", given))
        # What a person said is that person's, whatever a client writes beside it.
        own = message("q1", metadata=repeating(said("m1")))
        await store.append(ALICE, append("c2", own))
        assert (await store.erase_message(ALICE, "c1", "m1", erasure())).erased == Erased(messages=1)
        assert len(await page_ids(store, "c2")) == len(odd) + 1

    async def test_a_user_is_erased_with_all_replies(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c3"))
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "q1", reply("r1", *said("m1"))))
        assert (await store.erase_user(ALICE, erasure())).erased == Erased(conversations=3, messages=3)

    async def test_a_reply_that_is_stored_while_its_source_is_erased_is_not_left(self, store: Store) -> None:
        for number in range(10):
            home, place = f"a{number}", f"b{number}"
            await store.append(ALICE, append(home, "m1"))
            await store.append(ALICE, append(place, "q1"))
            answered = reply("r1", Repeated(home, "m1"))
            await asyncio.gather(
                store.append(ALICE, append(place, answered)), store.erase_message(ALICE, home, "m1", erasure())
            )
            assert await page_ids(store, place) == ["q1"]
