"""What the conversation benchmark asks of a system, and the one that bounds it: raw SQLite.

The model is a constant: what is measured is everything that a system does around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import apsw

from benchmarks.systems import WINDOW, describe

#: Role and text of each message that a model would get, the question last.
Prompt = list[tuple[str, str]]

CONVERSATION = "conversation-00000000000000000000000"
#: Messages in the conversation before the first turn.
SEEDED = 20
#: What the model answers, at once.
REPLY = (
    "Start with the part that nobody else can do for you and write down what it needs. "
    "The rest can wait until Friday; I would ask your sister whether she has a shorter list."
)


class Chatter(Protocol):
    """Chat with one user in one conversation; `turn` blocks when `threaded`, else it is awaited."""

    name: ClassVar[str]
    threaded: ClassVar[bool]

    async def open(self, folder: Path) -> None:
        """Make the databases in this empty folder."""

    async def seed(self, texts: Sequence[str]) -> None:
        """Store the messages of a conversation, user and assistant in turn."""

    def turn(self, text: str) -> Awaitable[Prompt] | Prompt:
        """Read the window, make the prompt, take the reply, and return once question and reply are durable."""

    def durability(self) -> str:
        """Return the settings that decide what survives a power cut, as its own connections report them."""

    async def close(self) -> None:
        """Release everything."""


def role_at(place: int) -> str:
    """Return who wrote the n-th message of a conversation."""
    return "assistant" if place % 2 else "user"


class Floor:
    """One SELECT of the last messages and one transaction with two rows: the least that SQLite can do."""

    name: ClassVar[str] = "floor"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Create a table and the index that the read needs."""
        self._connection = apsw.Connection(str(folder / "floor.db"))
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.execute(
            "create table messages "
            "(id integer primary key, conversation text not null, role text not null, content text not null)"
        )
        self._connection.execute("create index by_conversation on messages (conversation, id)")

    async def seed(self, texts: Sequence[str]) -> None:
        """Insert everything in one transaction."""
        with self._connection:
            rows = ((CONVERSATION, role_at(place), text) for place, text in enumerate(texts))
            self._connection.executemany(_INSERT, rows)

    def window(self) -> Prompt:
        """Select the newest messages by the index."""
        rows = self._connection.execute(_SELECT, (CONVERSATION, WINDOW)).fetchall()
        return list(reversed(rows))

    def turn(self, text: str) -> Prompt:
        """Select, then insert both messages and commit."""
        prompt = [*self.window(), ("user", text)]
        execute = self._connection.execute
        execute("begin immediate")
        execute(_INSERT, (CONVERSATION, "user", text))
        execute(_INSERT, (CONVERSATION, "assistant", REPLY))
        execute("commit")
        return prompt

    def durability(self) -> str:
        """Ask the connection."""
        return describe(self._connection.pragma("journal_mode"), self._connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class FloorSessions:
    """One table of sessions and an index of the active ones; a batch is one UPDATE and one commit."""

    name: ClassVar[str] = "floor"

    async def open(self, folder: Path) -> None:
        """Create the table and the index that the search for idle sessions needs."""
        self._connection = apsw.Connection(str(folder / "floor.db"))
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.execute(
            "create table sessions "
            "(id integer primary key, owner integer not null, last_activity integer not null, active integer not null)"
        )
        self._connection.execute("create index by_activity on sessions (owner, last_activity) where active")

    async def fill(self, users: int, sessions: int) -> None:
        """Insert everything in one transaction."""
        with self._connection:
            rows = ((user, place) for user in range(users) for place in range(sessions))
            self._connection.executemany(
                "insert into sessions (owner, last_activity, active) values (?, ?, true)", rows
            )

    def mark(self, user: int, limit: int) -> int:
        """Mark one batch of a user's idle sessions and return how many there were."""
        self._connection.execute(_MARK, (user, limit))
        return self._connection.changes()

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_INSERT = "insert into messages (conversation, role, content) values (?, ?, ?)"
_SELECT = "select role, content from messages where conversation = ? order by id desc limit ?"
_MARK = (
    "update sessions set active = false where id in "
    "(select id from sessions where owner = ? and active and last_activity < 1000000 order by last_activity limit ?)"
)
