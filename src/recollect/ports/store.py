"""A store that does the whole job."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.scope import Scope
from recollect.ports.conversations import ConversationStore
from recollect.ports.erasure import ErasureStore
from recollect.ports.holdings import HoldingsStore
from recollect.ports.jobs import JobStore
from recollect.ports.keys import KeyStore
from recollect.ports.memories import MemoryStore
from recollect.ports.notes import NoteStore
from recollect.ports.preferences import PreferenceStore
from recollect.ports.recall import RecallStore
from recollect.ports.requests import RequestStore
from recollect.ports.usage import UsageStore


class Store(
    ConversationStore,
    MemoryStore,
    RecallStore,
    NoteStore,
    PreferenceStore,
    JobStore,
    RequestStore,
    UsageStore,
    HoldingsStore,
    KeyStore,
    ErasureStore,
    Protocol,
):
    """Everything the service keeps, in one database."""

    async def signing_key(self, scope: Scope, purpose: str) -> bytes:
        """Return a secret that only this database has for this user and purpose, the same for every process."""

    async def close(self) -> None:
        """Finish what was accepted, then release everything; a closed store raises `StorageUnavailableError`."""
