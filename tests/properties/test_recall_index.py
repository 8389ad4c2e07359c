"""An index that was told of changes ranks as one that was built at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.message import Message, Role
from recollect.domain.passage import Passage
from recollect.recall.passages import PassageHit, PassageIndex
from recollect.recall.question import question_of
from recollect.recall.times import time_asked

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
DIMENSIONS = 4
WORDS = ("tea", "cats", "nurse", "Oslo", "茶", "I", "painted", "Ann", "the", "boat")
QUESTIONS = ("Does Ann like tea?", "cat painting", "我的茶", "boat in May 2024", "")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
said = st.tuples(texts, st.sampled_from((None, "Ann", "Bob")), st.one_of(st.none(), st.integers(0, 20)))
Said = tuple[str, str | None, int | None]
Step = tuple[str, str, int, list[Said]]
puts = st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 6), st.lists(said, max_size=5))
nothing: st.SearchStrategy[list[Said]] = st.builds(list)
drops = st.tuples(st.just("drop"), st.sampled_from("abc"), st.just(0), nothing)


def vector(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    made = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return made / np.linalg.norm(made)


def passage(conversation: str, seq: int, one: Said) -> Passage:
    text, name, seed = one
    role: Role = "assistant" if seq % 2 else "user"
    message = Message(conversation, seq, f"{conversation}{seq}", None, None, role, name, text, "complete", NOW)
    return Passage(message, None if seed is None else vector(seed).astype("<f2").tobytes())


def ranked(index: PassageIndex, text: str) -> list[PassageHit]:
    return index.search(question_of(text, NOW, vector(99)), 50)


def told(steps: Sequence[Step]) -> tuple[PassageIndex, dict[str, list[Passage]]]:
    """Tell an index of every step, and keep what must be left."""
    index, left = PassageIndex(DIMENSIONS), dict[str, list[Passage]]()
    for kind, conversation, keep, more in steps:
        if kind == "drop":
            index.drop(conversation)
            left.pop(conversation, None)
            continue
        before = left.get(conversation, [])[:keep]
        new = [passage(conversation, len(before) + at, one) for at, one in enumerate(more)]
        index.put(conversation, len(before), new)
        left[conversation] = before + new
    return index, left


@given(st.lists(st.one_of(puts, drops), max_size=12))
def test_an_index_that_was_told_of_changes_ranks_as_one_built_at_once(steps: list[Step]) -> None:
    index, left = told(steps)
    whole = PassageIndex(DIMENSIONS)
    for conversation in sorted(left):
        whole.put(conversation, 0, left[conversation])
    assert len(index) == len(whole) == sum(map(len, left.values()))
    for text in QUESTIONS:
        one = {hit.message.id: hit.score for hit in ranked(index, text)}
        other = {hit.message.id: hit.score for hit in ranked(whole, text)}
        assert one == pytest.approx(other, abs=1e-4)


@given(st.lists(puts, max_size=6), st.integers(1, 5))
def test_fewer_hits_are_the_best_of_more(steps: list[Step], limit: int) -> None:
    index, _ = told(steps)
    for text in QUESTIONS:
        some = index.search(question_of(text, NOW, vector(99)), limit)
        assert some == ranked(index, text)[:limit]
        assert all(hit.why for hit in some)
        assert [hit.score for hit in some] == sorted((hit.score for hit in some), reverse=True)


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_read_for_a_time(text: str, now: datetime) -> None:
    asked = time_asked(text, now)
    assert asked is None or asked.start < asked.end
