"""Questions to what is remembered: what is asked for, and what may be given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import get_args

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_flag,
    check_limit,
    check_one_of,
    check_optional_id,
    check_optional_text,
    check_optional_time,
    check_text,
    check_type,
)
from recollect.domain.memory import (
    MAX_CATEGORY,
    MEMORY_TYPES,
    ORIGINS,
    TRUSTS,
    Memory,
    MemoryType,
    Origin,
    Trust,
    holds,
)
from recollect.domain.message import Message, Role
from recollect.errors import InvalidInputError

ROLES: tuple[str, ...] = get_args(Role)


class RecallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and which memories and messages may answer it."""

    text: str
    limit: int = 10
    memories: bool = True
    messages: bool = True
    #: Only what belongs to this conversation.
    conversation_id: str | None = None
    memory_type: MemoryType | None = None
    category: str | None = None
    origin: Origin | None = None
    trust: Trust | None = "active"
    pinned: bool | None = None
    archived: bool | None = False
    #: Only what was said or learned from this time on, and before that time.
    since: datetime | None = None
    until: datetime | None = None
    #: The values that held at this time, instead of the current ones.
    as_of: datetime | None = None
    role: Role | None = None
    #: Ids of messages and memories that are known already.
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_text(self.text, "text")
        check_limit(self.limit)
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_text(self.category, "category", at_most=MAX_CATEGORY)
        for what, known in (
            ("memory_type", MEMORY_TYPES),
            ("origin", ORIGINS),
            ("trust", TRUSTS),
            ("role", ROLES),
        ):
            if getattr(self, what) is not None:
                check_one_of(getattr(self, what), known, what)
        for what in ("memories", "messages"):
            check_flag(getattr(self, what), what)
        for what in ("pinned", "archived"):
            if getattr(self, what) is not None:
                check_flag(getattr(self, what), what)
        for what in ("since", "until", "as_of"):
            check_optional_time(getattr(self, what), what)
        check_type(self.without, frozenset, "without")
        if not self.memories and not self.messages:
            raise InvalidInputError("ask for memories, for messages or for both")

    def memory_filter(self) -> Callable[[Memory], bool]:
        """Return what tells of each memory whether it may be given; nothing is compared that was not asked for."""
        asked = {
            "conversation_id": self.conversation_id,
            "memory_type": self.memory_type,
            "category": self.category,
            "origin": self.origin,
            "trust": self.trust,
            "is_pinned": self.pinned,
            "is_archived": self.archived,
        }
        wanted = {name: value for name, value in asked.items() if value is not None}
        # It takes two names at least to get a tuple.
        values_of = attrgetter("deleted_at", "deleted_at", *wanted)
        values = (None, None, *wanted.values())
        as_of = None if self.as_of is None else as_utc(self.as_of)
        is_timed = self.since is not None or self.until is not None

        def admits(memory: Memory) -> bool:
            return (
                values_of(memory) == values
                and memory.id not in self.without
                and holds(memory, as_of)
                and (not is_timed or self._is_in_time(memory.created_at))
            )

        return admits

    def admits_message(self, message: Message) -> bool:
        """Tell whether the message may be given."""
        return (
            message.id not in self.without
            and self.conversation_id in (None, message.conversation_id)
            and self.role in (None, message.role)
            and self._is_in_time(message.created_at)
            and (self.as_of is None or message.created_at <= as_utc(self.as_of))
        )

    def _is_in_time(self, at: datetime) -> bool:
        if self.since is not None and at < as_utc(self.since):
            return False
        return self.until is None or at < as_utc(self.until)
