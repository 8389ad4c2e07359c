"""What the memory benchmark asks of a system, and the two that bound it: raw SQLite and vectors held in the process.

Every system embeds with the same vectors, so that what differs is what it does with them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.systems import describe
from recollect.embedding.static import DIMENSIONS, StaticEmbedder

#: How many memories a search returns.
FOUND = 5

_EMBEDDER = StaticEmbedder()


def embedded(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return one vector of length one for each text, made as ours are."""
    return _EMBEDDER.vectors_of(texts)


def user_name(number: int) -> str:
    """Return the name of the n-th user, as long as a UUID."""
    return f"user-{number:031d}"


@dataclass(frozen=True, slots=True)
class Known:
    """A part of what one user said, with its vectors."""

    user: int
    texts: Sequence[str]
    vectors: NDArray[np.float32]


class MemorySystem(Protocol):
    """A store of memories; `add` and `search` block when `threaded`, else they are awaited."""

    name: ClassVar[str]
    threaded: ClassVar[bool]

    async def open(self, folder: Path) -> None:
        """Create the database in this folder."""

    async def fill(self, known: Sequence[Known]) -> None:
        """Store memories quickly and in this order, with the vectors that were made of them."""

    def add(self, user: int, text: str) -> Awaitable[object] | object:
        """Embed and store one memory, and return once it is durable."""

    def search(self, user: int, text: str) -> Awaitable[list[str]] | list[str]:
        """Embed the question and return the user's memories that are closest, the best first."""

    def durability(self) -> str:
        """Return the settings that decide what survives a power cut, as its own connection reports them."""

    async def close(self) -> None:
        """Release everything."""


class Floor:
    """One connection: an insert and a commit to add, one read of the user's vectors and a product to search.

    Several clients take turns at a lock.
    """

    name: ClassVar[str] = "floor"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Create a table that keeps the memories of a user side by side."""
        self._connection = apsw.Connection(str(folder / "floor.db"))
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.execute(
            "create table memories (user text, number integer, content text not null, vector blob not null,"
            " primary key (user, number)) without rowid"
        )
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    async def fill(self, known: Sequence[Known]) -> None:
        """Insert everything in one transaction."""
        with self._connection:
            self._connection.executemany(
                _INSERT,
                (
                    (user_name(one.user), next(self._numbers), text, _packed(vector))
                    for one in known
                    for text, vector in zip(one.texts, one.vectors, strict=True)
                ),
            )

    def add(self, user: int, text: str) -> None:
        """Insert and commit."""
        vector = _packed(embedded([text])[0])
        with self._lock:
            self._connection.execute(_INSERT, (user_name(user), next(self._numbers), text, vector))

    def search(self, user: int, text: str) -> list[str]:
        """Read what the user said, multiply, and keep the best."""
        return _closest(text, *self._read(user))

    def _read(self, user: int) -> tuple[list[str], NDArray[np.float32]]:
        rows: list[Any] = self._connection.execute(_SELECT, (user_name(user),)).fetchall()
        joined = b"".join(vector for _, vector in rows)
        return [text for text, _ in rows], np.frombuffer(joined, np.float16).reshape(-1, DIMENSIONS).astype(np.float32)

    def durability(self) -> str:
        """Ask the connection."""
        return describe(self._connection.pragma("journal_mode"), self._connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class FloorHeld(Floor):
    """The same with the vectors of a user held in the process once they were read, and no look for other writers."""

    name: ClassVar[str] = "floor+held"

    async def open(self, folder: Path) -> None:
        """Hold nothing yet."""
        await super().open(folder)
        self._held: dict[int, tuple[list[str], NDArray[np.float32]]] = {}

    def add(self, user: int, text: str) -> None:
        """Insert, commit, and let go what was held."""
        super().add(user, text)
        self._held.pop(user, None)

    def search(self, user: int, text: str) -> list[str]:
        """Multiply and keep the best."""
        held = self._held.get(user)
        if held is None:
            held = self._held[user] = self._read(user)
        return _closest(text, *held)


def _packed(vector: NDArray[np.float32]) -> bytes:
    """Return the vector in half the bytes, so that a row needs no page of its own."""
    return vector.astype(np.float16).tobytes()


def _closest(text: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> list[str]:
    near = vectors @ embedded([text])[0]
    best = np.argsort(-near)[:FOUND]
    return [texts[place] for place in best]


_INSERT = "insert into memories values (?, ?, ?, ?)"
_SELECT = "select content, vector from memories where user = ?"
