"""Which memories are worded like a new one, found by a rough comparison first."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from recollect.domain.memory import NewMemory, memory_from, normalised
from recollect.domain.passage import IndexedMemory
from recollect.embedding.static import StaticEmbedder
from recollect.service.embedding import Embedding
from recollect.service.knowledge import LEAST_WORDING, NEAREST, UserKnowledge

NOW = datetime(2024, 6, 15, tzinfo=UTC)
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


def knowledge_of(texts: list[str]) -> UserKnowledge:
    embedding = Embedding(None, StaticEmbedder(), None)  # type: ignore[arg-type]  # nothing is embedded or stored
    items = [memory_from(NewMemory(id=f"m{at:03}", content=text, at=NOW)) for at, text in enumerate(texts)]
    return UserKnowledge(1, [IndexedMemory(one) for one in items], embedding)


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
    wording = normalised(new)
    assert set(knowledge_of(texts)._worded_alike(wording)) == alike(texts, wording)


@given(st.integers(NEAREST - 2, 3 * NEAREST), _TEXTS)
def test_of_many_that_are_alike_the_same_nearest_are_taken(count: int, new: str) -> None:
    texts = [f"{new} {at % 7}{'z' * (at % 5)}" for at in range(count)]
    wording = normalised(new)
    assert set(knowledge_of(texts)._worded_alike(wording)) == alike(texts, wording)
