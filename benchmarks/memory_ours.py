"""Recollect as the memory benchmark sees it: the only file of that benchmark that knows our names."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from uuid_utils import uuid7

from benchmarks.memory_systems import FOUND, Known, user_name
from benchmarks.systems import describe
from recollect import bootstrap
from recollect.domain.memory import MemoryPlan, NewMemory
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.service.memories import Statement
from recollect.settings import Settings
from recollect.settings.groups import StorageSettings

#: Users in flight while the store is filled, so that one commit carries several.
FILLERS = 64


class Recollect:
    """The whole service with its default settings on SQLite.

    An addition also looks for what says the same, and a search also weighs words, times and importance.
    """

    name: ClassVar[str] = "recollect"
    threaded: ClassVar[bool] = False

    async def open(self, folder: Path) -> None:
        """Open the service."""
        storage = StorageSettings(database=f"sqlite:///{folder / 'recollect.db'}")
        self._recollect = await bootstrap.open(Settings(storage=storage))

    async def fill(self, known: Sequence[Known]) -> None:
        """Save each part as one plan, those of several users at a time."""
        left = iter(known)

        async def filler() -> None:
            for one in left:
                await self._recollect.store.save_memories(_scope(one.user), self._plan(one))

        await asyncio.gather(*(filler() for _ in range(FILLERS)))

    def _plan(self, known: Known) -> MemoryPlan:
        at = datetime.now(UTC)
        model = self._recollect.embedding.model
        new = [
            NewMemory(id=str(uuid7()), content=text, at=at, vector=Vector(model, vector.astype("<f2").tobytes()))
            for text, vector in zip(known.texts, known.vectors, strict=True)
        ]
        return MemoryPlan(at=at, new=tuple(new))

    async def add(self, user: int, text: str) -> object:
        """State one memory."""
        return await self._recollect.memories.add(_scope(user), Statement(content=text))

    async def search(self, user: int, text: str) -> list[str]:
        """Recall memories, and no messages."""
        request = RecallRequest(text=text, limit=FOUND, messages=False)
        found = await self._recollect.recall.search(_scope(user), request)
        return [one.memory.content for one in found if one.memory is not None]

    def durability(self) -> str:
        """Ask the connection that writes."""
        store: Any = self._recollect.store
        connection = store._driver._writer.tx.connection
        return describe(connection.pragma("journal_mode"), connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the service."""
        await self._recollect.close()


def _scope(user: int) -> Scope:
    return Scope(user=user_name(user))
