"""Text of any script is cut into terms, so that a question finds it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.terms import asked_terms, terms


def finds(question: str, text: str) -> bool:
    """Tell whether every term of the question is one of the text's."""
    asked = asked_terms(question)
    return bool(asked) and set(asked) <= set(terms(text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("tea", "I like TEA, a lot!"),
        ("cafe", "the Café"),
        ("Café", "CAFE"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("strasse", "Straße"),
        ("ΟΔΥΣΣΕΥΣ", "Ὀδυσσεύς"),
        ("istanbul", "İstanbul"),
        ("ёлка", "ЕЛКА"),
        ("user id", "user_id"),
        ("user_id", "the user's id"),
        ("getHTTPResponse", "gethttpresponse()"),
        ("foo.bar", "foo::bar"),
        ("42", "answer=42;"),
        ("１２３", "123"),
        ("ﬁle", "file"),
        ("喝茶", "我喜欢喝茶。"),
        ("茶", "我喜欢喝茶。"),
        ("咖啡", "茶、咖啡、水"),
        ("お茶", "毎朝お茶を飲みます"),
        ("ｺｰﾋｰ", "コーヒー"),
        ("한국", "한국어를 공부해요"),
        ("ข้าว", "ฉันกินข้าวที่บ้าน"),
        ("ບ້ານ", "ຢູ່ບ້ານຂອງຂ້ອຍ"),
        ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
        ("မြန်မာ", "ကျွန်တော် မြန်မာစကား ပြောတယ်"),
        ("हिन्दी", "मुझे हिन्दी पसंद है।"),
        ("தமிழ்", "எனக்கு தமிழ் பிடிக்கும்"),
        ("مرحبا", "مَرْحَبًا بالعالم"),
        ("كتاب", "كتـــاب"),
        ("שלום", "שָׁלוֹם עולם"),
        ("naïve 茶", "茶 for the naive"),
        ("pizza", "I ❤️ 🍕 pizza🍕"),
    ],
)
def test_a_question_finds_the_text(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("tea", "steam"),
        ("茶啡", "茶、咖啡"),
        ("की", "का"),
        ("दिल्ली", "दल"),
        ("มี", "มา"),
        ("cat", "dog"),
    ],
)
def test_a_question_does_not_find_other_text(question: str, text: str) -> None:
    assert not finds(question, text)


@pytest.mark.parametrize("text", ["", " \n", "!?…", "🍕❤️", "___", "。、", "\u0301"])
def test_signs_and_pictures_have_no_terms(text: str) -> None:
    assert terms(text) == asked_terms(text) == []


def test_terms_are_distinct_and_in_order_of_first_appearance() -> None:
    assert terms("tea Coffee tea TEA milk coffee") == ["tea", "coffee", "milk"]
    assert terms("thé Café THÉ") == ["the", "cafe"]


def test_a_word_of_the_text_is_a_term_whatever_surrounds_it() -> None:
    assert terms("日本tokyo語") == ["日本", "日", "本", "tokyo", "語"]
    assert asked_terms("日本tokyo語") == ["日本", "tokyo", "語"]


def test_a_long_run_is_cut_so_that_no_term_grows_without_bounds() -> None:
    assert {len(term) for term in terms("x" * 150)} == {64, 22}
    assert max(len(term) for term in terms("é" * 150)) == 64


def test_a_long_unspaced_run_has_every_pair() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(200))
    assert set(asked_terms(text)) == {text[at : at + 2] for at in range(199)}


@given(st.text())
def test_what_is_asked_is_among_what_is_indexed(text: str) -> None:
    indexed = terms(text)
    assert len(set(indexed)) == len(indexed)
    assert set(asked_terms(text)) <= set(indexed)
    assert all(term and len(term) <= 64 and not any(map(str.isspace, term)) for term in indexed)


@given(st.text(st.characters(exclude_categories=())))
def test_text_of_any_kind_has_terms_or_none(text: str) -> None:
    assert all(isinstance(term, str) for term in terms(text))


@given(st.text())
def test_composed_and_decomposed_text_have_the_same_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFC", text)) == terms(unicodedata.normalize("NFD", text))


@given(st.text(st.characters(max_codepoint=127)))
def test_the_quick_way_for_ascii_gives_the_same_terms(text: str) -> None:
    assert terms(f"{text} é") == [*dict.fromkeys([*terms(text), "e"])]
