"""Tell in which rows a word stands and how often; rows are added and never taken away."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

#: About what a word costs beyond its rows: two arrays, a key and its place.
_WORD_BYTES = 300
_NOWHERE = np.zeros(0, np.intp)

#: Words, and how like each is to one that is asked for.
Kin = Sequence[tuple[str, float]]


class Postings:
    """The rows of each word, in the order they were added."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        #: Of words that stand more than once somewhere.
        self._counts: dict[str, array[float]] = {}
        self._entries = 0

    @property
    def nbytes(self) -> int:
        """Tell about how many bytes are held."""
        return 8 * self._entries + _WORD_BYTES * len(self._rows)

    def add(self, row: int, words: Mapping[str, int]) -> None:
        """Add the words of a row; rows come in growing order."""
        for word, count in words.items():
            rows = self._rows.get(word)
            if rows is None:
                rows = self._rows[word] = array("i")
            if count > 1 or word in self._counts:
                self._count(word, count, len(rows))
            rows.append(row)
        self._entries += len(words)

    def _count(self, word: str, count: int, before: int) -> None:
        counts = self._counts.get(word)
        if counts is None:
            counts = self._counts[word] = array("f", (1.0,)) * before
        counts.append(count)

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def held(self, kin: Kin) -> Kin:
        """Return those of the words that stand anywhere."""
        rows = self._rows
        return [one for one in kin if one[0] in rows]

    def has(self, word: str, row: int) -> bool:
        """Tell whether a word that stands somewhere stands in the row."""
        rows = self._rows[word]
        place = bisect_left(rows, row)
        return place < len(rows) and rows[place] == row

    def of(self, word: str) -> tuple[NDArray[np.intp], NDArray[np.float32] | None]:
        """Return copies of the rows with this word, and how often it stands in each; None if once in every one."""
        rows = self._rows.get(word)
        if rows is None:
            return _NOWHERE, None
        counts = self._counts.get(word)
        return np.array(rows, np.intp), None if counts is None else np.array(counts, np.float32)
