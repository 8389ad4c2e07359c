"""A store that does the whole job."""

from __future__ import annotations

from typing import Protocol

from recollect.ports.conversations import ConversationStore
from recollect.ports.erasure import ErasureStore
from recollect.ports.jobs import JobStore
from recollect.ports.memories import MemoryStore
from recollect.ports.notes import NoteStore
from recollect.ports.recall import RecallStore
from recollect.ports.requests import RequestStore
from recollect.ports.usage import UsageStore


class Store(
    ConversationStore,
    MemoryStore,
    RecallStore,
    NoteStore,
    JobStore,
    RequestStore,
    UsageStore,
    ErasureStore,
    Protocol,
):
    """Everything the service keeps, in one database."""

    async def close(self) -> None:
        """Finish what was accepted, then release everything; a closed store raises `StorageUnavailableError`."""
