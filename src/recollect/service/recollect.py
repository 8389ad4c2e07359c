"""The whole service behind one object."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from recollect.ports.chat_model import ChatModel
from recollect.ports.store import Store
from recollect.service.chat import Chat
from recollect.service.conversations import Conversations
from recollect.service.lifecycle import Lifecycle
from recollect.service.worker import Worker


class Recollect:
    """Everything an application calls; made by `recollect.open`."""

    def __init__(
        self,
        store: Store,
        *,
        chat: Chat,
        conversations: Conversations,
        lifecycle: Lifecycle,
        worker: Worker,
        model: ChatModel | None = None,
    ) -> None:
        #: The store, for what has no use case of its own.
        self.store = store
        #: Chat turns.
        self.chat = chat
        #: Conversations and their messages.
        self.conversations = conversations
        #: Conversations that nobody uses any more.
        self.lifecycle = lifecycle
        #: The worker that does jobs in the background of this process.
        self.worker = worker
        #: The language model, or None.
        self.model = model

    async def close(self) -> None:
        """Finish what was accepted, give back what is under way, then release everything."""
        await self.worker.stop()
        if self.model is not None:
            await self.model.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
