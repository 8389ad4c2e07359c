"""Hold what is known of each passage or memory in columns that grow, so that adding a few costs little among many.

Row 0 belongs to none: it is the neighbour of those that have none, and adds nothing to any sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST = 64
_NUMBERS: dict[str, type] = {
    "alive": np.bool_,
    "has_vector": np.bool_,
    "by_assistant": np.bool_,
    "is_own": np.bool_,
    "before": np.int32,
    "after": np.int32,
    "conversation": np.int32,
    "speaker": np.int32,
    "length": np.float32,
    "at": np.float64,
    "importance": np.float32,
    "is_pinned": np.bool_,
    "accesses": np.float32,
}


class Rows:
    """The columns, and how many rows are in use."""

    alive: NDArray[np.bool_]
    has_vector: NDArray[np.bool_]
    #: Said by an assistant without a name of its own.
    by_assistant: NDArray[np.bool_]
    #: Whether the speaker speaks of themselves.
    is_own: NDArray[np.bool_]
    #: The rows said just before and after in the conversation, or 0.
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    conversation: NDArray[np.int32]
    speaker: NDArray[np.int32]
    #: Words that say something.
    length: NDArray[np.float32]
    #: Seconds since 1970.
    at: NDArray[np.float64]
    #: Of memories only.
    importance: NDArray[np.float32]
    is_pinned: NDArray[np.bool_]
    accesses: NDArray[np.float32]

    def __init__(self, dimensions: int) -> None:
        self.size = 1
        self.living = 0
        #: How many bytes are held.
        self.nbytes = 0
        self._vectors = np.zeros((_FIRST, dimensions), np.float32)
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(_FIRST, kind) for name, kind in _NUMBERS.items()}
        self._weigh()
        self.show()

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors in use."""
        return self._vectors[: self.size]

    def vector(self, row: int) -> bytes | None:
        """Return the vector of a row as it was given."""
        return self._vectors[row].astype("<f2").tobytes() if self._columns["has_vector"][row] else None

    def held_vector(self, row: int) -> NDArray[np.float32] | None:
        """Return the vector of a row, shown or not."""
        return self._vectors[row] if self._columns["has_vector"][row] else None

    def with_vector(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which of these rows have a vector, shown or not."""
        has: NDArray[np.bool_] = self._columns["has_vector"][rows]
        return has

    def set_length(self, row: int, length: int) -> None:
        """Say how many words of a row say something."""
        self._columns["length"][row] = length

    def add(self, values: dict[str, float], vector: NDArray[np.floating[Any]] | None) -> int:
        """Add a row and return its number; the columns end before it until they are shown."""
        row = self.size
        if row == len(self._vectors):
            self._grow()
        self.size += 1
        self.living += 1
        for name, value in values.items():
            self._columns[name][row] = value
        self._columns["alive"][row] = True
        if vector is not None:
            self._vectors[row] = vector
            self._columns["has_vector"][row] = True
        return row

    def show(self) -> None:
        """Let the columns end with the last row that was added."""
        for name, column in self._columns.items():
            setattr(self, name, column[: self.size])

    def chain(self, before: int, row: int) -> None:
        """Make two rows neighbours."""
        self._columns["before"][row] = before
        if before:
            self._columns["after"][before] = row

    def bury(self, rows: Iterable[int]) -> None:
        """Take rows out of every search."""
        for row in rows:
            self._columns["alive"][row] = False
            self._columns["has_vector"][row] = False
            before = int(self._columns["before"][row])
            if before and self._columns["after"][before] == row:
                self._columns["after"][before] = 0
            self.living -= 1

    def _grow(self) -> None:
        more = len(self._vectors)
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        for name, column in self._columns.items():
            self._columns[name] = np.concatenate([column, np.zeros(more, column.dtype)])
        self._weigh()

    def _weigh(self) -> None:
        self.nbytes = self._vectors.nbytes + sum(column.nbytes for column in self._columns.values())
