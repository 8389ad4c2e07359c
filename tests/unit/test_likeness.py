"""Which statements say the same, and what tells others apart."""

from __future__ import annotations

import pytest

from recollect.domain.likeness import SENTENCE_THRESHOLDS, Reason, Thresholds, difference, same, says_more
from recollect.errors import InvalidInputError

SAME = [
    ("I live in Oslo", "The user lives in Oslo."),
    ("User's favourite colour is blue", "The user's favorite color is blue"),
    ("Blue is the favourite colour of the user", "The user's favourite colour is blue"),
    ("The project deadline is March 15th", "Project deadline is March 15"),
    ("Has two children", "Has 2 kids"),
    ("Doesn't eat meat", "Does not eat meat"),
    ("Plays the guitar and the piano", "Plays the piano and the guitar"),
    ("The dog was bitten by the cat", "The cat bit the dog"),
    ("Owns a bicycle", "Owns bikes"),
    ("Is paid $1,200 a month", "Is paid 1200 dollars a month"),
    ("The child, who is young, plays chess", "The young child plays chess"),
    ("He won't come", "He will not come"),
    ("Ich wohne in Köln", "Wohnt in Köln"),
    ("Le chat de Marie est noir", "Le chat de Marie est noir !"),
    ("我住在北京。", "我住在北京"),
    ("我的狗叫旺财", "我狗叫旺财"),
    ("يحب الشاي", "يحب الشاي."),
    ("저는 서울에 살아요", "저 서울에 살아요"),
    ("Has ١٢ cats", "Has 12 cats"),
]

DIFFERENT: list[tuple[str, str, Reason]] = [
    ("The deadline is March 15", "The deadline is March 16", "number"),
    ("Is 33 years old", "Is thirty years old", "number"),
    ("It is -5 degrees", "It is 5 degrees", "number"),
    ("Lives at Main Street 12", "Lives at Main Street 12 4", "number"),
    ("वह 3 भाषाएँ बोलता है", "वह ४ भाषाएँ बोलता है", "number"),
    ("عمره ٣٣ سنة", "عمره ٣٤ سنة", "number"),
    ("Likes tea", "Does not like tea", "negation"),
    ("Likes tea", "Doesn’t like tea", "negation"),
    ("Is never late", "Is always late", "negation"),
    ("Lives in Oslo", "No longer lives in Oslo", "negation"),
    ("Smokes", "Used to smoke", "negation"),
    ("Mag Kaffee", "Mag keinen Kaffee", "negation"),
    ("Aime le café", "N’aime pas le café", "negation"),
    ("Le gusta el té", "No le gusta el té", "negation"),
    ("Mangia carne", "Non mangia carne", "negation"),
    ("Gosta de peixe", "Não gosta de peixe", "negation"),
    ("Любит кофе", "Не любит кофе", "negation"),
    ("喜欢喝茶", "不喜欢喝茶", "negation"),
    ("肉を食べます", "肉を食べません", "negation"),
    ("ชอบกาแฟ", "ไม่ชอบกาแฟ", "negation"),
    ("يحب القهوة", "لا يحب القهوة", "negation"),
    ("커피를 좋아해요", "커피를 좋아하지 않아요", "negation"),
    ("चाय पसंद है", "चाय पसंद नहीं है", "negation"),
    ("Will move to Oslo", "Moves to Oslo", "modality"),
    ("My brother is a doctor", "My sister is a doctor", "opposite"),
    ("Turn left at the church", "Turn right at the church", "opposite"),
    ("Sleeps before lunch", "Sleeps after lunch", "opposite"),
    ("Likes his brother", "Likes her brother", "opposite"),
    ("Loves the sea", "Hates the sea", "opposite"),
    ("Travels to Rome with Anna", "Travels to Rome without Anna", "negation"),
    ("Lived in Oslo", "Lives in Oslo", "opposite"),
    ("Is a teacher", "Was a teacher", "opposite"),
    ("Works for Acme", "Works with Acme", "opposite"),
    ("The meeting is on Monday", "The meeting is on Tuesday", "opposite"),
    ("Mein Bruder ist Arzt", "Meine Schwester ist Arzt", "opposite"),
    ("Mi hermano es alto", "Mi hermana es alto", "opposite"),
    ("Lives in Oslo", "Lives in Bergen", "name"),
    ("Anna likes tea", "Maria likes tea", "name"),
    ("Works with Robert", "Works with Roberts", "name"),
    ("Живёт в Москве", "Живёт в Казани", "name"),
    ("Anna pays Bob", "Bob pays Anna", "order"),
    ("Anna hired Bob", "Anna was hired by Bob", "order"),
    ("The woman is picking up the kangaroo", "The kangaroo is picking up the woman", "order"),
    ("Flew from Oslo via Paris to Rome", "Flew from Rome via Paris to Oslo", "order"),
    ("Works as a nurse", "The user's sister works as a nurse", "qualifier"),
    ("Visits Rome", "Wants to visit Rome", "qualifier"),
    ("Eats fish", "Only eats fish", "qualifier"),
    ("Is allergic to peanuts", "Is allergic to walnuts", "word"),
    ("Likes tea", "Likes green tea", "word"),
    ("Knows C", "Knows C++", "name"),
    ("我住在北京", "我住在南京", "word"),
    ("東京に住んでいます", "京都に住んでいます", "word"),
    ("Feels ❤", "Feels 💔", "word"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_order_articles_forms_and_spelling_make_no_difference(one: str, other: str) -> None:
    assert difference(one, other) is None
    assert difference(other, one) is None


@pytest.mark.parametrize(("one", "other", "reason"), DIFFERENT)
def test_one_word_can_make_another_statement_whatever_the_similarity(one: str, other: str, reason: Reason) -> None:
    assert difference(one, other) == reason
    assert difference(other, one) == reason
    closest = None if reason == "word" else 1.0
    assert not same(one, other, closest)
    assert not same(other, one, closest)


def test_statements_that_are_neither_worded_nor_meant_alike_are_not_the_same() -> None:
    assert not same("My child's bicycle is grey", "The kid's bike is gray")
    assert same("My child's bicycle is grey", "The kid's bike is gray", 0.9)


def test_a_similar_wording_is_enough_without_an_embedder() -> None:
    assert same("The user lives in Oslo", "User lives in Oslo")
    assert same("Plays the guitar and the piano", "Plays the piano and the guitar")


def test_a_word_may_be_replaced_only_where_the_meaning_hardly_moves() -> None:
    one, other = "The user repaired the old fence in the garden", "The user restored the old fence in the garden"
    assert same(one, other, 0.98)
    assert not same(one, other, 0.94)
    assert same(one, other, 0.95, SENTENCE_THRESHOLDS)


def test_a_longer_statement_must_be_closer_for_one_differing_word() -> None:
    short, long = (
        ("Fears spiders", "Fears snakes"),
        ("Fears spiders in old dark cellars", "Fears snakes in old dark cellars"),
    )
    assert same(*short, 0.93)
    assert not same(*long, 0.93)


def test_a_word_that_only_one_has_moves_the_meaning_more_before_it_counts() -> None:
    one, other = "The user walks through the cold snow", "The user walks through the snow"
    assert same(one, other, 0.85)
    assert not same(one, other, 0.79)
    assert says_more(one, other)
    assert not says_more(other, one)


def test_no_threshold_lets_a_word_differ_where_it_is_zero() -> None:
    strict = Thresholds(substitution=0.0, omission=0.0)
    assert not same("Fears spiders", "Fears snakes", 1.0, strict)
    assert not same("Likes tea", "Likes green tea", 1.0, strict)


def test_a_threshold_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        Thresholds(meaning=1.5)
