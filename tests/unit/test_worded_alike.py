"""Which memories are worded like a new one, found by a rough comparison first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import repeat

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from recollect.domain.likeness import DEFAULT_THRESHOLDS, Said, are_same
from recollect.domain.memory import NewMemory, memory_from, normalised
from recollect.domain.passage import IndexedMemory
from recollect.domain.vector import Vector
from recollect.embedding.static import StaticEmbedder
from recollect.service.embedding import Embedding
from recollect.service.knowledge import LEAST_WORDING, NEAREST, UserKnowledge, closeness, floats
from tests.unit.test_likeness import SAME

NOW = datetime(2024, 6, 15, tzinfo=UTC)
EMBEDDER = StaticEmbedder()
_WORDS = st.sampled_from(
    [
        "the",
        "a",
        "user",
        "likes",
        "lives",
        "in",
        "Oslo",
        "Bergen",
        "tea",
        "green",
        "every",
        "12",
        "not",
        "Казань",
        "東京",
        "ß",
        "é",
    ]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=25).map(" ".join)


def newcomer(text: str, vector: Vector | None = None) -> NewMemory:
    return NewMemory(id="new", content=text, at=NOW, vector=vector)


def knowledge_of(texts: Sequence[str], vectors: Sequence[Vector] = ()) -> UserKnowledge:
    embedding = Embedding(None, EMBEDDER, None)  # type: ignore[arg-type]  # nothing is embedded or stored
    stored = [memory_from(NewMemory(id=f"m{at:03}", content=text, at=NOW)) for at, text in enumerate(texts)]
    values = [*(vector.values for vector in vectors), *repeat(None, len(stored) - len(vectors))]
    items = [IndexedMemory(one, value) for one, value in zip(stored, values, strict=True)]
    return UserKnowledge(1, items, embedding)


def vectors_of(texts: Sequence[str]) -> list[Vector]:
    return [Vector(EMBEDDER.model, row.astype("<f2").tobytes()) for row in EMBEDDER.vectors_of(texts)]


def near(known: UserKnowledge, new: NewMemory) -> set[str]:
    return {memory.id for memory in known.near((new,))}


def alike(texts: list[str], wording: str) -> set[str]:
    """Compare with each one exactly."""
    wordings = {f"m{at:03}": normalised(text) for at, text in enumerate(texts)}
    measure = Levenshtein.normalized_similarity
    hits = process.extract(wording, wordings, scorer=measure, score_cutoff=LEAST_WORDING, limit=NEAREST)
    return {memory_id for _, _, memory_id in hits}


@given(st.lists(_TEXTS, max_size=15), _TEXTS, st.data())
def test_nothing_that_is_worded_alike_is_missed(texts: list[str], new: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(new)))
    cut = data.draw(st.integers(0, max(1, len(new) // 3)))
    texts = [*texts, new[:place] + new[place + cut :] + "x" * cut, new[:place] + "y" * cut + new[place:]]
    assert near(knowledge_of(texts), newcomer(new)) == alike(texts, normalised(new))


@given(st.integers(NEAREST - 2, 3 * NEAREST), _TEXTS)
def test_of_many_that_are_alike_the_same_nearest_are_taken(count: int, new: str) -> None:
    texts = [f"{new} {at % 7}{'z' * (at % 5)}" for at in range(count)]
    assert near(knowledge_of(texts), newcomer(new)) == alike(texts, normalised(new))


def test_what_says_the_same_is_found_among_others_by_its_meaning_or_its_wording() -> None:
    found: list[tuple[str, str]] = []
    for one, other in [*SAME, *((other, one) for one, other in SAME)]:
        others = [text for pair in SAME if one not in pair for text in pair]
        mine, theirs, *rest = vectors_of([one, other, *others])
        if are_same(Said(one), Said(other), closeness(floats(mine), floats(theirs)), DEFAULT_THRESHOLDS):
            known = knowledge_of([other, *others], [theirs, *rest])
            assert "m000" in near(known, newcomer(one, mine)), (one, other)
            found.append((one, other))
    # All but one pair, which is neither worded nor meant alike enough to be looked at.
    assert len(found) >= 2 * len(SAME) - 2


def test_what_has_no_vector_yet_is_found_by_its_wording() -> None:
    mine, theirs = vectors_of(["Lives in the old town of Bergen", "Plays the piano"])
    known = knowledge_of(["Plays the piano", "Lives in an old town of Bergen"], [theirs])
    assert near(known, newcomer("Lives in the old town of Bergen", mine)) == {"m001"}


def test_what_the_embedder_knows_nothing_of_is_found_by_its_wording() -> None:
    (nothing,) = vectors_of([""])
    known = knowledge_of(["zzz zzz"], [nothing])
    assert near(known, newcomer("zzz zzzy", nothing)) == {"m000"}
