"""Cut a short passage out of a text, around the first word that was asked for.

Terms are cut from folded text, so a passage is checked by its own terms and not by comparing characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.terms import terms

#: Characters of a snippet at the very most, what marks a cut included.
SNIPPET = 160
CUT = "…"

#: What is left for words when both ends are cut.
_ROOM = SNIPPET - 2 * len(CUT)
#: Characters to show before the word, if there is more after it than fits.
_LEAD = 40
#: How many words are looked at together before each of them is.
_BLOCK = 64


def snippet(text: str, wanted: Sequence[str]) -> str | None:
    """Return a passage of whole words around the first of these terms, or None if the text holds none of them.

    Runs of whitespace become one space.
    A word that is too long, as in scripts without spaces, is cut too;
    if its term is spread over more characters than fit, the term stands for the passage.
    """
    words = text.split()
    asked = frozenset(wanted)
    at = _first(words, asked)
    if at is None:
        return None
    if len(words[at]) > _ROOM:
        return _inside(words, at, asked)
    first, last = _around(words, at)
    return _marked(" ".join(words[first:last]), before=first > 0, after=last < len(words))


def _holds(passage: str, asked: frozenset[str]) -> bool:
    return not asked.isdisjoint(terms(passage))


def _first(words: list[str], asked: frozenset[str]) -> int | None:
    """Return the place of the first word that holds one of the terms; no term reaches over whitespace."""
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        if _holds(" ".join(block), asked):
            return next(start + at for at, word in enumerate(block) if _holds(word, asked))
    return None


def _around(words: list[str], at: int) -> tuple[int, int]:
    """Return the range of words to show: a few before the word, as many as fit after it, then more before it."""
    last = at + 1
    first, size = _back(words, at, len(words[at]), min(len(words[at]) + _LEAD, _ROOM))
    while last < len(words) and size + 1 + len(words[last]) <= _ROOM:
        size += 1 + len(words[last])
        last += 1
    return _back(words, first, size, _ROOM)[0], last


def _back(words: list[str], first: int, size: int, room: int) -> tuple[int, int]:
    while first > 0 and size + 1 + len(words[first - 1]) <= room:
        first -= 1
        size += 1 + len(words[first])
    return first, size


def _inside(words: list[str], at: int, asked: frozenset[str]) -> str:
    word = words[at]
    for start in range(0, len(word), _ROOM // 2):
        end = start + _ROOM
        if _holds(word[start:end], asked):
            return _marked(word[start:end], before=at + start > 0, after=end < len(word) or at + 1 < len(words))
    return next(term for term in terms(word) if term in asked)


def _marked(passage: str, *, before: bool, after: bool) -> str:
    return f"{CUT if before else ''}{passage}{CUT if after else ''}"
