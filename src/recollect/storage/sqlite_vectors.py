"""Compare all vectors of a user in this process: SQLite has no such operator, and one user's vectors are soon read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.storage.driver import Row, Transaction
from recollect.storage.rows import scoped

#: How many vectors are compared together.
CHUNK = 8_192
#: Half precision, little endian.
HALVES = np.dtype("<f2")


def nearest(tx: Transaction, scope: Scope, vector: Vector, step: int) -> Iterator[list[int]]:
    """Give the numbers of the user's messages nearest to a vector, in pages, the newest first among equals."""
    wanted = np.frombuffer(vector.values, HALVES).astype(np.float32)
    numbers: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    similarities: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []
    for found in _chunks(tx, scope, vector.model):
        same = [row for row in found if isinstance(row[1], bytes) and len(row[1]) == len(vector.values)]
        if same:
            halves = np.frombuffer(b"".join(row[1] for row in same), HALVES).reshape(len(same), -1)
            similarities.append(halves.astype(np.float32) @ wanted)
            numbers.append(np.array([row[0] for row in same], np.int64))
    if not numbers:
        return
    every = np.concatenate(numbers)
    order = np.lexsort((-every, -np.concatenate(similarities)))
    for start in range(0, len(order), step):
        yield [int(number) for number in every[order[start : start + step]]]


def _chunks(tx: Transaction, scope: Scope, model: str) -> Iterator[list[Row]]:
    after = -1
    while found := tx.all("user_vectors", **scoped(scope), model=model, after=after, limit=CHUNK):
        yield found
        after = found[-1][0]
