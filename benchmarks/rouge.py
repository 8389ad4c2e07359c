"""ROUGE-1, ROUGE-2 and ROUGE-L as F1, as `rouge-score` computes them without stemming.

Knows texts only: no summariser and no data set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

#: Words of any script; equal to the tokens of `rouge-score` on English.
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Rouge:
    """How much two texts have in common, each from 0 to 1."""

    one: float
    two: float
    longest: float


def rouge(text: str, reference: str) -> Rouge:
    """Compare a text with a reference."""
    given, wanted = _WORD.findall(text.lower()), _WORD.findall(reference.lower())
    return Rouge(
        one=_overlap(given, wanted, 1),
        two=_overlap(given, wanted, 2),
        longest=_f1(_longest_common(given, wanted), len(given), len(wanted)),
    )


def _overlap(given: Sequence[str], wanted: Sequence[str], size: int) -> float:
    """Return F1 of the n-grams that both have, each counted as often as both have it."""
    ours, theirs = _grams(given, size), _grams(wanted, size)
    return _f1((ours & theirs).total(), ours.total(), theirs.total())


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def _longest_common(given: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(wanted) + 1)
    for word in given:
        before = 0
        for column, other in enumerate(wanted, 1):
            above = row[column]
            row[column] = before + 1 if word == other else max(above, row[column - 1])
            before = above
    return row[-1]


def _f1(common: int, given: int, wanted: int) -> float:
    return 2 * common / (given + wanted) if common else 0.0
