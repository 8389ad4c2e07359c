"""An index that was told of changes ranks as one that was built at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.memory import NewMemory, memory_from
from recollect.domain.message import Message, Role
from recollect.domain.passage import IndexedMemory, Passage
from recollect.recall.memories import MemoryIndex
from recollect.recall.passages import PassageHit, PassageIndex
from recollect.recall.postings import Postings
from recollect.recall.question import question_of
from recollect.recall.times import time_asked
from recollect.recall.words import asked_words, stem, words_of

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


Kept = tuple[str, str, str | None, float]
kept = st.tuples(st.sampled_from("abcdef"), texts, st.sampled_from((None, "tea", "work")), st.sampled_from((0.5, 0.9)))
#: Memories that are taken in together, and whether those are deleted instead.
changes = st.lists(st.tuples(st.lists(kept, max_size=4), st.booleans()), max_size=8)


def memory(one: Kept, *, is_deleted: bool = False) -> IndexedMemory:
    memory_id, text, category, importance = one
    new = NewMemory(id=memory_id, content=text, at=NOW, category=category, importance=importance)
    return IndexedMemory(msgspec.structs.replace(memory_from(new), deleted_at=NOW if is_deleted else None))


@given(changes)
def test_memories_that_changed_rank_and_explain_themselves_as_if_they_came_so(
    steps: list[tuple[list[Kept], bool]],
) -> None:
    index, left = MemoryIndex(DIMENSIONS), dict[str, IndexedMemory]()
    for items, is_deleted in steps:
        index.search(question_of("tea", NOW))
        index.put(memory(one, is_deleted=is_deleted) for one in items)
        for one in items:
            left.pop(one[0], None)
            if not is_deleted:
                left[one[0]] = memory(one)
    whole = MemoryIndex(DIMENSIONS)
    whole.put(left[memory_id] for memory_id in sorted(left))
    for text in QUESTIONS:
        hits = index.search(question_of(text, NOW), 50)
        assert hits == whole.search(question_of(text, NOW), 50)
        for hit in hits:
            said = words_of(hit.memory.content)
            terms = [term for term in asked_words(text) if stem(term) in said]
            assert [why for why in hit.why if why.startswith("words: ")] == (
                ["words: " + ", ".join(terms)] if terms else []
            )


@given(st.lists(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3)), max_size=8))
def test_postings_tell_where_words_stand_and_how_often(rows: list[dict[str, int]]) -> None:
    postings = Postings()
    for row, words in enumerate(rows):
        postings.add(row, words)
    for word in WORDS:
        there = [row for row, words in enumerate(rows) if word in words]
        at, counts = postings.of(word)
        assert at.tolist() == there
        often = [rows[row][word] for row in there]
        assert (often if counts is None else counts.tolist()) == often
        assert counts is not None or set(often) <= {1}
        assert (word in postings) is bool(there)
        assert not there or [row for row in range(len(rows)) if postings.has(word, row)] == there


TIMELY = """
    in on last this march may 2024 2024-05-17 3 25th of de vor il y a hace ha two few days weeks mois jahren ago today
    heute gestern aujourd'hui aujourdhui l'altro ieri avant-hier la semaine derniere quest'anno month year el ano pasado
    mes today's marches ago? (yesterday) _today im mai dec. tea what
"""


@given(st.lists(st.sampled_from(TIMELY.split()), max_size=6))
def test_a_plain_question_speaks_of_the_same_time_as_one_with_an_accent(words: list[str]) -> None:
    text = " ".join(words)
    assert time_asked(text, NOW) == time_asked(f"\u00e9 {text}", NOW)


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_read_for_a_time(text: str, now: datetime) -> None:
    asked = time_asked(text, now)
    assert asked is None or asked.start < asked.end
