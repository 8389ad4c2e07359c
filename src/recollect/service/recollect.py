"""The whole service behind one object."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from recollect.ports.store import Store
from recollect.service.chat import Chat


class Recollect:
    """Everything an application calls; made by `recollect.open`."""

    def __init__(self, store: Store, chat: Chat) -> None:
        #: The store, for what has no use case of its own.
        self.store = store
        #: Chat turns.
        self.chat = chat

    async def close(self) -> None:
        """Finish what was accepted, then release everything."""
        await self.store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
