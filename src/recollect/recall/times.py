"""Find the time that a question speaks of: a day, a month, a year, or a span counted from now.

Dates are read as they are written in English, German, French, Spanish, Italian, Portuguese, Dutch and Chinese.
A month without a year is the last one that began before now.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

_MONTH_NAMES: Final = """
    january jan januar janvier enero gennaio janeiro januari janner
    february feb februar fevrier febrero febbraio fevereiro februari febr
    march mar marz mars marzo marco maart
    april apr avril abril aprile
    may mai mayo maggio maio mei
    june jun juni juin junio giugno junho
    july jul juli juillet julio luglio julho
    august aug aout agosto augustus
    september sep sept septembre septiembre settembre setembro
    october oct oktober okt octobre octubre ottobre outubro
    november nov novembre noviembre novembro
    december dec dezember dez decembre diciembre dicembre dezembro
"""
_MONTHS: Final = {
    name: number for number, names in enumerate(_MONTH_NAMES.strip().splitlines(), 1) for name in names.split()
}
#: Words for spans that count from now: which unit, and how many units back.
_SPAN_WORDS: Final = {
    ("day", 0): "today|heute|aujourd'?hui|hoy|oggi|hoje|vandaag|今天",
    ("day", 1): "yesterday|gestern|ayer|ieri|ontem|gisteren|昨天",
    ("day", 2): "vorgestern|avant-hier|anteayer|l'altro ieri|anteontem|eergisteren|前天",
    ("week", 0): "this week|diese woche|cette semaine|esta semana|questa settimana|deze week|这周|本周",
    ("week", 1): "last week|letzte woche|la semaine derniere|la semana pasada|la settimana scorsa|semana passada|"
    "vorige week|上周",
    ("month", 0): "this month|diesen monat|ce mois|este mes|questo mese|deze maand|这个月|本月",
    (
        "month",
        1,
    ): "last month|letzten monat|le mois dernier|el mes pasado|il mese scorso|mes passado|vorige maand|上个月",
    ("year", 0): "this year|dieses jahr|cette annee|este ano|quest'anno|dit jaar|今年",
    ("year", 1): "last year|letztes jahr|l'annee derniere|el ano pasado|l'anno scorso|ano passado|vorig jaar|去年",
}
#: Chinese puts no spaces around words.
_SPANS: Final = tuple(
    (unit, back, re.compile(rf"(?<![a-z0-9'])(?:{words})(?![a-z0-9])")) for (unit, back), words in _SPAN_WORDS.items()
)
_UNITS: Final = {
    "day": "day", "days": "day", "tag": "day", "tagen": "day", "jours": "day", "dias": "day", "giorni": "day",
    "dagen": "day", "week": "week", "weeks": "week", "woche": "week", "wochen": "week", "semaines": "week",
    "semanas": "week", "settimane": "week", "weken": "week", "month": "month", "months": "month", "monat": "month",
    "monaten": "month", "mois": "month", "meses": "month", "mesi": "month", "maanden": "month", "year": "year",
    "years": "year", "jahr": "year", "jahren": "year", "ans": "year", "anos": "year", "anni": "year", "jaar": "year",
}  # fmt: skip
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "a few": 3}
_COUNT = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_AGO: Final = re.compile(rf"\b{_COUNT}\s+({_UNIT})\s+ago\b|\b(?:vor|il y a|hace|ha)\s+{_COUNT}\s+({_UNIT})\b")
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"((?:19|20)\d\d)"
_DAY = r"([0-3]?\d)(?:st|nd|rd|th|\.|er|o|\u00ba)?"
_ISO: Final = re.compile(rf"\b{_YEAR}-([01]\d)(?:-([0-3]\d))?\b")
_CHINESE: Final = re.compile(r"(?:((?:19|20)\d\d)年)?(?:(\d{1,2})月)(?:(\d{1,2})[日号])?|((?:19|20)\d\d)年")
_DAY_MONTH: Final = re.compile(rf"\b{_DAY}\s+(?:of\s+|de\s+)?({_MONTH})\b\.?,?(?:\s+(?:de\s+|del\s+)?{_YEAR})?")
_MONTH_DAY: Final = re.compile(rf"\b({_MONTH})\.?\s+{_DAY}\b(?!\s*\d)(?:,?\s+{_YEAR})?")
_MONTH_YEAR: Final = re.compile(rf"\b({_MONTH})\.?,?\s+(?:of\s+|de\s+|del\s+)?{_YEAR}\b")
#: A month alone counts only after such a word: "may", "march" and "mars" are words of other kinds too.
_IN_MONTH: Final = re.compile(rf"\b(?:in|during|since|im|en|au mois de|nel|em|last|this)\s+({_MONTH})\b")
_IN_YEAR: Final = re.compile(rf"(?<![\w$€£.,-]){_YEAR}(?![\w%-])")
_PLAIN_WORD: Final = re.compile(r"[a-z0-9]+")
#: A plain text speaks of no time unless it has a digit or one of these: with one of them begins every span, every month
#: is one, and whatever counts back has one.
_TELLING: Final = (
    frozenset(
        found[0]
        for words in _SPAN_WORDS.values()
        for one in words.split("|")
        for spelling in (one.replace("?", ""), one.replace("'?", ""))
        if (found := _PLAIN_WORD.match(spelling))
    )
    | _MONTHS.keys()
    | {"ago", "vor", "il", "hace", "ha"}
)
_DIGIT: Final = re.compile(r"\d")


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    """From a time on and up to another, with the words that say so."""

    start: datetime
    end: datetime
    said: str


def time_asked(text: str, now: datetime) -> TimeRange | None:
    """Return the time that a question speaks of, or None; what is told most exactly counts."""
    if text.isascii():
        plain = text.lower()
        if _TELLING.isdisjoint(_PLAIN_WORD.findall(plain)) and not _DIGIT.search(plain):
            return None
    else:
        folded = unicodedata.normalize("NFKD", text).casefold()
        plain = "".join(c for c in folded if not unicodedata.combining(c)).replace("\u2019", "'")
    now = now.astimezone(UTC)
    for find in _FINDERS:
        found = find(plain, now)
        if found is not None:
            return found
    return None


def _iso(text: str, now: datetime) -> TimeRange | None:
    found = _ISO.search(text)
    return found and _calendar(found[0], int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def _chinese(text: str, now: datetime) -> TimeRange | None:
    found = _CHINESE.search(text)
    if found is None:
        return None
    if found[4]:
        return _calendar(found[0], int(found[4]), None, None)
    month, day = int(found[2]), int(found[3]) if found[3] else None
    return _calendar(found[0], int(found[1]) if found[1] else _last(month, now), month, day)


def _day_month(text: str, now: datetime) -> TimeRange | None:
    found = _DAY_MONTH.search(text)
    return found and _named(found[0], found[2], found[1], found[3], now)


def _month_day(text: str, now: datetime) -> TimeRange | None:
    found = _MONTH_DAY.search(text)
    return found and _named(found[0], found[1], found[2], found[3], now)


def _month_year(text: str, now: datetime) -> TimeRange | None:
    found = _MONTH_YEAR.search(text)
    return found and _named(found[0], found[1], None, found[2], now)


def _in_month(text: str, now: datetime) -> TimeRange | None:
    found = _IN_MONTH.search(text)
    return found and _named(found[0], found[1], None, None, now)


def _span(text: str, now: datetime) -> TimeRange | None:
    for unit, back, words in _SPANS:
        if found := words.search(text):
            return _units_back(found[0], unit, back, now)
    return None


def _ago(text: str, now: datetime) -> TimeRange | None:
    found = _AGO.search(text)
    if found is None:
        return None
    count, unit = found[1] or found[3], found[2] or found[4]
    return _units_back(found[0], _UNITS[unit], int(_NUMBERS.get(count) or count), now)


def _in_year(text: str, now: datetime) -> TimeRange | None:
    found = _IN_YEAR.search(text)
    return found and _calendar(found[0], int(found[1]), None, None)


_FINDERS: Final[tuple[Callable[[str, datetime], TimeRange | None], ...]] = (
    _iso,
    _chinese,
    _day_month,
    _month_day,
    _month_year,
    _ago,
    _span,
    _in_month,
    _in_year,
)


def _named(said: str, month: str, day: str | None, year: str | None, now: datetime) -> TimeRange | None:
    number = _MONTHS[month]
    return _calendar(said, int(year) if year else _last(number, now), number, int(day) if day else None)


def _last(month: int, now: datetime) -> int:
    """Return the year in which this month last began."""
    return now.year if month <= now.month else now.year - 1


def _calendar(said: str, year: int, month: int | None, day: int | None) -> TimeRange | None:
    """Return a day, a month or a year, or None if the calendar has no such."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day:
            end = start + timedelta(days=1)
        elif month:
            end = _months_on(start, 1)
        else:
            end = _months_on(start, 12)
    except (ValueError, OverflowError):
        return None
    return TimeRange(start=start, end=end, said=said.strip(" ,."))


def _units_back(said: str, unit: str, back: int, now: datetime) -> TimeRange | None:
    """Return the calendar's unit that was so many units ago."""
    today = datetime(now.year, now.month, now.day, tzinfo=UTC)
    try:
        if unit == "day":
            start = today - timedelta(days=back)
            return TimeRange(start=start, end=start + timedelta(days=1), said=said)
        if unit == "week":
            start = today - timedelta(days=today.weekday() + 7 * back)
            return TimeRange(start=start, end=start + timedelta(days=7), said=said)
        months = 1 if unit == "month" else 12
        first = today.replace(day=1, month=today.month if unit == "month" else 1)
        start = _months_on(first, -months * back)
        return TimeRange(start=start, end=_months_on(start, months), said=said)
    except (ValueError, OverflowError):
        return None


def _months_on(first: datetime, months: int) -> datetime:
    """Return the first day of the month so many months later."""
    years, month = divmod(first.month - 1 + months, 12)
    return first.replace(year=first.year + years, month=month + 1)
