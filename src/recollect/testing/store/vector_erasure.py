"""Erasing vectors: they go with their texts, and the receipt says how many."""

from __future__ import annotations

from recollect.domain.memory import Source
from recollect.ports.store import Store
from recollect.testing.samples import ALICE, append, erasure, memory, message_vectors, summary, vector
from recollect.testing.store.recall import memory_vectors, vectors_of

EAST = vector(1, 0)


class EraseVectorConformance:
    """Check what a store promises about the vectors of what is erased."""

    async def test_the_vectors_of_what_is_erased_are_gone_and_counted(self, store: Store) -> None:
        names = ("m1", "m2", "m3", "m4")
        for conversation_id in ("c1", "c2", "c3"):
            vectors = message_vectors(**dict.fromkeys(names[:3], EAST))
            await store.append(ALICE, append(conversation_id, *names, vectors=vectors))
        learned = memory("k1", origin="user", sources=(Source("c1", "m1"),), vector=EAST)
        await store.add_memories(ALICE, (learned, memory("k2", vector=EAST), memory("k3"), memory("k4", vector=EAST)))
        assert (await store.erase_message(ALICE, "c1", "m1", erasure("r1"))).erased.vectors == 2
        assert await memory_vectors(store) == {"k2": EAST.values, "k3": None, "k4": EAST.values}
        await store.put_summary(ALICE, summary("s1", "m2", delete_originals=True))
        assert await vectors_of(store) == {"m3": EAST.values, "m4": None}
        assert (await store.erase_memory(ALICE, "k2", erasure("r2"))).erased.vectors == 1
        assert (await store.erase_memory(ALICE, "k3", erasure("r3"))).erased.vectors == 0
        assert (await store.clear_conversation(ALICE, "c1", erasure("r4"))).erased.vectors == 1
        assert (await store.erase_conversation(ALICE, "c2", erasure("r5"))).erased.vectors == 3
        left = await store.list_unembedded(ALICE, "model", 9)
        assert (left.remaining, left.total) == (1, 5)
        assert (await store.erase_user(ALICE, erasure("r6"))).erased.vectors == 4
        assert (await store.list_unembedded(ALICE, "model", 9)).total == 0
