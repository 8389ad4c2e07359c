"""Turns: everything that one turn writes is there, once, or none of it is."""

from __future__ import annotations

from recollect.domain.job import JobQuery
from recollect.domain.turn import Usage
from recollect.errors import ConversationNotFoundError, InvalidMessageError, RequestInFlightError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import (
    ALICE,
    after,
    answer,
    append,
    context_record,
    erasure,
    ids_of,
    job,
    memory,
    message,
    start,
    turn,
)
from recollect.testing.store.messages import page_ids


class TurnConformance:
    """Check what a store promises about turns."""

    async def test_a_turn_stores_its_messages_jobs_access_counts_and_answer(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"), memory("k2")))
        assert await store.begin_request(ALICE, start("key")) is None
        said = append("c1", "m1", message("m2", role="assistant"), at=after(5), jobs=(job("j1"),))
        record = turn("t1", said, memory_ids=("k1",), answer=answer("key", b"the reply"))
        appended = await store.record_turn(ALICE, record)
        assert [(one.id, one.turn_id) for one in appended.messages] == [("m1", "t1"), ("m2", "t1")]
        assert (await store.get_message(ALICE, "c1", "m2")).turn_id == "t1"
        assert ids_of(await store.list_jobs(ALICE, JobQuery())) == ["j1"]
        shown, other = [await store.get_memory(ALICE, memory_id) for memory_id in ("k1", "k2")]
        assert (shown.access_count, shown.last_accessed_at) == (1, after(5))
        assert other.access_count == 0
        assert await store.begin_request(ALICE, start("key")) == answer("key", b"the reply")

    async def test_every_part_of_a_turn_comes_back(self, store: Store) -> None:
        record = turn(
            "t1",
            append("c1", "m1", at=after(5)),
            status="interrupted",
            mode="research",
            metadata={"model": {"name": "m"}},
            usage=Usage(input_tokens=12, output_tokens=3),
            memory_ids=("k1", "k2"),
            context=context_record(),
        )
        await store.record_turn(ALICE, record)
        (stored,) = await store.list_turns(ALICE, "c1")
        for name in ("id", "status", "mode", "metadata", "usage", "memory_ids", "context"):
            assert getattr(stored, name) == getattr(record, name), name
        assert (stored.conversation_id, stored.created_at) == ("c1", after(5))

    async def test_a_turn_recorded_again_adds_only_what_was_missing(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), memory_ids=("k1",)))
        whole = append("c1", "m1", "m2", jobs=(job("j1"),))
        again = await store.record_turn(ALICE, turn("t1", whole, memory_ids=("k1",), status="failed"))
        assert (ids_of(again.messages), again.duplicates) == (["m2"], ("m1",))
        assert await page_ids(store, "c1") == ["m1", "m2"]
        (stored,) = await store.list_turns(ALICE, "c1")
        assert stored.status == "complete"
        assert (await store.get_memory(ALICE, "k1")).access_count == 1
        assert await store.list_jobs(ALICE, JobQuery()) == ()

    async def test_a_turn_that_is_refused_leaves_nothing(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await store.begin_request(ALICE, start("key"))
        said = append("c1", "m1", message("m2", parent_id="nothing"), jobs=(job("j1"),))
        with raises(InvalidMessageError):
            await store.record_turn(ALICE, turn("t1", said, memory_ids=("k1",), answer=answer("key")))
        with raises(ConversationNotFoundError):
            await store.list_turns(ALICE, "c1")
        assert await store.list_jobs(ALICE, JobQuery()) == ()
        assert (await store.get_memory(ALICE, "k1")).access_count == 0
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start("key"))

    async def test_turns_are_listed_oldest_first(self, store: Store) -> None:
        for number in (3, 1, 2):
            await store.record_turn(ALICE, turn(f"t{number}", append("c1", f"m{number}", at=after(-number))))
        assert ids_of(await store.list_turns(ALICE, "c1")) == ["t3", "t1", "t2"]
        with raises(ConversationNotFoundError):
            await store.list_turns(ALICE, "nothing")

    async def test_turns_are_found_by_their_ids(self, store: Store) -> None:
        for number in (3, 1, 2):
            await store.record_turn(ALICE, turn(f"t{number}", append("c1", f"m{number}")))
        await store.record_turn(ALICE, turn("t1", append("c2", "m1"), context=context_record()))
        found = await store.find_turns(ALICE, "c1", ("t1", "t3", "nothing"))
        assert [(one.id, one.conversation_id, one.context) for one in found] == [("t3", "c1", None), ("t1", "c1", None)]
        (other,) = await store.find_turns(ALICE, "c2", ("t1",))
        assert other.context == context_record()
        with raises(ConversationNotFoundError):
            await store.find_turns(ALICE, "nothing", ("t1",))

    async def test_a_turn_of_nothing_but_erased_messages_is_not_recorded(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1")))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        await store.record_turn(ALICE, turn("t1", append("c1", "m1")))
        assert await store.list_turns(ALICE, "c1") == ()

    async def test_an_unknown_memory_in_a_turn_is_no_error(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), memory_ids=("gone",)))
        (stored,) = await store.list_turns(ALICE, "c1")
        assert stored.memory_ids == ("gone",)
