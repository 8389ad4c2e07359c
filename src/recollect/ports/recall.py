"""What recall needs of a store: the texts of a user with their vectors, and candidates where those are too many."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.passage import (
    IndexedMemories,
    MatchedPassages,
    PassageMatch,
    PassageQuery,
    Passages,
    Unembedded,
)
from recollect.domain.scope import Scope
from recollect.domain.vector import VectorBatch


class RecallStore(Protocol):
    """Read what can be recalled, and keep vectors; every method is one transaction.

    Only the user's own data is touched, so the work does not depend on how many other users there are.
    A vector goes with its text: what is erased or changed has none any more.
    """

    async def read_passages(self, scope: Scope, query: PassageQuery) -> Passages:
        """Return the messages of users and assistants that are new, and name the conversations that are gone."""

    async def match_passages(self, scope: Scope, match: PassageMatch) -> MatchedPassages:
        """Return the messages that hold most of the terms, rare ones counting more, and those nearest in meaning."""

    async def read_memories(self, scope: Scope, model: str, known: int | None = None) -> IndexedMemories | None:
        """Return all memories of the user, or None if they still are at this revision."""

    async def list_unembedded(self, scope: Scope, model: str, limit: int) -> Unembedded:
        """Return the oldest messages or memories without a vector of this model, and how many there are in all."""

    async def save_vectors(self, scope: Scope, batch: VectorBatch) -> int:
        """Keep vectors in place of older ones, except those of texts that are gone or changed, and return how many."""
