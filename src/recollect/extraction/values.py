"""Tell whether what a pattern caught can be what the rule says: a place, a name, a number, a thing.

This is where precision comes from: patterns are generous, values are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from recollect.domain.memory import normalised
from recollect.extraction.rule_tables import Language

#: Words that a value of each kind has at most; of a script without spaces, four characters count as a word.
MOST_WORDS = {"place": 6, "name": 3, "age": 1, "thing": 9, "job": 7, "text": 24, "plan": 14, "doing": 12, "any": 20}

_WORD = re.compile(r"[^\W_][\w'’.&+#-]*")
_DIGITS = re.compile(r"\d{1,3}\Z")
_EDGES = " \t\n.,;:!?。！，*()-–—"
#: A pair of quotation marks around the whole value.
_IN_QUOTES = re.compile(r"[\"'“„«「]([^\"“”„«»「」]*)[\"'”“»」]\Z")


def trimmed(text: str, language: Language) -> str:
    """Return the value on one line without what does not belong to it at its end."""
    value = " ".join(text.split()).strip(_EDGES)
    while (shorter := language.trailing.sub("", value).strip(_EDGES)) != value:
        value = shorter
    quoted = _IN_QUOTES.match(value)
    return quoted[1].strip(_EDGES) if quoted else value


def key_of(value: str, language: Language) -> str:
    """Return what makes two values the same one: no case, no article.

    The key is part of an attribute, so a long value makes a long name.
    """
    plain = normalised(value)
    return normalised(language.article.sub("", plain, count=1)) if plain else ""


def told(text: str, language: Language) -> str:
    """Return the text with the first person put into the third."""
    if language.swap is None:
        return text
    table = language.table.swap
    # "US" is no pronoun, and "I" is one.
    return language.swap.sub(
        lambda word: word[0] if word[0].isupper() and len(word[0]) > 1 else table[word[0].lower()], text
    )


def fits(kind: str, groups: Mapping[str, str], language: Language) -> bool:
    """Tell whether every part is what it should be."""
    if any(not text for text in groups.values()):
        return False
    if "name" in groups and not _is_proper(groups["name"], language):
        return False
    if "other" in groups and not _is_thing(groups["other"], language):
        return False
    value = groups.get("value")
    if value is None:
        return True
    most = MOST_WORDS.get(kind, MOST_WORDS["thing"])
    words = len(_WORD.findall(value)) if language.table.spaced else len(value) // 4
    if not 1 <= max(words, 1) <= most or not any(map(str.isalnum, value)):
        return False
    rejected = language.reject.get(kind)
    if rejected is not None and rejected.match(value):
        return False
    return _CHECKS.get(kind, _is_thing)(value, language)


def _is_thing(value: str, language: Language) -> bool:
    rejected = language.reject.get("thing")
    return rejected is None or not rejected.match(value)


def _is_place(value: str, language: Language) -> bool:
    """Tell whether the value names a place: with a capital, or as short as one that is written without."""
    if not _is_thing(value, language):
        return False
    if not language.table.spaced:
        return len(value) <= 12
    return any(word[0].isupper() for word in _WORD.findall(value)) or len(_WORD.findall(value)) <= 2


def _is_proper(value: str, language: Language) -> bool:
    """Tell whether the value is a name with its capitals."""
    rejected = language.reject.get("name")
    if rejected is not None and rejected.match(value):
        return False
    if not language.table.spaced:
        return len(value) <= 8
    words = _WORD.findall(value)
    return 1 <= len(words) <= MOST_WORDS["name"] and all(word[0].isupper() for word in words)


def _is_name(value: str, language: Language) -> bool:
    """Tell whether the value is a name, or one word of somebody who writes no capitals."""
    if _is_proper(value, language):
        return True
    rejected = language.reject.get("name")
    return value.isalpha() and value.islower() and (rejected is None or not rejected.match(value))


def _is_employer(value: str, language: Language) -> bool:
    """Tell whether the value names a firm: with a capital."""
    return not language.table.spaced or any(word[0].isupper() for word in _WORD.findall(value))


def _is_age(value: str, language: Language) -> bool:
    number = language.table.numbers.get(value.lower(), value)
    return bool(_DIGITS.match(number)) and 3 <= int(number) <= 120


def _any(_value: str, _language: Language) -> bool:
    return True


_CHECKS: dict[str, Callable[[str, Language], bool]] = {
    "place": _is_place,
    "name": _is_name,
    "employer": _is_employer,
    "age": _is_age,
    "text": _any,
    "any": _any,
    "plan": _any,
    "doing": _any,
}
