"""Memories: lasting statements about a user, with where they come from and how long they hold."""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import (
    MAX_LIMIT,
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_ids,
    check_items,
    check_one_of,
    check_optional_id,
    check_optional_text,
    check_optional_time,
    check_share,
    check_text,
    check_time,
    check_type,
)
from recollect.domain.job import Claim
from recollect.domain.memory_listing import MemoryListing
from recollect.domain.scope import DEFAULT_AGENT
from recollect.domain.vector import Vector
from recollect.errors import InvalidInputError

MemoryType = Literal["fact", "preference", "insight", "entity", "project", "decision"]
Origin = Literal["user", "assistant", "tool", "document", "import", "manual"]
Trust = Literal["active", "pending", "rejected"]

MEMORY_TYPES: tuple[str, ...] = get_args(MemoryType)
ORIGINS: tuple[str, ...] = get_args(Origin)
TRUSTS: tuple[str, ...] = get_args(Trust)
MAX_MEMORY = 10_000
MAX_CATEGORY = 100
MAX_SLOT = 255
MAX_SOURCES = 200


class Source(msgspec.Struct, frozen=True):
    """A message that a memory was drawn from."""

    conversation_id: str
    message_id: str

    def __post_init__(self) -> None:
        check_id(self.conversation_id, "source conversation id")
        check_id(self.message_id, "source message id")


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to store."""

    id: str
    content: str
    at: datetime
    memory_type: MemoryType = "fact"
    category: str | None = None
    agent: str = DEFAULT_AGENT
    importance: float = 0.5
    confidence: float = 1.0
    is_pinned: bool = False
    origin: Origin = "manual"
    trust: Trust = "active"
    #: The words in the source that say so.
    quote: str | None = None
    #: The conversation it was learned in or added to.
    conversation_id: str | None = None
    sources: tuple[Source, ...] = ()
    #: Subject and attribute name the slot, which holds one current value.
    subject: str | None = None
    attribute: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    #: What the content means, if that is known already.
    vector: Vector | None = None
    #: The value that it says the slot no longer has; another value there stays current.
    denies: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id, "memory id")
        check_text(self.content, "content", at_most=MAX_MEMORY, at_least=1)
        check_time(self.at, "at")
        check_one_of(self.memory_type, MEMORY_TYPES, "memory_type")
        check_optional_text(self.category, "category", at_most=MAX_CATEGORY)
        check_id(self.agent, "agent")
        check_share(self.importance, "importance")
        check_share(self.confidence, "confidence")
        check_flag(self.is_pinned, "is_pinned")
        check_one_of(self.origin, ORIGINS, "origin")
        check_one_of(self.trust, TRUSTS, "trust")
        check_optional_text(self.quote, "quote", at_most=MAX_MEMORY)
        check_optional_id(self.conversation_id, "conversation id")
        check_items(self.sources, Source, "sources", at_most=MAX_SOURCES)
        check_optional_text(self.subject, "subject", at_most=MAX_SLOT)
        check_optional_text(self.attribute, "attribute", at_most=MAX_SLOT)
        check_optional_text(self.denies, "denies", at_most=MAX_SLOT)
        check_optional_time(self.valid_from, "valid_from")
        check_optional_time(self.valid_to, "valid_to")
        _check_validity(self.valid_from, self.valid_to)
        if self.vector is not None:
            check_type(self.vector, Vector, "vector")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """A stored memory."""

    id: str
    agent: str
    memory_type: MemoryType
    category: str | None
    content: str
    importance: float
    confidence: float
    is_pinned: bool
    is_archived: bool
    origin: Origin
    trust: Trust
    quote: str | None
    conversation_id: str | None
    sources: tuple[Source, ...]
    subject: str | None
    attribute: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: str | None
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int
    version: int
    #: Set while a deletion can be undone; the memory is hidden meanwhile.
    deleted_at: datetime | None = None


class MemoryChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a memory; what is unset stays."""

    at: datetime
    content: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    category: str | None | UnsetType = UNSET
    importance: float | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    is_pinned: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET
    trust: Trust | UnsetType = UNSET
    valid_to: datetime | None | UnsetType = UNSET
    superseded_by: str | None | UnsetType = UNSET
    deleted_at: datetime | None | UnsetType = UNSET
    #: Sources to add to those it has.
    more_sources: tuple[Source, ...] = ()
    #: What the content means after the change; unset, a vector stays until the content changes.
    vector: Vector | None | UnsetType = UNSET
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_time(self.at, "at")
        for what, check in _CHANGE_CHECKS.items():
            value = getattr(self, what)
            if value is not UNSET:
                check(value)
        check_items(self.more_sources, Source, "more_sources", at_most=MAX_SOURCES)
        if self.vector is not UNSET and self.vector is not None:
            check_type(self.vector, Vector, "vector")
        if self.expected_version is not None:
            check_count(self.expected_version, "expected_version")


_CHANGE_CHECKS: dict[str, Any] = {
    "content": lambda v: check_text(v, "content", at_most=MAX_MEMORY, at_least=1),
    "memory_type": lambda v: check_one_of(v, MEMORY_TYPES, "memory_type"),
    "category": lambda v: check_optional_text(v, "category", at_most=MAX_CATEGORY),
    "importance": lambda v: check_share(v, "importance"),
    "confidence": lambda v: check_share(v, "confidence"),
    "is_pinned": lambda v: check_flag(v, "is_pinned"),
    "is_archived": lambda v: check_flag(v, "is_archived"),
    "trust": lambda v: check_one_of(v, TRUSTS, "trust"),
    "valid_to": lambda v: check_optional_time(v, "valid_to"),
    "superseded_by": lambda v: check_optional_id(v, "superseded_by"),
    "deleted_at": lambda v: check_optional_time(v, "deleted_at"),
}


class MemoryEdit(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one stored memory, as part of a larger write."""

    memory_id: str
    changes: MemoryChanges

    def __post_init__(self) -> None:
        check_id(self.memory_id, "memory id")
        check_type(self.changes, MemoryChanges, "changes")


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """The result of extracting one range of a conversation, saved exactly once.

    `from_seq` must be where the last extraction of the conversation ended.
    """

    conversation_id: str
    from_seq: int
    to_seq: int
    at: datetime
    new: tuple[NewMemory, ...] = ()
    edits: tuple[MemoryEdit, ...] = ()
    #: The job that did it, completed in the same transaction.
    claim: Claim | None = None
    #: The revision of the user's memories that it was planned for; None is any.
    memory_revision: int | None = None
    #: The messages that were read for it; if one of them was erased meanwhile, nothing is saved.
    read: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_id(self.conversation_id, "conversation id")
        check_ids(self.read, "read", at_most=MAX_LIMIT)
        check_count(self.from_seq, "from_seq")
        check_count(self.to_seq, "to_seq", at_least=self.from_seq)
        check_time(self.at, "at")
        _check_plan(self.new, self.edits, self.memory_revision)
        if self.claim is not None:
            check_type(self.claim, Claim, "claim")


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Memories to add and to edit together; `superseded_by` of an edit may name a memory that the plan adds."""

    at: datetime
    new: tuple[NewMemory, ...] = ()
    edits: tuple[MemoryEdit, ...] = ()
    #: The revision of the user's memories that it was planned for; None is any.
    memory_revision: int | None = None

    def __post_init__(self) -> None:
        check_time(self.at, "at")
        _check_plan(self.new, self.edits, self.memory_revision)


def _check_plan(new: object, edits: object, revision: object) -> None:
    check_items(new, NewMemory, "new", at_most=500)
    check_items(edits, MemoryEdit, "edits", at_most=500)
    if revision is not None:
        check_count(revision, "memory_revision")


class SavedMemories(msgspec.Struct, frozen=True, kw_only=True):
    """What became of memories that were to be stored."""

    created: tuple[Memory, ...] = ()
    changed: tuple[Memory, ...] = ()
    #: The stored memories that say the same already.
    duplicates: tuple[Memory, ...] = ()
    #: Ids whose statement was erased and stays forgotten.
    refused: tuple[str, ...] = ()
    #: Ids of memories that were not edited, because what was to take their place is not there.
    skipped: tuple[str, ...] = ()
    #: The revision of the user's memories afterwards.
    revision: int = 0


class MemoryQuery(MemoryListing, frozen=True, kw_only=True):
    """Which memories to list.

    Without `as_of` only current values are listed; with it, the values that held at that time.
    """

    memory_type: MemoryType | None = None
    category: str | None = None
    origin: Origin | None = None
    trust: Trust | None = "active"
    pinned: bool | None = None
    archived: bool | None = False
    conversation_id: str | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        MemoryListing.__post_init__(self)
        if self.memory_type is not None:
            check_one_of(self.memory_type, MEMORY_TYPES, "memory_type")
        check_optional_text(self.category, "category", at_most=MAX_CATEGORY)
        if self.origin is not None:
            check_one_of(self.origin, ORIGINS, "origin")
        if self.trust is not None:
            check_one_of(self.trust, TRUSTS, "trust")
        for what in ("pinned", "archived"):
            if getattr(self, what) is not None:
                check_flag(getattr(self, what), what)
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_time(self.as_of, "as_of")


class MemoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of memories; `next` is None on the last."""

    items: tuple[Memory, ...]
    next: str | None
    corrupt: tuple[str, ...] = ()


class MemoryVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as it was before a change."""

    memory: Memory
    #: When it stopped being so.
    until: datetime


#: Signs around words that say nothing by themselves; others do, as in C++, -5, or an emoji.
_AROUND_WORDS = ".,;:!?\"'`()[]{}«»‹›“”„‘’‚。、「」『』،؛؟।॥"


def normalised(content: str) -> str:
    """Return the statement without case, width, spacing and the punctuation around words, in any script."""
    folded = content.lower() if content.isascii() else unicodedata.normalize("NFKC", content).casefold()
    words = [word.strip(_AROUND_WORDS) for word in folded.split()]
    return " ".join(filter(None, words)) or folded.strip()


def content_key(content: str) -> str:
    """Return a key that equal statements share."""
    return hashlib.blake2b(normalised(content).encode(), digest_size=16).hexdigest()


def _check_validity(start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and end < start:
        raise InvalidInputError("valid_to must not be before valid_from")


def memory_from(new: NewMemory) -> Memory:
    """Return the stored memory that this request makes."""
    at = as_utc(new.at)
    return Memory(
        id=new.id,
        agent=new.agent,
        memory_type=new.memory_type,
        category=new.category,
        content=new.content,
        importance=float(new.importance),
        confidence=float(new.confidence),
        is_pinned=new.is_pinned,
        is_archived=False,
        origin=new.origin,
        trust=new.trust,
        quote=new.quote,
        conversation_id=new.conversation_id,
        sources=tuple(dict.fromkeys(new.sources)),
        subject=new.subject,
        attribute=new.attribute,
        valid_from=new.valid_from and as_utc(new.valid_from),
        valid_to=new.valid_to and as_utc(new.valid_to),
        superseded_by=None,
        created_at=at,
        updated_at=at,
        last_accessed_at=at,
        access_count=0,
        version=1,
    )


def changed(memory: Memory, changes: MemoryChanges) -> Memory:
    """Return the memory with these changes."""
    new: dict[str, Any] = {}
    for what in _CHANGE_CHECKS:
        value = getattr(changes, what)
        if value is not UNSET:
            new[what] = _kept(value)
    sources = tuple(dict.fromkeys(memory.sources + changes.more_sources))
    if sources != memory.sources:
        new["sources"] = sources
    if all(getattr(memory, what) == value for what, value in new.items()):
        return memory
    return msgspec.structs.replace(memory, **new, version=memory.version + 1, updated_at=as_utc(changes.at))


def _kept(value: Any) -> Any:
    """Return a changed value as it is stored: times in UTC, shares as floats."""
    if isinstance(value, datetime):
        return as_utc(value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def holds(memory: Memory, as_of: datetime | None) -> bool:
    """Tell whether the memory is the current value, or was at that time."""
    if as_of is None:
        return memory.superseded_by is None and memory.valid_to is None
    start = memory.valid_from or memory.created_at
    return start <= as_of and (memory.valid_to is None or as_of < memory.valid_to)
