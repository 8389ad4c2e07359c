"""How much is kept of a user, in counts: what a store adds up, and the days that it adds up by.

Counts, names and days only: nothing here holds a word that was said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

import msgspec

from recollect.domain.checks import as_utc, check_count, check_flag, check_time
from recollect.domain.memory import Memory, holds

MemoryState = Literal["active", "archived", "pending", "rejected", "superseded"]

#: A day in microseconds.
DAY = 86_400_000_000
#: The longest time that is looked back.
MAX_DAYS = 366


class HoldingsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to count, up to the day of this time."""

    now: datetime
    #: How many days to tell apart, the last of which is today in UTC.
    days: int = 90
    #: How many categories to name, those with most memories first.
    categories: int = 50
    #: Messages are measured in bytes only while there are so few, and so few conversations.
    measured: int = 100_000
    #: Whether to tell how large the whole database is.
    database: bool = False

    def __post_init__(self) -> None:
        check_time(self.now, "now")
        check_count(self.days, "days", at_least=1, at_most=MAX_DAYS)
        check_count(self.categories, "categories", at_most=1_000)
        check_count(self.measured, "measured")
        check_flag(self.database, "database")

    @property
    def first_day(self) -> date:
        """Tell the first of the days; there are fewer at the beginning of the calendar."""
        today = as_utc(self.now).date().toordinal()
        return date.fromordinal(max(1, today - self.days + 1))

    @property
    def start(self) -> datetime:
        """Tell when the first day begins."""
        return datetime.combine(self.first_day, time(), UTC)

    @property
    def day_count(self) -> int:
        """Tell how many days there are."""
        return (as_utc(self.now).date() - self.first_day).days + 1


class Count(msgspec.Struct, frozen=True):
    """How many have one name."""

    name: str
    count: int


class MemoryDay(msgspec.Struct, frozen=True, kw_only=True):
    """What became of memories in one day, in UTC."""

    day: date
    #: Learned, or added by a person, whatever became of them since.
    learned: int = 0
    #: Hold no longer since that day.
    superseded: int = 0
    #: Erased for good.
    forgotten: int = 0


class TextBytes(msgspec.Struct, frozen=True, kw_only=True):
    """How long the texts of a user are in UTF-8."""

    #: None if there are too many to measure.
    messages: int | None = 0
    memories: int = 0
    notes: int = 0


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept of a user; a memory whose deletion can still be undone is not counted."""

    conversations: int = 0
    #: How many of them are archived.
    archived_conversations: int = 0
    #: Messages of all branches.
    messages: int = 0
    memories: Mapping[MemoryState, int]
    #: The active memories by type, category and origin, the most first, then by name.
    by_type: tuple[Count, ...] = ()
    by_category: tuple[Count, ...] = ()
    by_origin: tuple[Count, ...] = ()
    #: One entry for each day, oldest first.
    days: tuple[MemoryDay, ...] = ()
    texts: TextBytes = TextBytes()
    jobs: Mapping[str, int]
    #: The size of the whole database, if it was asked for and is known.
    database_bytes: int | None = None


class MemoryKind(msgspec.Struct, frozen=True):
    """What memories are counted by."""

    state: MemoryState
    memory_type: str
    category: str | None
    origin: str


def kind_of(memory: Memory) -> MemoryKind:
    """Return what a memory is counted by."""
    return MemoryKind(_state_of(memory), memory.memory_type, memory.category, memory.origin)


def _state_of(memory: Memory) -> MemoryState:
    if not holds(memory, None):
        return "superseded"
    if memory.trust != "active":
        return memory.trust
    return "archived" if memory.is_archived else "active"


def states(kinds: Mapping[MemoryKind, int]) -> dict[MemoryState, int]:
    """Return how many memories are in each state."""
    counts: dict[MemoryState, int] = {"active": 0, "archived": 0, "pending": 0, "rejected": 0, "superseded": 0}
    for kind, count in kinds.items():
        counts[kind.state] += count
    return counts


def most(kinds: Mapping[MemoryKind, int], what: str, limit: int | None = None) -> tuple[Count, ...]:
    """Return how many active memories have each value of this field, the most first; those without one have no name."""
    counts: Counter[str] = Counter()
    for kind, count in kinds.items():
        name = getattr(kind, what)
        if kind.state == "active" and name is not None:
            counts[name] += count
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(Count(name, count) for name, count in ranked[:limit])


def days_of(
    query: HoldingsQuery, learned: Mapping[int, int], superseded: Mapping[int, int], forgotten: Mapping[int, int]
) -> tuple[MemoryDay, ...]:
    """Return every day of the query, given what happened by the number of the day."""
    return tuple(
        MemoryDay(
            day=query.first_day + timedelta(days=number),
            learned=learned.get(number, 0),
            superseded=superseded.get(number, 0),
            forgotten=forgotten.get(number, 0),
        )
        for number in range(query.day_count)
    )


def numbered(query: HoldingsQuery, times: Iterable[tuple[datetime, int]]) -> Counter[int]:
    """Add up what happened at some times by the number of the day; other days are left out."""
    counts: Counter[int] = Counter()
    for at, count in times:
        number = (as_utc(at).date() - query.first_day).days
        if 0 <= number < query.day_count:
            counts[number] += count
    return counts
