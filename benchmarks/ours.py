"""Recollect as the store benchmark sees it: the only file of the benchmark that knows our names."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from benchmarks.systems import PER_CONVERSATION, WINDOW, conversation_id, describe, text_at

#: Batches in flight while a store is filled, so that one commit carries several.
FILLERS = 4


class Recollect:
    """Our SQLite store through its public, asynchronous methods."""

    name: ClassVar[str] = "recollect"
    threaded: ClassVar[bool] = False

    async def open(self, path: Path) -> None:
        """Open the store with its default settings."""
        from uuid_utils import uuid7

        from recollect.domain import message, page, scope, turn
        from recollect.storage.sqlite import SqliteDriver
        from recollect.storage.store import SqlStore

        self._new_id, self._message, self._append, self._query = (
            uuid7,
            message.NewMessage,
            turn.Append,
            page.MessageQuery,
        )
        self._scope = scope.Scope()
        self._driver = await SqliteDriver.open(path)
        self._store = SqlStore(self._driver)

    async def append(self, conversation: int, texts: Sequence[str]) -> None:
        """Append the messages in one operation, creating the conversation when it is new."""
        now = datetime.now(UTC)
        messages = tuple(
            self._message(id=str(self._new_id()), role="user", content=text, created_at=now) for text in texts
        )
        append = self._append(conversation_id=conversation_id(conversation), messages=messages, at=now, create=True)
        await self._store.append(self._scope, append)

    async def last20(self, conversation: int) -> list[str]:
        """Load the newest messages."""
        query = self._query(conversation_id=conversation_id(conversation), limit=WINDOW)
        page = await self._store.list_messages(self._scope, query)
        return [message.content for message in page.messages]

    async def fill(self, first: int, conversations: int, texts: Sequence[str]) -> None:
        """Append every conversation as one batch."""
        await fill_recollect(self, first, conversations, texts)

    def durability(self) -> str:
        """Ask the connection that writes."""
        connection = self._driver._writer.tx.connection
        return describe(connection.pragma("journal_mode"), connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the store and its connections."""
        await self._store.close()


async def fill_recollect(store: Recollect, first: int, conversations: int, texts: Sequence[str]) -> None:
    """Append conversations of 1,000 messages, one call each, a few at a time."""
    numbers = iter(range(first, first + conversations))

    async def filler() -> None:
        for number in numbers:
            await store.append(number, [text_at(number, seq, texts) for seq in range(PER_CONVERSATION)])

    await asyncio.gather(*(filler() for _ in range(FILLERS)))
