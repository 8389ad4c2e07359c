"""Vectors in SQL: each goes with its text, in the transaction that writes, changes or erases it.

Whatever can have a vector has a row, so that what has none is found without a look at what has one.
A vector is derived, so one that was damaged is dropped and made again, unlike what a person said.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.errors import StorageError
from recollect.storage.driver import Driver, Row, Transaction
from recollect.storage.rows import checksum, scoped

Kind = Literal["message", "memory"]
#: The kind and the number of the record that a vector is of.
Place = tuple[Kind, int]
#: A vector that does not match its checksum: its place, and the checksum.
Damaged = tuple[str, int, object]

#: The model of what has no vector.
NONE = ""

_log = logging.getLogger(__name__)


class Unsound(msgspec.Struct):
    """What a reading found damaged and left out."""

    conversations: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    vectors: tuple[Damaged, ...] = ()


def put(tx: Transaction, scope: Scope, place: Place, vector: Vector | None) -> None:
    """Keep the vector of a text in place of an older one, or that it has none."""
    kind, number = place
    if vector is None:
        values: dict[str, Any] = {"model": NONE, "vector": None, "checksum": None}
    else:
        packed = tx.packed(vector.values)
        guard = checksum(scope.tenant, scope.user, kind, number, vector.model, bytes(packed))
        values = {"model": vector.model, "vector": packed, "checksum": guard}
    tx.send("put_vector", **scoped(scope), kind=kind, number=number, **values)


def drop(tx: Transaction, scope: Scope, kind: Kind, numbers: Sequence[int]) -> int:
    """Remove the vectors of records that go, and return how many there were."""
    if not numbers:
        return 0
    values = {**scoped(scope), "kind": kind, "ids": tx.ids(numbers)}
    erased = tx.run("delete_vectors", **values)
    tx.run("delete_vector_places", **values)
    return erased


def is_sound(scope: Scope, row: Row) -> bool:
    """Tell whether a row of kind, number, model, packed vector and checksum is as it was written."""
    kind, number, model, packed, expected = row
    return (
        isinstance(packed, bytes) and checksum(scope.tenant, scope.user, kind, number, model, bytes(packed)) == expected
    )


class Unpacking:
    """Read packed vectors of one kind and model, and set those aside that were damaged."""

    def __init__(self, tx: Transaction, scope: Scope, kind: Kind, model: str) -> None:
        self._tx = tx
        self._scope = scope
        self._kind = kind
        self._model = model
        self.damaged: list[Damaged] = []

    def read(self, number: int, model: object, packed: object, expected: object) -> bytes | None:
        """Return the bytes of a vector, or None if there is none of the model that is sound."""
        if model != self._model or model == NONE:
            return None
        if is_sound(self._scope, (self._kind, number, self._model, packed, expected)):
            return self._tx.unpacked(packed)  # type: ignore[arg-type]  # what is sound is bytes
        self.damaged.append((self._kind, number, expected))
        return None


async def reset(driver: Driver, scope: Scope, damaged: tuple[Damaged, ...]) -> None:
    """Drop vectors that a read found damaged, unless others were kept meanwhile; the read succeeds all the same."""
    if not damaged:
        return
    _log.error("%d stored vectors do not match their checksums and are dropped, to be made again", len(damaged))

    def work(tx: Transaction) -> None:
        for kind, number, guard in damaged:
            tx.run("reset_vector", **scoped(scope), kind=kind, number=number, checksum=guard)

    try:
        await driver.write(scope, work)
    except StorageError as exc:
        _log.warning("the damaged vectors cannot be dropped: %s", exc.code)


def bump(tx: Transaction, scope: Scope) -> None:
    """Let everybody know that the memories of the user changed."""
    tx.send("bump_memories", **scoped(scope))
