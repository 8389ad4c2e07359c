"""A store that does the whole job."""

from __future__ import annotations

from typing import Protocol

from recollect.ports.conversations import ConversationStore
from recollect.ports.erasure import ErasureStore
from recollect.ports.jobs import JobStore
from recollect.ports.memories import MemoryStore
from recollect.ports.notes import NoteStore
from recollect.ports.requests import RequestStore


class Store(ConversationStore, MemoryStore, NoteStore, JobStore, RequestStore, ErasureStore, Protocol):
    """Everything the service keeps, in one database."""

    async def close(self) -> None:
        """Finish what was accepted, then release everything; a closed store raises `StorageUnavailableError`."""
