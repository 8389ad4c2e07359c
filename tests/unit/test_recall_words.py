"""Words are compared without their endings, small words are not looked for, and kin are known."""

from __future__ import annotations

import pytest

from recollect.recall.kin import kin_of
from recollect.recall.words import asked_words, is_own, stem, weight_of, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hobby", "hobbies"),
        ("run", "running"),
        ("paint", "painted"),
        ("city", "cities"),
        ("love", "loving"),
        ("class", "classes"),
        ("happy", "happily"),
        ("move", "moved"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"), [("bus", "bu"), ("new", "news2"), ("sing", "s"), ("red", "r"), ("2023", "202")]
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["喝茶", "straße", "ёлка", "c3po", "tea"])
def test_what_is_no_english_word_with_an_ending_stays_as_it_is(word: str) -> None:
    assert stem(word) == word


def test_small_words_are_not_looked_for_unless_there_are_no_others() -> None:
    assert asked_words("What is the name of her cat?") == ["name", "cat"]
    assert asked_words("Wo wohnt meine Schwester?") == ["wohnt", "schwester"]
    assert asked_words("Who are you?") == ["who", "are", "you"]


def test_words_are_counted_by_their_stem_and_weighed_without_small_ones() -> None:
    words = words_of("The cats and the cat")
    assert words["cat"] == 2
    assert weight_of(words) == 2


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I like tea", True),
        ("Ich mag Tee", True),
        ("C'est mon chat", True),
        ("我喜欢茶", True),
        ("Tea is nice", False),
        ("Their cat sleeps", False),
    ],
)
def test_who_speaks_of_themselves_is_known(text: str, own: bool) -> None:
    assert is_own(words_of(text)) is own


def test_kin_are_other_words_for_about_the_same() -> None:
    kin = dict(kin_of("pet"))
    assert stem("dog") in kin
    assert stem("pets") not in kin
    assert all(0.5 <= likeness < 1 for likeness in kin.values())
    assert kin_of("notaword") == ()
