"""Candidates: what an extractor read out of messages, before anything decides whether it becomes a memory.

A candidate is grounded: it has words that stand in its source, and where it comes from was stamped by us.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, get_args

import msgspec

from recollect.domain.checks import (
    check_flag,
    check_ids,
    check_one_of,
    check_optional_text,
    check_optional_time,
    check_share,
    check_text,
)
from recollect.domain.memory import (
    MAX_CATEGORY,
    MAX_MEMORY,
    MAX_SLOT,
    MAX_SOURCES,
    MEMORY_TYPES,
    ORIGINS,
    MemoryType,
    Origin,
)
from recollect.domain.message import Message
from recollect.errors import InvalidInputError

#: Why something that an extractor proposed is no candidate.
Rejection = Literal[
    "not_an_object",
    "blank",
    "too_long",
    "bad_type",
    "no_quote",
    "not_in_source",
    "below_threshold",
    "repeated",
    "cut_off",
]
REJECTIONS: tuple[str, ...] = get_args(Rejection)

#: Whose word counts more, the most trusted first.
BY_TRUST: tuple[Origin, ...] = ("manual", "user", "assistant", "document", "import", "tool")
#: Origins whose word waits for a person.
WAITING: tuple[Origin, ...] = ("import", "tool")
#: Origins of what no person said here; it is told as data, and never overrules a person.
BROUGHT: tuple[Origin, ...] = ("document", *WAITING)
#: The roles whose messages can ground a memory; a summary only repeats, and a system prompt is nobody's word.
SOURCE_ORIGINS: dict[str, Origin] = {"user": "user", "assistant": "assistant", "tool": "tool"}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One statement that may become a memory, with the words and the messages that it comes from."""

    content: str
    #: Verbatim words of the source, after secrets in it were redacted.
    quote: str
    message_ids: tuple[str, ...]
    #: Stamped by us from who said the words.
    origin: Origin
    memory_type: MemoryType = "fact"
    category: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    #: Subject and attribute name the slot; both or neither.
    subject: str | None = None
    attribute: str | None = None
    #: What fills the slot, where it can be told apart from the sentence.
    value: str | None = None
    #: The statement says that something is not so, or no longer.
    negated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def __post_init__(self) -> None:
        check_text(self.content, "content", at_most=MAX_MEMORY, at_least=1)
        check_text(self.quote, "quote", at_most=MAX_MEMORY, at_least=1)
        check_ids(self.message_ids, "message_ids", at_most=MAX_SOURCES, at_least=1)
        check_one_of(self.origin, ORIGINS, "origin")
        check_one_of(self.memory_type, MEMORY_TYPES, "memory_type")
        check_optional_text(self.category, "category", at_most=MAX_CATEGORY)
        check_share(self.importance, "importance")
        check_share(self.confidence, "confidence")
        for what in ("subject", "attribute", "value"):
            check_optional_text(getattr(self, what), what, at_most=MAX_SLOT)
        if (self.subject is None) != (self.attribute is None):
            raise InvalidInputError("subject and attribute name a slot together; give both or neither")
        check_flag(self.negated, "negated")
        check_optional_time(self.valid_from, "valid_from")
        check_optional_time(self.valid_to, "valid_to")


def brought_by(message: Message) -> Origin:
    """Return where the words of a message come from: who said them, or what its metadata says under `origin`.

    Nothing there makes anybody's word count for more.
    """
    spoken = SOURCE_ORIGINS.get(message.role, "tool")
    stated = message.metadata.get("origin")
    return least_trusted((spoken, stated)) if stated in BROUGHT else spoken


def origin_of(messages: Iterable[Message], given: Origin | None = None) -> Origin:
    """Return where words of these messages come from: the least trusted of them and of what the caller says.

    >>> origin_of([], "import")
    'import'
    """
    origins = [brought_by(message) for message in messages]
    return least_trusted([*origins, given] if given is not None else origins)


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """Return the origin that counts least; of none, that which counts least of all."""
    return BY_TRUST[max(map(BY_TRUST.index, origins), default=len(BY_TRUST) - 1)]
