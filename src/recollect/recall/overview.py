"""What is true of all rows together: how long texts are, and what their vectors have in common.

It is made anew after a change, by a few passes over the columns, and used by every search until the next.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.recall.rows import Rows

Floats = NDArray[np.float32]
Places = NDArray[np.intp] | slice

#: How soon more of the same word adds nothing, and how much longer texts need more of it.
SATURATION: Final = 1.2
_LENGTH: Final = 0.75
#: What a word counts that stands one and two messages away.
NEXT, SECOND_NEXT = np.float32(0.7), np.float32(0.5)
#: Texts with more words than this are not favoured any more.
_LONG: Final = 31
#: With this many vectors, half of what they have in common is taken out of them.
_ENOUGH: Final = 200
#: Values that differ by less are equal but for rounding.
_NOISE: Final = 1e-5


class Overview:
    """The state of the rows at one time."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        #: The rows that are no longer there, and the one that never was.
        self.gone = np.flatnonzero(~rows.alive)
        self.length = np.where(rows.alive, rows.length, np.float32(0))
        self.room = _room(self.length, rows.alive)
        #: How much a word counts that stands once in a row.
        self.once = saturated(np.float32(1), self.room)
        self._has = _places(rows.has_vector)
        self._middle = _middle(rows)
        self._distances = _distances(rows, self._middle)

    def meaning(self, vector: Floats) -> Floats:
        """Return how close each row is to a vector, seen from the middle of all."""
        return _stretched(self._near(vector), self._has)

    def _near(self, vector: Floats) -> Floats:
        seen = np.subtract(vector, self._middle, dtype=np.float32)
        length = np.sqrt(seen.dot(seen))
        if length > 0:
            seen /= length
        near: Floats = self.rows.vectors @ seen
        near -= self._middle @ seen
        near *= self._distances
        return near


class PassageOverview(Overview):
    """The same of rows that have neighbours and belong to conversations."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._alive = _places(rows.alive)
        #: The rows around each, by how many messages away.
        self.before, self.after = rows.before.astype(np.intp), rows.after.astype(np.intp)
        self.second_before, self.second_after = self.before[self.before], self.after[self.after]
        self.conversation = rows.conversation.astype(np.intp)
        self.conversations = int(self.conversation.max()) + 1
        length = self.length
        lengths = np.bincount(self.conversation, length, self.conversations).astype(np.float32)
        held = np.bincount(self.conversation[rows.alive], minlength=self.conversations) > 0
        self.held = int(np.count_nonzero(held))
        self.wide_room = _room(self.spread(length), rows.alive)
        self.conversation_room = _room(lengths, held)
        self.fullness = np.minimum(np.log2(1 + length) / np.float32(np.log2(1 + _LONG)), np.float32(1))
        self.assistant = rows.by_assistant.astype(np.float32)
        self.own = rows.is_own.astype(np.float32)
        has = rows.has_vector.astype(np.float32)
        self._around = np.maximum(has + has[self.before] + has[self.after], 1)

    def spread(self, values: Floats) -> Floats:
        """Add to each row what stands around it."""
        result: Floats = values + NEXT * (values[self.before] + values[self.after])
        result += SECOND_NEXT * (values[self.second_before] + values[self.second_after])
        return result

    def scattered(self, at: NDArray[np.intp], counts: Floats) -> Floats:
        """Return the same as `spread` of values that are zero but at these rows."""
        result = np.zeros(self.rows.size, np.float32)
        result[at] = counts
        result[self.after[at]] += NEXT * counts
        result[self.before[at]] += NEXT * counts
        result[self.second_after[at]] += SECOND_NEXT * counts
        result[self.second_before[at]] += SECOND_NEXT * counts
        return result

    def meanings(self, vector: Floats) -> tuple[Floats, Floats]:
        """Return how close each row is to a vector, seen from the middle of all, alone and with its neighbours."""
        near = self._near(vector)
        around = (near + near[self.before] + near[self.after]) / self._around
        return _stretched(near, self._has), _stretched(around, self._alive)


def saturated(count: Floats | np.float32, room: Floats) -> Floats:
    """Return how much a word counts that stands so often where there is so much room."""
    return count * np.float32(SATURATION + 1) / (count + room + np.float32(1e-9))


def _middle(rows: Rows) -> Floats:
    count = int(np.count_nonzero(rows.has_vector))
    total = rows.has_vector.astype(np.float32) @ rows.vectors
    return (total * np.float32(1 / (count + _ENOUGH))).astype(np.float32)


def _distances(rows: Rows, middle: Floats) -> Floats:
    """Return one by how far each vector is from the middle, and 0 where there is none."""
    squares = np.einsum("ij,ij->i", rows.vectors, rows.vectors) - 2 * (rows.vectors @ middle) + middle @ middle
    inverse = 1 / np.sqrt(np.maximum(squares, 1e-6))
    return np.where(rows.has_vector, inverse, 0).astype(np.float32)


def _room(lengths: Floats, counted: NDArray[np.bool_]) -> Floats:
    """Return how much of a word half fills a text, by its length."""
    kept = lengths[counted]
    average = max(float(kept.mean()) if len(kept) else 1.0, 1e-9)
    return (np.float32(SATURATION) * (1 - _LENGTH + _LENGTH * lengths / np.float32(average))).astype(np.float32)


def _places(counted: NDArray[np.bool_]) -> Places:
    """Return the rows that count, as a slice where they are all but the first."""
    return slice(1, None) if counted[1:].all() else np.flatnonzero(counted)


def _stretched(values: Floats, counted: Places) -> Floats:
    """Stretch to between 0 and 1, all but these rows being 0."""
    result = np.zeros(len(values), np.float32)
    kept = values[counted]
    if len(kept):
        low, high = kept.min(), kept.max()
        if high - low >= _NOISE:
            result[counted] = (kept - low) / (high - low)
    return result
