"""What the service needs to keep memories."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.memory import (
    Extraction,
    Memory,
    MemoryChanges,
    MemoryPage,
    MemoryPlan,
    MemoryQuery,
    MemoryVersion,
    NewMemory,
    SavedMemories,
)
from recollect.domain.scope import Scope


class MemoryStore(Protocol):
    """Keep lasting statements about a user; every method is one transaction.

    Of the current memories of a user no two say the same, however many callers add them at once.
    """

    async def add_memories(self, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
        """Store memories; those that say what is stored are duplicates.

        Those that were erased, and those that cite an erased message, are refused, unless a person adds them by hand.
        """

    async def get_memory(self, scope: Scope, memory_id: str) -> Memory:
        """Return the memory or raise `MemoryNotFoundError`; one that was deleted counts as missing."""

    async def find_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Memory, ...]:
        """Return those of these memories that are stored and not deleted, the first added first."""

    async def list_memories(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        """List memories by filter, the last added first unless the query says otherwise.

        A page goes on from where the last memory of the page before stands now, in every order at the same cost.
        """

    async def change_memory(self, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
        """Apply the changes, keep what the memory was, and return it after them.

        Raise `StaleVersionError` if an expected version is given and does not hold,
        `ErasedError` if a source to add was erased, `ConflictError` if another current memory says the same.
        """

    async def save_memories(self, scope: Scope, plan: MemoryPlan) -> SavedMemories:
        """Edit and add memories together, if the memories of the user still are at the revision of the plan.

        An edit whose `superseded_by` names a memory of the plan is made only if that memory is there afterwards:
        if a stored memory says the same already, that one takes its place; if it is refused, the edit is skipped.
        Raise `ConflictError` if the memories changed since, and whatever `change_memory` raises, and save nothing then.
        """

    async def save_extraction(self, scope: Scope, result: Extraction) -> SavedMemories:
        """Save what was extracted from a range, as `save_memories` does, move the mark, end the job.

        Raise `ConflictError` if the range was extracted already or the memories changed since the plan, `ErasedError`
        if a message that was read is erased, `JobNotFoundError` if the job was lost, and save nothing then.
        """

    async def memory_history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return what the memory was before each change, newest first."""
