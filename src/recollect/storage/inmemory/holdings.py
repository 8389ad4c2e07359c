"""Counting in memory what is kept of a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from recollect.domain.holdings import (
    Holdings,
    HoldingsQuery,
    MemoryDay,
    TextBytes,
    days_of,
    kind_of,
    most,
    numbered,
    states,
)
from recollect.domain.job import JOB_STATES
from recollect.domain.memory import Memory, holds
from recollect.domain.scope import Scope
from recollect.storage.inmemory.shelves import Shelves, UserData


def _days(data: UserData, query: HoldingsQuery, memories: list[Memory]) -> tuple[MemoryDay, ...]:
    learned = [entry.at for entry in data.audit if (entry.action, entry.kind) == ("create", "memory")]
    erased = [(entry.at, entry.detail.get("memories", 0)) for entry in data.audit if entry.action == "erase"]
    ended = [memory.valid_to or memory.updated_at for memory in memories if not holds(memory, None)]
    return days_of(
        query,
        numbered(query, ((at, 1) for at in learned)),
        numbered(query, ((at, 1) for at in ended)),
        numbered(query, erased),
    )


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


class HoldingsShelf(Shelves):
    """Count."""

    async def count_holdings(self, scope: Scope, query: HoldingsQuery) -> Holdings:
        data = self._reading(scope)
        memories = [memory for memory in data.memories.values() if memory.deleted_at is None]
        kinds = Counter(map(kind_of, memories))
        is_measured = max(len(data.messages), len(data.conversations)) <= query.measured
        jobs: Counter[str] = Counter(queued.job.state for queued in data.jobs.values())
        return Holdings(
            conversations=len(data.conversations),
            archived_conversations=sum(conversation.is_archived for conversation in data.conversations.values()),
            messages=len(data.messages),
            memories=states(kinds),
            by_type=most(kinds, "memory_type"),
            by_category=most(kinds, "category", query.categories),
            by_origin=most(kinds, "origin"),
            days=_days(data, query, memories),
            texts=TextBytes(
                messages=_bytes(message.content for message in data.messages.values()) if is_measured else None,
                memories=_bytes(memory.content for memory in memories),
                notes=_bytes(note.notes for note in data.notes.values()),
            ),
            jobs={state: jobs[state] for state in JOB_STATES},
        )
