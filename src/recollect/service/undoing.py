"""Plan how the last change of a memory is taken back, with what changed together with it.

A change may end other memories, or make them wait no longer; taking back only a part of it would leave two current
values or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, UnsetType

from recollect.domain.memory import Memory, MemoryChanges, MemoryEdit, MemoryVersion, holds
from recollect.domain.vector import Vector

if TYPE_CHECKING:
    from recollect.service.knowledge import UserKnowledge

#: What an undo brings back; identity, origin and counters are nobody's to change.
_UNDONE: Final = (
    "content",
    "memory_type",
    "category",
    "importance",
    "confidence",
    "is_pinned",
    "is_archived",
    "trust",
    "valid_to",
    "superseded_by",
)


class Undoing:
    """The last change of a memory, being taken back."""

    def __init__(self, last: MemoryVersion, *, at: datetime) -> None:
        self._memory_id = last.memory.id
        self._until = last.until
        self._at = at
        #: What each memory that the change touched was before it.
        self._before = {last.memory.id: last.memory}
        self._vectors: dict[str, Vector | None] = {}

    def partners(self, known: UserKnowledge) -> list[Memory]:
        """Return the memories that may have changed together with this one."""
        memory = known.memories.get(self._memory_id)
        if memory is None:
            return []
        return [
            other
            for other in known.memories.values()
            if other.updated_at == self._until
            and (memory.superseded_by == other.id or other.superseded_by == memory.id)
        ]

    def take_back(self, other: Memory, last: MemoryVersion | None) -> None:
        """Take this memory back too, if it changed at that time."""
        if last is not None and last.until == self._until:
            self._before[other.id] = last.memory

    def words(self, known: UserKnowledge) -> list[str]:
        """Return the statements that come back and whose vectors are not held."""
        contents = {one.id: one.content for one in known.memories.values() if one.id in self._before}
        return [before.content for before in self._before.values() if contents.get(before.id) != before.content]

    def mean(self, words: Sequence[str], vectors: Sequence[Vector | None]) -> None:
        """Take the vectors of those statements."""
        self._vectors = dict(zip(words, vectors, strict=True))

    def edits(self, known: UserKnowledge) -> list[MemoryEdit]:
        """Return the edits; what ends comes first, so that no two current memories ever say the same."""
        edits = [self._ended(rival) for rival in self._rivals(known)]
        back = sorted(self._before.values(), key=lambda memory: holds(memory, None))
        return [*edits, *map(self._restored, back)]

    def _rivals(self, known: UserKnowledge) -> list[Memory]:
        """Return what took the place of the memory since, if it is to be current again."""
        before = self._before[self._memory_id]
        if before.trust != "active" or not holds(before, None):
            return []
        now = known.memories.get(self._memory_id)
        if now is not None and holds(now, None) and now.trust == "active":
            return []
        found = {memory.id: memory for memory in known.of_slot(before.subject, before.attribute)}
        successor = known.memories.get((now and now.superseded_by) or "")
        if successor is not None:
            found[successor.id] = successor
        return [
            memory
            for memory in found.values()
            if memory.id not in self._before and memory.trust == "active" and holds(memory, None)
        ]

    def _ended(self, rival: Memory) -> MemoryEdit:
        changes = MemoryChanges(
            at=self._at,
            valid_to=max(self._at, rival.valid_from or self._at),
            superseded_by=self._memory_id,
            expected_version=rival.version,
        )
        return MemoryEdit(memory_id=rival.id, changes=changes)

    def _restored(self, before: Memory) -> MemoryEdit:
        fields: dict[str, Any] = {name: getattr(before, name) for name in _UNDONE}
        vector: Vector | None | UnsetType = self._vectors.get(before.content, UNSET)
        changes = MemoryChanges(
            at=self._at, **fields, deleted_at=None, vector=vector, expected_version=before.version + 1
        )
        return MemoryEdit(memory_id=before.id, changes=changes)
