"""Tell in which rows a word stands and how often; rows are added and never taken away."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

#: About what a word costs beyond its rows: two arrays, a key and its place.
_WORD_BYTES = 300


class Postings:
    """The rows of each word, in the order they were added."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
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
                self._counts[word] = array("f")
            rows.append(row)
            self._counts[word].append(count)
        self._entries += len(words)

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def of(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return copies of the rows with this word, and how often it stands in each."""
        rows = self._rows.get(word)
        if rows is None:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        return np.array(rows, np.int32), np.array(self._counts[word], np.float32)
