"""What the service needs to erase, and to prove it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import msgspec

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.erasure import Erasure, Receipt
from recollect.domain.scope import Scope


class Damaged(msgspec.Struct, frozen=True, kw_only=True):
    """A stored record that no longer matches its checksum; it is kept aside, never dropped."""

    kind: str
    id: str
    detected_at: datetime


class ErasureStore(Protocol):
    """Erase with everything derived; every method is one transaction and returns a receipt that counts.

    What is erased leaves a salted digest that every writer looks up, so no replay or late job brings it back.
    Derived are: summaries, memories without another source, their history, lines that agents noted, search entries,
    jobs, kept answers, and replies that say that they repeat it, in whichever conversation of the user they stand,
    with everything derived from these.
    A job under way that may have read it goes on, but what it fails with is not kept.
    """

    async def clear_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        """Empty a conversation, which then starts again at seq 1; raise `ConversationNotFoundError` if it is empty."""

    async def erase_message(self, scope: Scope, conversation_id: str, message_id: str, erasure: Erasure) -> Receipt:
        """Erase one message; its seq stays unused and its answers move up to its parent."""

    async def erase_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        """Erase a conversation; its id cannot be used again.

        Raise `ConflictError` if it is to be erased only while idle and was used since.
        """

    async def erase_memory(self, scope: Scope, memory_id: str, erasure: Erasure) -> Receipt:
        """Erase a memory with its history; extraction does not learn it again."""

    async def erase_user(self, scope: Scope, erasure: Erasure) -> Receipt:
        """Erase everything of the user."""

    async def list_audit(self, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
        """List who changed what, newest first."""

    async def list_damaged(self, scope: Scope) -> tuple[Damaged, ...]:
        """List the records that reads found damaged."""
