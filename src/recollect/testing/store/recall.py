"""Recall: what can be found of conversations and memories, the vectors that go with it, and who has none yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from recollect.domain.conversation import ConversationChanges
from recollect.domain.memory import MemoryChanges
from recollect.domain.message import ToolCall
from recollect.domain.passage import ConversationPassages, PassageMatch, PassageQuery, Passages, Reading
from recollect.domain.vector import MemoryVector, Vector, VectorBatch
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.samples import (
    ALICE,
    BOB,
    STRANGER,
    after,
    append,
    batch,
    erasure,
    ids_of,
    memory,
    message,
    message_vectors,
    summary,
    turn,
    vector,
)
from recollect.testing.store.dump import dump

EAST, NORTH, WEST = vector(1, 0), vector(0, 1), vector(-1, 0)


async def passages(store: Store, known: dict[str, Reading] | None = None, model: str = "model") -> Passages:
    """Return what is new of Alice's conversations."""
    return await store.read_passages(ALICE, PassageQuery(model=model, known=known or {}))


async def readings(store: Store) -> dict[str, Reading]:
    """Return how far Alice's conversations can be read now."""
    return {one.conversation_id: one.reading for one in (await passages(store)).changed}


def shown(one: ConversationPassages) -> list[tuple[str, bytes | None]]:
    """Return the ids and the vectors of the passages of a conversation."""
    return [(passage.message.id, passage.vector) for passage in one.passages]


async def found(store: Store, *terms: str, **more: Any) -> list[str]:
    """Return the ids of the messages of Alice that match."""
    matched = await store.match_passages(ALICE, PassageMatch(terms=terms, **more))
    return [f"{passage.message.conversation_id} {passage.message.id}" for passage in matched.passages]


async def vectors_of(store: Store, conversation_id: str = "c1") -> dict[str, bytes | None]:
    """Return the vectors of the messages of one conversation of Alice's."""
    (one,) = [one for one in (await passages(store)).changed if one.conversation_id == conversation_id]
    return dict(shown(one))


async def memory_vectors(store: Store) -> dict[str, bytes | None]:
    """Return the vectors of Alice's memories."""
    indexed = await store.read_memories(ALICE, "model")
    assert indexed is not None
    return {one.memory.id: one.vector for one in indexed.items}


async def revision(store: Store) -> int:
    """Return the revision of Alice's memories."""
    indexed = await store.read_memories(ALICE, "model")
    assert indexed is not None
    return indexed.revision


def of_messages(conversation_id: str = "c1", **vectors: Vector) -> VectorBatch:
    """Return vectors of messages to keep."""
    return VectorBatch(conversation_id=conversation_id, messages=message_vectors(**vectors))


class PassageConformance:
    """Check what a store promises about reading what can be recalled."""

    async def test_passages_are_what_users_and_assistants_said_in_order(self, store: Store) -> None:
        call = ToolCall(id="call", tool_name="clock")
        spoken = (
            message("m1"),
            message("m2", role="system"),
            message("m3", " ", role="assistant", tool_calls=(call,)),
            message("m4", role="tool", tool_call_id="call"),
            message("m5", role="assistant"),
        )
        await store.append(ALICE, append("c2", "x1"))
        await store.append(ALICE, append("c1", *spoken))
        read = await passages(store)
        assert [(one.conversation_id, one.from_seq) for one in read.changed] == [("c1", 0), ("c2", 0)]
        assert shown(read.changed[0]) == [("m1", None), ("m5", None)]
        assert read.changed[0].passages[1].message == await store.get_message(ALICE, "c1", "m5")
        assert (read.total, read.gone, read.too_many) == (6, (), False)

    async def test_nothing_is_read_again_while_nothing_changed(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "m1"))
        known = await readings(store)
        assert (await passages(store, known)) == Passages(total=2)

    async def test_only_what_was_added_is_read(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.append(ALICE, append("c2", "m1"))
        known = await readings(store)
        await store.append(ALICE, append("c1", "m3"))
        await store.record_turn(ALICE, turn("t1", append("c1", "m4", message("m5", role="assistant"))))
        await store.put_summary(ALICE, summary("s1", "m1", "m2"))
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, title="New"))
        (one,) = (await passages(store, known)).changed
        assert (one.conversation_id, one.from_seq, ids_of(p.message for p in one.passages)) == (
            "c1",
            3,
            ["m3", "m4", "m5"],
        )
        assert one.reading == (await readings(store))["c1"]

    async def test_all_is_read_again_after_anything_but_an_append(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3", "m4"))
        changes: list[Callable[[], Awaitable[object]]] = [
            lambda: store.erase_message(ALICE, "c1", "m2", erasure("r1")),
            lambda: store.save_vectors(ALICE, of_messages(m1=EAST)),
            lambda: store.put_summary(ALICE, summary("s1", "m1", delete_originals=True)),
            lambda: store.change_conversation(ALICE, "c1", ConversationChanges(at=START, head_id="m3")),
            lambda: store.append(ALICE, append("c1", message("m5", parent_id=None))),
            lambda: store.clear_conversation(ALICE, "c1", erasure("r2")),
        ]
        for number, change in enumerate(changes):
            known = await readings(store)
            await change()
            await store.append(ALICE, append("c1", f"more{number}"))
            (one,) = (await passages(store, known)).changed
            assert one.from_seq == 0, number
            assert one == (await passages(store)).changed[0], number

    async def test_a_cleared_conversation_is_never_taken_for_the_old_one(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        known = await readings(store)
        await store.clear_conversation(ALICE, "c1", erasure())
        await store.append(ALICE, append("c1", "m3", "m4", "m5", "m6"))
        (one,) = (await passages(store, known)).changed
        assert (one.from_seq, len(one.passages)) == (0, 4)

    async def test_conversations_that_are_gone_are_named(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "m1"))
        known = await readings(store)
        await store.erase_conversation(ALICE, "c1", erasure())
        read = await passages(store, known)
        assert (read.gone, read.changed, read.total) == (("c1",), (), 1)

    async def test_only_the_branch_that_leads_to_the_head_is_recalled(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "old words", message("m3", role="assistant")))
        await store.append(ALICE, append("c1", message("new words", parent_id="m1")))
        assert list(await vectors_of(store)) == ["m1", "new words"]
        assert await found(store, "words", limit=9) == ["c1 m1", "c1 new words"]
        known = await readings(store)
        await store.append(ALICE, append("c1", "m5"))
        (one,) = (await passages(store, known)).changed
        assert (one.from_seq, shown(one)) == (5, [("m5", None)])
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, head_id="m3"))
        assert list(await vectors_of(store)) == ["m1", "old words", "m3"]
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, head_id=None))
        assert list(await vectors_of(store)) == []
        assert await found(store, "words") == []

    async def test_more_messages_than_allowed_are_not_read(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.append(ALICE, append("c2", "m1"))
        read = await store.read_passages(ALICE, PassageQuery(model="model", at_most=2))
        assert read == Passages(total=3, too_many=True)
        assert not (await store.read_passages(ALICE, PassageQuery(model="model", at_most=3))).too_many

    async def test_nothing_of_another_is_recalled(self, store: Store) -> None:
        said = append("c1", "m1", vectors=message_vectors(m1=EAST))
        for stranger in (BOB, STRANGER):
            await store.append(stranger, said)
            await store.add_memories(stranger, (memory("k1", vector=EAST),))
        assert await passages(store) == Passages()
        assert await found(store, "words", vector=EAST) == []
        assert await memory_vectors(store) == {}
        assert (await store.list_unembedded(ALICE, "other", 9)).total == 0
        theirs = VectorBatch(
            conversation_id="c1", messages=message_vectors(m1=NORTH), memories=(MemoryVector("k1", 1, NORTH),)
        )
        assert await store.save_vectors(ALICE, theirs) == 0
        (one,) = (await store.read_passages(BOB, PassageQuery(model="model"))).changed
        assert shown(one) == [("m1", EAST.values)]


class MatchConformance:
    """Check what a store promises about finding candidates."""

    async def test_rare_terms_count_more_than_common_ones(self, store: Store) -> None:
        for number, text in enumerate(("tea please", "a zebra", "tea for two", "more tea", "and tea"), 1):
            await store.append(ALICE, append(f"c{number}", message("m1", text)))
        assert await found(store, "tea", "zebra", limit=1) == ["c2 m1"]
        matched = await store.match_passages(ALICE, PassageMatch(terms=("tea", "zebra", "none", "tea")))
        assert (matched.total, matched.frequencies) == (5, (4, 1, 0, 4))

    async def test_candidates_come_with_their_neighbours(self, store: Store) -> None:
        texts = {"m1": "far", "m2": "before", "m3": "zebra", "m5": "after", "m6": "far"}
        said = [message(name, text) for name, text in texts.items()]
        said.insert(3, message("m4", "not counted", role="tool", tool_call_id="call"))
        await store.append(ALICE, append("c1", *said))
        await store.append(ALICE, append("c0", message("m1", "zebra crossing")))
        assert await found(store, "zebra") == ["c0 m1", "c1 m2", "c1 m3", "c1 m5"]

    async def test_the_nearest_in_meaning_are_found_without_a_word(self, store: Store) -> None:
        near = {"m1": WEST, "m2": vector(0.6, 0.8), "m3": vector(0.8, 0.6), "m4": vector(1, 0, model="other")}
        for name, one in near.items():
            await store.append(ALICE, append(f"c-{name}", name, vectors=message_vectors(**{name: one})))
        await store.append(ALICE, append("c-m5", "m5", vectors=message_vectors(m5=vector(1, 0, 0))))
        assert await found(store, vector=EAST, limit=1) == ["c-m3 m3"]
        assert await found(store, vector=EAST, limit=2) == ["c-m2 m2", "c-m3 m3"]
        assert await found(store, vector=EAST) == ["c-m1 m1", "c-m2 m2", "c-m3 m3"]
        assert await found(store, "m5", vector=EAST, limit=1) == ["c-m3 m3", "c-m5 m5"]

    async def test_candidates_come_with_their_vectors(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", vectors=message_vectors(m1=EAST)))
        with_vector = await store.match_passages(ALICE, PassageMatch(terms=("m1",), vector=NORTH))
        assert [passage.vector for passage in with_vector.passages] == [EAST.values, None]
        without = await store.match_passages(ALICE, PassageMatch(terms=("m1",)))
        assert [passage.vector for passage in without.passages] == [None, None]

    async def test_terms_that_are_no_terms_match_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", 'words "quoted" words')))
        for term in ('"', 'a" OR "words', "words quoted", "words*", "WORDS", "", "NOT words", "ter\u0301m"):
            assert await found(store, term) == [], term


class VectorConformance:
    """Check what a store promises about vectors."""

    async def test_vectors_come_back_bit_for_bit(self, store: Store) -> None:
        every = [bytes((low, high)) for high in (0x00, 0x04, 0x3C, 0x7B, 0x80, 0x84, 0xBC, 0xFB) for low in (0, 1, 255)]
        odd = Vector("model", b"".join(every))
        await store.append(ALICE, append("c1", "m1", vectors=message_vectors(m1=odd)))
        await store.add_memories(ALICE, (memory("k1", vector=odd),))
        assert await vectors_of(store) == {"m1": odd.values}
        assert await memory_vectors(store) == {"k1": odd.values}

    async def test_vectors_are_kept_with_the_messages_that_are_stored(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "gone"))
        await store.erase_message(ALICE, "c1", "gone", erasure())
        said = append("c1", "m1", "gone", "m2", vectors=message_vectors(m1=EAST, gone=EAST, m2=NORTH))
        assert (await store.append(ALICE, said)).refused == ("gone",)
        await store.archive(ALICE, batch("b1", "c1", "m3", vectors=message_vectors(m3=WEST)))
        await store.record_turn(ALICE, turn("t1", append("c1", "m4", vectors=message_vectors(m4=EAST))))
        system = append("c1", message("m5", role="system"), vectors=message_vectors(m5=EAST))
        await store.append(ALICE, system)
        wanted = {"m1": None, "m2": NORTH.values, "m3": WEST.values, "m4": EAST.values}
        assert await vectors_of(store) == wanted
        assert (await store.list_unembedded(ALICE, "model", 9)).total == 4

    async def test_only_vectors_of_the_model_that_is_asked_for_are_read(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", vectors=message_vectors(m1=EAST)))
        await store.add_memories(ALICE, (memory("k1", vector=EAST),))
        (one,) = (await passages(store, model="other")).changed
        assert shown(one) == [("m1", None)]
        indexed = await store.read_memories(ALICE, "other")
        assert indexed is not None
        assert [one.vector for one in indexed.items] == [None]

    async def test_a_memory_loses_its_vector_with_its_content(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", vector=EAST),))

        async def changed(**changes: Any) -> bytes | None:
            await store.change_memory(ALICE, "k1", MemoryChanges(at=START, **changes))
            return (await memory_vectors(store))["k1"]

        assert await changed(importance=0.9) == EAST.values
        assert await changed(content="Other words") is None
        assert await changed(content="Words again", vector=NORTH) == NORTH.values
        assert await changed(vector=WEST) == WEST.values
        assert (await store.get_memory(ALICE, "k1")).version == 4
        assert await changed(vector=None) is None

    async def test_a_deleted_memory_has_no_vector_even_when_it_is_brought_back(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", vector=EAST),))
        await store.change_memory(ALICE, "k1", MemoryChanges(at=START, deleted_at=START))
        assert await memory_vectors(store) == {}
        assert (await store.list_unembedded(ALICE, "model", 9)).total == 0
        await store.change_memory(ALICE, "k1", MemoryChanges(at=START, deleted_at=None))
        assert await memory_vectors(store) == {"k1": None}
        assert ids_of((await store.list_unembedded(ALICE, "model", 9)).memories) == ["k1"]

    async def test_vectors_are_kept_later_unless_their_texts_are_gone_or_changed(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", message("m3", role="system")))
        await store.add_memories(ALICE, (memory("k1"), memory("k2"), memory("k3")))
        await store.change_memory(ALICE, "k2", MemoryChanges(at=START, content="Other words"))
        await store.change_memory(ALICE, "k3", MemoryChanges(at=START, deleted_at=START))
        later = VectorBatch(
            conversation_id="c1",
            messages=message_vectors(m1=EAST, m3=EAST, gone=EAST),
            memories=tuple(MemoryVector(name, 1, EAST) for name in ("k1", "k2", "k3", "gone")),
        )
        assert await store.save_vectors(ALICE, later) == 2
        assert await vectors_of(store) == {"m1": EAST.values, "m2": None}
        assert await memory_vectors(store) == {"k1": EAST.values, "k2": None}
        assert await store.save_vectors(ALICE, of_messages("gone", m1=EAST)) == 0

    async def test_vectors_that_come_to_nothing_change_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.add_memories(ALICE, (memory("k1"),))
        before = await dump(store, ALICE)
        await store.save_vectors(ALICE, of_messages(gone=EAST))
        await store.save_vectors(ALICE, VectorBatch(memories=(MemoryVector("k1", 2, EAST),)))
        assert await dump(store, ALICE) == before

    async def test_a_window_stays_true_when_vectors_are_kept(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        before = await store.get_window(ALICE, "c1")
        await store.save_vectors(ALICE, of_messages(m1=EAST))
        window = await store.get_window(ALICE, "c1")
        assert window.conversation == await store.get_conversation(ALICE, "c1")
        assert window.conversation.revision == before.conversation.revision + 1
        assert window.messages == before.messages

    async def test_what_has_no_vector_is_listed_until_it_has_one(self, store: Store) -> None:
        for number in (1, 2):
            await store.append(ALICE, append(f"c{number}", "m1", "m2", "m3"))
        await store.add_memories(ALICE, (memory("k1"), memory("k2")))
        listed: list[str] = []
        left = await store.list_unembedded(ALICE, "model", 2)
        while left.messages or left.memories:
            assert left.remaining == 8 - len(listed)
            assert left.total == 8
            home = left.messages[0].conversation_id if left.messages else None
            listed += [f"{one.conversation_id} {one.id}" for one in left.messages]
            listed += ids_of(left.memories)
            done = VectorBatch(
                conversation_id=home,
                messages=message_vectors(**{one.id: EAST for one in left.messages}),
                memories=tuple(MemoryVector(one.id, one.version, EAST) for one in left.memories),
            )
            assert await store.save_vectors(ALICE, done) == len(left.messages) + len(left.memories)
            left = await store.list_unembedded(ALICE, "model", 2)
        assert listed == [*(f"c{n} m{m}" for n in (1, 2) for m in (1, 2, 3)), "k1", "k2"]
        assert left.remaining == 0

    async def test_what_has_no_vector_at_all_comes_before_what_has_another_models(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", vectors=message_vectors(m1=EAST)))
        for model in ("a model", "z model"):
            left = await store.list_unembedded(ALICE, model, 9)
            assert (ids_of(left.messages), left.remaining) == (["m2", "m1"], 2)
        await store.save_vectors(ALICE, of_messages(m1=vector(1, 0, model="z model")))
        assert await vectors_of(store) == {"m1": None, "m2": None}


class MemoryRevisionConformance:
    """Check what a store promises about reading memories only when they changed."""

    async def test_memories_are_read_oldest_first_unless_nothing_changed(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k2"), memory("k1")))
        await store.change_memory(ALICE, "k2", MemoryChanges(at=START, superseded_by="k1", valid_to=after(1)))
        indexed = await store.read_memories(ALICE, "model")
        assert indexed is not None
        assert [one.memory for one in indexed.items] == [await store.get_memory(ALICE, name) for name in ("k2", "k1")]
        assert await store.read_memories(ALICE, "model", indexed.revision) is None
        assert await store.read_memories(ALICE, "model", indexed.revision - 1) == indexed

    async def test_every_change_of_memories_raises_their_revision(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        changes: list[Callable[[], Awaitable[object]]] = [
            lambda: store.add_memories(ALICE, (memory("k1"), memory("k2"), memory("k3"))),
            lambda: store.change_memory(ALICE, "k1", MemoryChanges(at=START, importance=0.9)),
            lambda: store.change_memory(ALICE, "k1", MemoryChanges(at=START, vector=EAST)),
            lambda: store.save_vectors(ALICE, VectorBatch(memories=(MemoryVector("k2", 1, EAST),))),
            lambda: store.erase_memory(ALICE, "k2", erasure("r1")),
            lambda: store.erase_user(ALICE, erasure("r2")),
            lambda: store.add_memories(ALICE, (memory("k4"),)),
        ]
        last = await revision(store)
        for number, change in enumerate(changes):
            await change()
            assert await revision(store) > last, number
            last = await revision(store)

    async def test_what_changes_no_memory_leaves_their_revision(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        before = await revision(store)
        await store.add_memories(ALICE, (memory("k1"),))
        await store.change_memory(ALICE, "k1", MemoryChanges(at=START, importance=0.5))
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), memory_ids=("k1",)))
        await store.save_vectors(ALICE, of_messages(m1=EAST))
        await store.add_memories(BOB, (memory("k1"),))
        assert await revision(store) == before
