"""The memories of one user are found by what they say; standing decides between equals, and repetition steps back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.domain.memory import Memory, NewMemory, holds, memory_from
from recollect.domain.passage import IndexedMemory
from recollect.recall.memories import MemoryHit, MemoryIndex
from recollect.recall.question import question_of

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
DIMENSIONS = 8


def direction(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return vector / np.linalg.norm(vector)


def memory(memory_id: str, content: str, **more: Any) -> Memory:
    made = memory_from(NewMemory(id=memory_id, content=content, at=NOW))
    return msgspec.structs.replace(made, **more)


def index_of(*memories: Memory) -> MemoryIndex:
    index = MemoryIndex(DIMENSIONS)
    index.put(IndexedMemory(one) for one in memories)
    return index


def search(index: MemoryIndex, text: str, limit: int = 10) -> list[MemoryHit]:
    return index.search(question_of(text, NOW), limit)


def found(index: MemoryIndex, text: str, limit: int = 10) -> list[str]:
    return [hit.memory.id for hit in search(index, text, limit)]


CAT = memory("cat", "The user has a grey cat called Luna")
JOB = memory("job", "The user works as a nurse in Bergen")
TEA = memory("tea", "The user prefers green tea to coffee")


def test_an_empty_index_finds_nothing() -> None:
    assert found(MemoryIndex(DIMENSIONS), "cat") == []


def test_what_says_it_comes_first_with_its_reasons() -> None:
    best = search(index_of(CAT, JOB, TEA), "What is the cat called?")[0]
    assert best.memory == CAT
    assert best.why == ("words: cat, called",)


def test_the_reasons_name_only_words_that_the_memory_says() -> None:
    filed = memory("filed", "Sings in a choir", category="music", subject="user", attribute="choir")
    (hit,) = search(index_of(filed), "music in the choir")
    assert hit.why == ("words: choir",)
    assert found(index_of(CAT, filed), "music")[0] == "filed", "it is found by what it is filed under all the same"


def test_other_words_for_the_same_find_it_too() -> None:
    assert found(index_of(CAT, JOB, TEA), "Any pets?")[0] == "cat"


def test_meaning_finds_what_no_word_does() -> None:
    index = MemoryIndex(DIMENSIONS)
    index.put([IndexedMemory(CAT, direction(1).astype("<f2").tobytes()), IndexedMemory(JOB)])
    hits = index.search(question_of("xyzzy", NOW, direction(1)), 1)
    assert [hit.memory.id for hit in hits] == ["cat"]
    assert hits[0].why == ("near in meaning (1.00)",)


def test_between_equals_standing_decides() -> None:
    for better in (
        {"importance": 0.9},
        {"is_pinned": True},
        {"access_count": 20},
        {"updated_at": NOW, "created_at": NOW},
    ):
        old = NOW - timedelta(days=300)
        plain = memory("a", "The user likes tea", created_at=old, updated_at=old)
        index = index_of(plain, msgspec.structs.replace(plain, id="b", **better))
        assert found(index, "tea")[0] == "b", better


def test_standing_does_not_outweigh_what_was_asked() -> None:
    shouting = memory("loud", "The user lives in Oslo", importance=1.0, is_pinned=True, access_count=1_000)
    assert found(index_of(shouting, CAT), "What is the name of my cat?")[0] == "cat"


def test_equal_memories_come_in_order_of_id() -> None:
    index = index_of(memory("b", "likes tea"), memory("c", "likes tea"), memory("a", "likes tea"))
    assert found(index, "tea") == ["a", "b", "c"]


def test_a_repetition_steps_back_for_something_else() -> None:
    tea, mug, far, *_ = np.eye(DIMENSIONS, dtype=np.float32)
    index = MemoryIndex(DIMENSIONS)
    items = [("tea1", tea), ("tea2", tea), ("mug", mug), ("far", far)]
    index.put(IndexedMemory(memory(name, name), vector.astype("<f2").tobytes()) for name, vector in items)
    hits = index.search(question_of("xyzzy", NOW, 0.8 * tea + 0.6 * mug), 3)
    assert [hit.memory.id for hit in hits] == ["tea1", "mug", "tea2"]


def test_only_what_is_kept_is_returned() -> None:
    past = memory("past", "The user has a cat called Tom", valid_to=NOW, superseded_by="cat")
    index = index_of(CAT, past, JOB)
    hits = index.search(question_of("cat", NOW), 10, lambda one: holds(one, None))
    assert [hit.memory.id for hit in hits] == ["cat", "job"]


def test_a_memory_takes_the_place_of_what_it_was() -> None:
    index = index_of(CAT, JOB)
    index.put([IndexedMemory(msgspec.structs.replace(CAT, content="The user has a brown dog called Rex"))])
    assert len(index) == 2
    assert search(index, "dog")[0].memory.content.endswith("Rex")


def test_a_deleted_memory_leaves() -> None:
    index = index_of(CAT, JOB)
    index.put([IndexedMemory(msgspec.structs.replace(CAT, deleted_at=NOW))])
    assert found(index, "cat") == ["job"]


def test_replacing_holds_these_and_no_others() -> None:
    index = index_of(CAT, JOB)
    index.replace([IndexedMemory(TEA)])
    assert found(index, "cat") == ["tea"]


def test_memories_that_are_gone_are_cleared_away() -> None:
    index = MemoryIndex(DIMENSIONS)
    for _ in range(3):
        index.put(IndexedMemory(memory(f"m{n:03}", f"statement number {n}")) for n in range(600))
    size = index.nbytes
    for _ in range(6):
        index.put(IndexedMemory(memory(f"m{n:03}", f"statement number {n}")) for n in range(600))
    assert len(index) == 600
    assert index.nbytes <= 2 * size
    assert found(index, "number 42", 1) == ["m042"]


def test_the_time_that_a_question_speaks_of_is_favoured() -> None:
    spring = datetime(2023, 5, 3, tzinfo=UTC)
    index = index_of(memory("a", "The user went to Rome"), memory("b", "The user went to Rome", valid_from=spring))
    best = search(index, "Where did I go in May 2023?")[0]
    assert best.memory.id == "b"
    assert "of may 2023" in best.why


def test_what_is_added_between_searches_is_found_as_if_all_had_come_together() -> None:
    index = index_of(CAT)
    assert found(index, "cat") == ["cat"]
    others = [memory(f"m{number}", f"The user has seen {number} cats in Bergen") for number in range(70)]
    index.put(IndexedMemory(one, direction(at).astype("<f2").tobytes()) for at, one in enumerate(others))
    index.put([IndexedMemory(JOB)])
    gone = [msgspec.structs.replace(one, deleted_at=NOW) for one in (others[3], JOB)]
    index.put(IndexedMemory(one) for one in gone)
    (memory_id, closeness), *_ = index.close(direction(5).astype(np.float32), 0.9)
    assert memory_id == "m5"
    assert closeness == pytest.approx(1.0, abs=1e-3)
    every = dict(index.close(direction(3).astype(np.float32), -1.0))
    assert every.keys() == {f"m{number}" for number in range(70) if number != 3}
    assert sorted(every.values(), reverse=True) == list(every.values())
    anew = MemoryIndex(DIMENSIONS)
    kept = [(at, one) for at, one in enumerate(others) if at != 3]
    anew.put([IndexedMemory(CAT), *(IndexedMemory(one, direction(at).astype("<f2").tobytes()) for at, one in kept)])
    for text in ("cats in Bergen", "a nurse", "seen 12"):
        assert search(index, text) == search(anew, text)
    assert index.vector("m3") is None
