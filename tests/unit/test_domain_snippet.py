"""A snippet is a short passage around the first word that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.snippet import CUT, SNIPPET, snippet
from recollect.domain.terms import asked_terms, terms
from tests.properties.test_any_script import SAYINGS

#: Words of many scripts, some too long to be shown whole, some with marks that terms do without.
PIECES = st.sampled_from(
    (
        *("tea", "TEAPOT", "https://example.org/a_b", "x" * 70, "y" * 200, "e" + "\u0301" * 90, "t\u0301" * 90),
        *("喝茶", "茶" * 300, "東京" * 90 + "大阪", "กินข้าว", "हिन्दी", "שָׁלוֹם", "🍕", "…", "a" * 300 + "-tea"),
    )
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=60).flatmap(
    lambda pieces: st.sampled_from((" ", "  ", "\n", "\u3000")).map(lambda space: space.join(pieces))
)


def cut(text: str, question: str) -> str | None:
    return snippet(text, asked_terms(question))


def test_a_short_text_is_shown_whole_with_its_whitespace_collapsed() -> None:
    assert cut("  one \n\n two\tthree ", "TWO") == "one two three"


def test_a_long_text_is_cut_at_words_on_both_sides() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    shown = cut(text, "word100")
    assert shown is not None
    assert shown.startswith(f"{CUT}word95 word96 ")
    assert shown.endswith(f" word114{CUT}")
    assert SNIPPET - 8 < len(shown) <= SNIPPET


def test_the_room_that_is_left_at_an_end_is_used_on_the_other_side() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    first, last = cut(text, "word0"), cut(text, "word199")
    assert first is not None
    assert last is not None
    assert (first[:12], first[-1]) == ("word0 word1 ", CUT)
    assert (last[0], last[-8:]) == (CUT, " word199")
    assert min(len(first), len(last)) > SNIPPET - 10


def test_the_first_of_the_words_is_shown() -> None:
    text = f"{'a ' * 100} apple {'b ' * 100} pear"
    shown = cut(text, "pear apple")
    assert shown is not None
    assert "apple" in shown
    assert "pear" not in shown


def test_a_word_inside_another_is_not_shown() -> None:
    assert cut("a steam engine", "tea") is None
    shown = cut(f"steam {'x ' * 200} tea", "tea")
    assert shown is not None
    assert shown.endswith(" tea")


def test_a_text_without_spaces_is_cut_around_the_word() -> None:
    shown = cut("水" * 500 + "喝茶" + "水" * 500, "喝茶")
    assert shown is not None
    assert "喝茶" in shown
    assert (shown[0], shown[-1], len(shown)) == (CUT, CUT, SNIPPET)


def test_a_term_that_is_spread_over_more_than_fits_stands_for_the_passage() -> None:
    assert cut("t" + "\u0301" * 300 + "ea", "tea") == "tea"


def test_without_a_term_there_is_no_snippet() -> None:
    assert snippet("tea", []) is None
    assert cut("", "tea") is None
    assert cut("coffee", "tea") is None


@pytest.mark.parametrize("language", SAYINGS)
def test_a_word_of_any_script_is_shown(language: str) -> None:
    said, word, _ = SAYINGS[language]
    shown = cut(f"{'… ' * 300}{said}{' …' * 300}", word)
    assert shown is not None
    assert set(asked_terms(word)) <= set(terms(shown))


@given(TEXTS, st.data())
def test_a_snippet_is_never_too_long_and_always_holds_a_term(text: str, data: st.DataObject) -> None:
    held = terms(text)
    asked = data.draw(st.lists(st.sampled_from(held), min_size=1, max_size=3)) if held else ["tea"]
    shown = snippet(text, asked)
    if not held:
        assert shown is None
        return
    assert shown is not None
    assert len(shown) <= SNIPPET
    assert shown == " ".join(shown.split())
    assert set(asked).intersection(terms(shown))


@given(st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=12), min_size=1, max_size=80), st.data())
def test_a_snippet_is_a_run_of_whole_words(words: list[str], data: st.DataObject) -> None:
    held = terms(" ".join(words))
    if held:
        shown = snippet(" ".join(words), [data.draw(st.sampled_from(held))])
        assert shown is not None
        assert f" {shown.strip(CUT)} " in f" {' '.join(words)} "


@given(st.text())
def test_no_term_reaches_over_whitespace(text: str) -> None:
    assert set(terms(text)) == {term for word in text.split() for term in terms(word)}
