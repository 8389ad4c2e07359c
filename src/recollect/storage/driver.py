"""What the store needs of a database: run one function in one transaction.

The function is plain blocking code over a `Transaction`, the same for every dialect.
A driver may run it more than once if the database asks for a retry, so it must have no effect of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from recollect.domain.scope import Scope
from recollect.domain.vector import Vector

T = TypeVar("T")
Row = tuple[Any, ...]
#: Returns what terms weigh that occur in so many messages.
Weigh = Callable[[list[int]], list[int]]


class Transaction(Protocol):
    """Named queries inside one transaction, and the search index, which each dialect does its own way."""

    #: Keys the digests of this database's tombstones.
    salt: bytes

    def all(self, query: str, /, **values: Any) -> list[Row]:
        """Return every row of the query."""

    def one(self, query: str, /, **values: Any) -> Row | None:
        """Return the first row of the query, or None."""

    def run(self, query: str, /, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""

    def send(self, query: str, /, **values: Any) -> None:
        """Run a statement whose result nobody waits for, before any later one and before the commit."""

    def insert(self, query: str, /, **values: Any) -> int:
        """Insert one row and return the number the table gave it."""

    def enter(self, scope: Scope) -> None:
        """Bind the rest of a transaction that belongs to no scope to this one."""

    def ids(self, values: Iterable[str] | Iterable[int]) -> Any:
        """Return the values as one parameter for a query that takes a list."""

    def index(self, scope: Scope, number: int, content: str) -> None:
        """Make the message with this number findable by its terms."""

    def unindex(self, scope: Scope, number: int, content: str | None) -> None:
        """Remove every trace of the message from the index; None is content that was damaged since."""

    def matching(self, scope: Scope, wanted: Sequence[str]) -> dict[int, int]:
        """Return the numbers of the scope's messages that hold a term, with how many of the terms each holds."""

    def best(
        self, scope: Scope, wanted: Sequence[str], weigh: Weigh, step: int
    ) -> tuple[list[int], Iterator[list[int]]]:
        """Return in how many messages each distinct term occurs, and give those that hold the weightiest, in pages.

        The newest comes first among equals; `weigh` says what the terms weigh that occur so often.
        """

    def nearest(self, scope: Scope, vector: Vector, step: int) -> Iterator[list[int]]:
        """Give the numbers of the scope's messages nearest to a vector, in pages, the newest first among equals."""

    def packed(self, values: bytes) -> bytes:
        """Return the values of a vector as the database takes and gives them."""

    def unpacked(self, packed: bytes) -> bytes:
        """Return the values of a vector that the database gave."""


Work = Callable[[Transaction], T]


def id_of_database(salt: bytes) -> str:
    """Return what tells a database from others, by its salt, without telling the salt."""
    return hashlib.blake2b(b"database", key=salt, digest_size=9).hexdigest()


class Driver(Protocol):
    """A database, opened."""

    async def read(self, scope: Scope, work: Work[T], *, quick: bool = False) -> T:
        """Run the work on one consistent snapshot.

        `quick` promises that the work touches a bounded number of rows, so that it may run without a thread.
        """

    async def write(self, scope: Scope, work: Work[T]) -> T:
        """Run the work in one transaction and return only when it is durable."""

    async def read_any(self, work: Work[T]) -> T:
        """Run quick work that belongs to no scope, on one consistent snapshot: finding keys and nothing else."""

    async def write_any(self, work: Work[T]) -> T:
        """Run work that belongs to no scope until it enters one: claiming jobs, changing keys and nothing else."""

    @property
    def database_id(self) -> str:
        """Tell this database from any other, whatever address it is reached by."""

    def mark(self) -> object | None:
        """Return a value that changes whenever somebody else may have written, or None if that cannot be told."""

    async def settled_mark(self) -> object | None:
        """Return the mark, waiting for housekeeping that hides it for a moment; None if it cannot be told even so."""

    async def scrub(self) -> None:
        """Remove erased bytes from wherever the database keeps old pages."""

    async def close(self) -> None:
        """Finish what was accepted, then release everything."""
