"""The stores that developers use today, each in its best honest configuration.

Equal durability is checked, not assumed: `durability` reads the settings from the peer's own connection.
The peers are not dependencies of the project; `benchmarks/requirements.txt` installs them.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.systems import WINDOW, conversation_id, describe, filled


class OpenAIAgents:
    """The OpenAI Agents SDK: one `SQLiteSession` object for each conversation, all on one file.

    Its default is WAL, and the SQLite of the standard library flushes each commit unless told otherwise.
    """

    name: ClassVar[str] = "openai-agents"
    threaded: ClassVar[bool] = False

    async def open(self, path: Path) -> None:
        """Import the package; its sessions open the file themselves."""
        from agents import SQLiteSession

        self._make = SQLiteSession
        self._path = path
        self._sessions: dict[int, Any] = {}
        self._reader = SQLiteSession(conversation_id(0), path)

    async def append(self, conversation: int, texts: Sequence[str]) -> None:
        """Add the items to the conversation's session."""
        session = self._sessions.get(conversation)
        if session is None:
            session = self._sessions[conversation] = self._make(conversation_id(conversation), self._path)
        await session.add_items([{"role": "user", "content": text} for text in texts])

    async def last20(self, conversation: int) -> list[str]:
        """Load the newest items through one session object, which saves it a new connection for each conversation."""
        self._reader.session_id = conversation_id(conversation)
        return [item["content"] for item in await self._reader.get_items(limit=WINDOW)]

    async def fill(self, first: int, conversations: int, texts: Sequence[str]) -> None:
        """Insert rows like those that the session writes."""
        with sqlite3.connect(self._path) as connection:
            connection.executemany(
                "insert into agent_sessions (session_id) values (?)",
                ((conversation_id(number),) for number in range(first, first + conversations)),
            )
            connection.executemany(
                "insert into agent_messages (session_id, message_data) values (?, ?)",
                (
                    (name, json.dumps({"role": "user", "content": text}))
                    for name, text in filled(first, conversations, texts)
                ),
            )
        connection.close()

    def durability(self) -> str:
        """Ask a connection that the session opened."""
        with self._reader._locked_connection() as connection:
            return settings(connection)

    async def close(self) -> None:
        """Close every session."""
        for session in (self._reader, *self._sessions.values()):
            session.close()


class LangChain:
    """LangChain's `SQLChatMessageHistory` on SQLite, its connections set to WAL and FULL by an event hook.

    A pool of one connection is its fastest setting here: more of them wait for each other inside SQLite.
    It has no limit on reading, so that the last messages of a conversation cost all of them.
    """

    name: ClassVar[str] = "langchain"
    threaded: ClassVar[bool] = True

    async def open(self, path: Path) -> None:
        """Make the engine that all histories share."""
        from sqlalchemy import create_engine, event

        self._engine = create_engine(
            f"sqlite:///{path}", pool_size=1, max_overflow=0, pool_timeout=120, connect_args={"timeout": 120}
        )
        event.listen(self._engine, "connect", make_durable)
        self._histories: dict[int, Any] = {}
        self._reader = self._history(0)

    def append(self, conversation: int, texts: Sequence[str]) -> None:
        """Add the messages in one transaction."""
        from langchain_core.messages import HumanMessage

        history = self._histories.get(conversation)
        if history is None:
            history = self._histories[conversation] = self._history(conversation)
        history.add_messages([HumanMessage(content=text) for text in texts])

    def last20(self, conversation: int) -> list[str]:
        """Load the conversation and keep its end."""
        self._reader.session_id = conversation_id(conversation)
        return [str(message.content) for message in self._reader.messages[-WINDOW:]]

    async def fill(self, first: int, conversations: int, texts: Sequence[str]) -> None:
        """Insert rows like those that the history writes."""
        from langchain_core.messages import HumanMessage, message_to_dict

        written = {text: json.dumps(message_to_dict(HumanMessage(content=text))) for text in texts}

        def rows() -> Iterator[tuple[str, str]]:
            for name, text in filled(first, conversations, texts):
                yield name, written[text]

        connection = self._engine.raw_connection()
        connection.cursor().executemany("insert into message_store (session_id, message) values (?, ?)", rows())
        connection.commit()
        connection.close()

    def durability(self) -> str:
        """Ask a connection of the pool."""
        connection = self._engine.raw_connection()
        try:
            return settings(connection)
        finally:
            connection.close()

    async def close(self) -> None:
        """Close the pool."""
        self._engine.dispose()

    def _history(self, conversation: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from langchain_community.chat_message_histories import SQLChatMessageHistory

            return SQLChatMessageHistory(conversation_id(conversation), connection=self._engine)


class LangChainIndexed(LangChain):
    """The same with the index on the session that LangChain does not create."""

    name: ClassVar[str] = "langchain+index"

    async def open(self, path: Path) -> None:
        """Add the index to LangChain's table."""
        await super().open(path)
        connection = self._engine.raw_connection()
        connection.cursor().execute("create index by_session on message_store (session_id, id)")
        connection.commit()
        connection.close()


def make_durable(connection: Any, _record: object = None) -> None:
    """Set a connection of any driver to WAL and FULL."""
    cursor = connection.cursor()
    cursor.execute("pragma journal_mode = wal")
    cursor.execute("pragma synchronous = full")
    cursor.close()


def settings(connection: Any) -> str:
    """Ask a connection of any driver for both settings."""
    cursor = connection.cursor()
    cursor.execute("pragma journal_mode")
    (journal_mode,) = cursor.fetchone()
    cursor.execute("pragma synchronous")
    (synchronous,) = cursor.fetchone()
    cursor.close()
    return describe(journal_mode, synchronous)
