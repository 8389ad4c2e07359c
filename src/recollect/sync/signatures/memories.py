"""What `Memories` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recollect.domain.erasure import Receipt
from recollect.domain.job import Job
from recollect.domain.memory import Memory, MemoryPage, MemoryQuery, MemoryVersion
from recollect.domain.scope import Scope
from recollect.service.memories import Correction, Review, Statement


class BlockingMemories(Protocol):
    """Everything a person does with what is remembered of them."""

    def add(self, scope: Scope, statement: Statement) -> Memory:
        """Store what a person states, and return it or the memory that says it already."""

    def get(self, scope: Scope, memory_id: str) -> Memory:
        """Return the memory or raise `MemoryNotFoundError`."""

    def list(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        """List memories by filter, the last added first."""

    def history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return what the memory was before each change, newest first."""

    def lineage(self, scope: Scope, memory_id: str) -> tuple[Memory, ...]:
        """Return what held in the place of a memory before and after it, itself too, the oldest first."""

    def change(self, scope: Scope, memory_id: str, correction: Correction) -> Memory:
        """Change a memory and keep what it was; a memory that waits for review cannot be pinned."""

    def review(self, scope: Scope, memory_id: str, decision: Review, content: str | None = None) -> Memory:
        """Approve a memory that waits for review, perhaps in other words, or reject it."""

    def review_many(
        self, scope: Scope, memory_ids: Sequence[str], decision: Review, content: str | None = None
    ) -> tuple[Memory, ...]:
        """Decide about several, all of which must wait; each approved one then meets the stored ones like a new one."""

    def delete(self, scope: Scope, memory_id: str, expected_version: int | None = None) -> Memory:
        """Hide a memory at once and erase it after a while in which that can be undone."""

    def erase(self, scope: Scope, memory_id: str) -> Receipt:
        """Erase a memory now, with all that derives from it; it is not learned again."""

    def erase_memory_job(self, scope: Scope, job: Job) -> None:
        """Erase a memory whose deletion was not undone."""

    def undo(self, scope: Scope, memory_id: str) -> Memory:
        """Take back the last change of a memory: an edit, what took its place, or for a while its deletion."""
