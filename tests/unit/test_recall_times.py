"""The time that a question speaks of is found in the languages we read dates in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.recall.times import time_asked

NOW = datetime(2024, 3, 6, 15, 30, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did I eat today?", "2024-03-06", "2024-03-07"),
        ("What did I eat yesterday?", "2024-03-05", "2024-03-06"),
        ("last week", "2024-02-26", "2024-03-04"),
        ("Who came this month?", "2024-03-01", "2024-04-01"),
        ("Where was I last month?", "2024-02-01", "2024-03-01"),
        ("the trip of last year", "2023-01-01", "2024-01-01"),
        ("3 days ago", "2024-03-03", "2024-03-04"),
        ("two weeks ago", "2024-02-19", "2024-02-26"),
        ("a month ago", "2024-02-01", "2024-03-01"),
        ("on 7 May", "2023-05-07", "2023-05-08"),
        ("on March 2nd", "2024-03-02", "2024-03-03"),
        ("on May 7th, 2023?", "2023-05-07", "2023-05-08"),
        ("on the 7th of May 2023", "2023-05-07", "2023-05-08"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in December", "2023-12-01", "2024-01-01"),
        ("in 2021", "2021-01-01", "2022-01-01"),
        ("on 2023-05-07", "2023-05-07", "2023-05-08"),
        ("in 2023-12", "2023-12-01", "2024-01-01"),
        ("Was habe ich gestern gesagt?", "2024-03-05", "2024-03-06"),
        ("Was war letzte Woche?", "2024-02-26", "2024-03-04"),
        ("vor 2 Wochen", "2024-02-19", "2024-02-26"),
        ("am 3. März 2023", "2023-03-03", "2023-03-04"),
        ("le 5 août 2022", "2022-08-05", "2022-08-06"),
        ("l’année dernière", "2023-01-01", "2024-01-01"),
        ("el 3 de mayo de 2023", "2023-05-03", "2023-05-04"),
        ("nel 2020", "2020-01-01", "2021-01-01"),
        ("我2023年5月7日说了什么", "2023-05-07", "2023-05-08"),
        ("我昨天说了什么", "2024-03-05", "2024-03-06"),
        ("去年我在哪里", "2023-01-01", "2024-01-01"),
    ],
)
def test_a_time_is_found(question: str, start: str, end: str) -> None:
    asked = time_asked(question, NOW)
    assert asked is not None
    assert (asked.start, asked.end) == (day(start), day(end))


#: Words for spans, as they are written without accents.
SPANS = """
    today, heute, aujourd'hui, aujourdhui, hoy, oggi, hoje, vandaag, yesterday, gestern, ayer, ieri, ontem, gisteren,
    vorgestern, avant-hier, anteayer, l'altro ieri, anteontem, eergisteren, this week, diese Woche, cette semaine,
    esta semana, questa settimana, deze week, last week, letzte Woche, la semaine derniere, la semana pasada,
    la settimana scorsa, semana passada, vorige week, this month, diesen Monat, ce mois, este mes, questo mese,
    deze maand, last month, letzten Monat, le mois dernier, el mes pasado, il mese scorso, mes passado, vorige maand,
    this year, dieses Jahr, cette annee, este ano, quest'anno, dit jaar, last year, letztes Jahr, l'annee derniere,
    el ano pasado, l'anno scorso, ano passado, vorig jaar, two weeks ago, a month ago, vor two Wochen, il y a a mois,
    hace two meses, ha two anni, in December, im Mai, en abril, since march
"""


@pytest.mark.parametrize("span", " ".join(SPANS.split()).split(", "))
def test_a_span_is_found_without_any_digit_or_accent(span: str) -> None:
    for question in (span, f"What was said {span.upper()}?", f"({span})"):
        assert time_asked(question, NOW) is not None, question


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What may I do?",
        "Who will march with us?",
        "Is there life on Mars?",
        "hier wohne ich",
        "the price was $2000",
        "room 20231",
        "version 3.2023",
        "the 99th of May",
    ],
)
def test_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert time_asked(question, NOW) is None


def test_a_day_that_no_calendar_has_is_read_as_its_month() -> None:
    asked = time_asked("on 31 February 2023", NOW)
    assert asked is not None
    assert (asked.start, asked.end) == (day("2023-02-01"), day("2023-03-01"))


def test_the_words_that_say_so_are_told() -> None:
    asked = time_asked("What happened in May 2023, and why?", NOW)
    assert asked is not None
    assert asked.said == "may 2023"


def test_spans_beyond_the_calendar_are_none() -> None:
    assert time_asked("999 years ago", datetime(900, 1, 1, tzinfo=UTC)) is None
