"""What the store benchmark asks of a system, and the two that bound it: raw SQLite and the bare disk.

Messages are plain texts here; turning them into a system's own message is part of what is measured.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import apsw

#: Messages of a conversation in the store that is read.
PER_CONVERSATION = 1_000
#: How many of the newest messages are loaded.
WINDOW = 20


def conversation_id(number: int) -> str:
    """Return the id of the n-th conversation, as long as a UUID."""
    return f"conversation-{number:023d}"


class System(Protocol):
    """A store of messages; `append` and `last20` block when `threaded`, else they are awaited."""

    name: ClassVar[str]
    threaded: ClassVar[bool]

    async def open(self, path: Path) -> None:
        """Create the database in this file."""

    def append(self, conversation: int, texts: Sequence[str]) -> Awaitable[object] | object:
        """Store the messages and return once they are durable."""

    def last20(self, conversation: int) -> Awaitable[list[str]] | list[str]:
        """Return the newest messages, oldest first."""

    async def fill(self, first: int, conversations: int, texts: Sequence[str]) -> None:
        """Store this many conversations quickly, the first with this number."""

    def durability(self) -> str:
        """Return the settings that decide what survives a power cut, as its own connection reports them."""

    async def close(self) -> None:
        """Release everything."""


def filled(first: int, conversations: int, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (conversation id, text) of every message of a filled store, conversation by conversation."""
    for number in range(first, first + conversations):
        name = conversation_id(number)
        for seq in range(PER_CONVERSATION):
            yield name, text_at(number, seq, texts)


def text_at(conversation: int, seq: int, texts: Sequence[str]) -> str:
    """Return the text of a message of a filled store."""
    return texts[(conversation * 7 + seq) % len(texts)]


class Floor:
    """One connection, one prepared INSERT, one commit for each operation: the least that SQLite can do.

    Clients take turns at a lock, so a system that commits for several clients at once can beat it.
    """

    name: ClassVar[str] = "floor"
    threaded: ClassVar[bool] = True

    async def open(self, path: Path) -> None:
        """Create a table and the index that the read needs."""
        self._lock = threading.Lock()
        self._connection = apsw.Connection(str(path))
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.execute(
            "create table messages (id integer primary key, conversation text not null, content text not null)"
        )
        self._connection.execute("create index by_conversation on messages (conversation, id)")

    def append(self, conversation: int, texts: Sequence[str]) -> None:
        """Insert and commit."""
        name = conversation_id(conversation)
        with self._lock:
            if len(texts) == 1:
                self._connection.execute(_INSERT, (name, texts[0]))
                return
            with self._connection:
                self._connection.executemany(_INSERT, [(name, text) for text in texts])

    def last20(self, conversation: int) -> list[str]:
        """Select by the index."""
        rows = self._connection.execute(_SELECT, (conversation_id(conversation), WINDOW)).fetchall()
        return [text for (text,) in reversed(rows)]

    async def fill(self, first: int, conversations: int, texts: Sequence[str]) -> None:
        """Insert everything in one transaction."""
        with self._connection:
            self._connection.executemany(_INSERT, filled(first, conversations, texts))

    def durability(self) -> str:
        """Ask the connection."""
        return describe(self._connection.pragma("journal_mode"), self._connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_INSERT = "insert into messages (conversation, content) values (?, ?)"
_SELECT = "select content from messages where conversation = ? order by id desc limit ?"


def describe(journal_mode: object, synchronous: object) -> str:
    """Put the two settings into words."""
    level = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}.get(int(str(synchronous)), str(synchronous))
    return f"journal_mode={journal_mode} synchronous={level}"


class Disk:
    """Overwrite one block of a file and flush it: what the disk alone takes."""

    BLOCK = 4_096
    BLOCKS = 1_000

    def __init__(self, path: Path) -> None:
        """Write the file once, so that no later write has to grow it."""
        self._file = os.open(path, os.O_CREAT | os.O_RDWR)
        self._block = b"x" * self.BLOCK
        os.write(self._file, self._block * self.BLOCKS)
        os.fsync(self._file)

    def flush(self, _client: int, count: int) -> None:
        """Write and flush one block."""
        os.pwrite(self._file, self._block, count % self.BLOCKS * self.BLOCK)
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
