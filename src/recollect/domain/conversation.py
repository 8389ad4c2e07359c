"""Conversations, how they are changed, and how they are listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import (
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_limit,
    check_object,
    check_optional_id,
    check_text,
    check_time,
)
from recollect.domain.plain_text import plain
from recollect.domain.scope import DEFAULT_AGENT
from recollect.errors import InvalidCursorError, InvalidInputError

TitleSource = Literal["auto", "user"]

MAX_TITLE = 255
#: Where an automatic title is cut, so that it fits a sidebar.
AUTO_TITLE = 60
#: How much of a text is read for it; an address in Markdown may be long.
READ_FOR_TITLE = 1_000


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """A stored conversation."""

    id: str
    agent: str
    title: str | None
    title_source: TitleSource
    is_archived: bool
    is_pinned: bool
    metadata: Mapping[str, Any]
    #: The newest message of the branch that is read and continued.
    head_id: str | None
    message_count: int
    #: The newest summary text, if there is one.
    summary: str | None
    created_at: datetime
    updated_at: datetime
    last_activity_at: datetime
    is_active: bool
    #: Grows with each change made by a person, not with each message.
    version: int
    #: The seq that the next message gets.
    next_seq: int
    #: Whether some message has a parent other than the message before it.
    is_branched: bool
    #: Memories were extracted from all messages up to this seq.
    extracted_seq: int
    #: Grows with every change that a reader sees, messages and summaries included, and never goes back.
    revision: int


class NewConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to create; creating it again with the same id returns the stored one."""

    id: str
    at: datetime
    agent: str = DEFAULT_AGENT
    title: str | None = None
    metadata: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        check_id(self.id, "conversation id")
        check_time(self.at, "at")
        check_id(self.agent, "agent")
        if self.title is not None:
            check_text(self.title, "title", at_most=MAX_TITLE, at_least=1)
        check_object(self.metadata, "metadata")


class ConversationChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a conversation; what is unset stays."""

    at: datetime
    title: str | UnsetType = UNSET
    #: `user` when a person chose the title, which is then never overwritten.
    title_source: TitleSource = "user"
    is_archived: bool | UnsetType = UNSET
    is_pinned: bool | UnsetType = UNSET
    metadata: Mapping[str, Any] | UnsetType = UNSET
    #: None goes back before the first message: nothing is read, and the next message starts a new root.
    head_id: str | None | UnsetType = UNSET
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_time(self.at, "at")
        if self.title is not UNSET:
            check_text(self.title, "title", at_most=MAX_TITLE, at_least=1)
        if self.title_source not in ("auto", "user"):
            raise InvalidInputError("title_source must be auto or user")
        for what in ("is_archived", "is_pinned"):
            if getattr(self, what) is not UNSET:
                check_flag(getattr(self, what), what)
        if self.metadata is not UNSET:
            check_object(self.metadata, "metadata")
        if self.head_id is not UNSET:
            check_optional_id(self.head_id, "head_id")
        if self.expected_version is not None:
            check_count(self.expected_version, "expected_version")


class ConversationCursor(msgspec.Struct, frozen=True):
    """The last conversation of a page; the next page starts after it."""

    last_activity_at: datetime
    id: str

    def __post_init__(self) -> None:
        check_time(self.last_activity_at, "cursor", InvalidCursorError)
        check_id(self.id, "cursor", InvalidCursorError)


class ConversationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations to list, newest activity first."""

    limit: int = 50
    after: ConversationCursor | None = None
    archived: bool | None = None
    #: Only those that were used lately, or only the others.
    active: bool | None = None
    pinned: bool | None = None
    agent: str | None = None

    def __post_init__(self) -> None:
        _check_page(self)
        if self.active is not None:
            check_flag(self.active, "active")


class ConversationPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of conversations; `next` is None on the last."""

    items: tuple[Conversation, ...]
    next: ConversationCursor | None
    #: Ids of conversations whose stored record no longer matches its checksum.
    corrupt: tuple[str, ...] = ()


class ConversationSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Words to look for in the user's conversations."""

    text: str
    limit: int = 50
    after: ConversationCursor | None = None
    archived: bool | None = None
    pinned: bool | None = None
    agent: str | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "text")
        _check_page(self)


class FoundConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that holds the words of the question."""

    conversation: Conversation
    #: A passage of its newest message that holds them, or None if only the title does.
    snippet: str | None
    #: That message.
    message_id: str | None


class FoundConversations(msgspec.Struct, frozen=True, kw_only=True):
    """One page of conversations that were found; `next` is None on the last."""

    items: tuple[FoundConversation, ...]
    next: ConversationCursor | None
    #: Ids of conversations whose stored record no longer matches its checksum.
    corrupt: tuple[str, ...] = ()


def _check_page(query: ConversationQuery | ConversationSearch) -> None:
    check_limit(query.limit)
    if query.after is not None and not isinstance(query.after, ConversationCursor):
        raise InvalidCursorError("after must be a ConversationCursor")
    for what in ("archived", "pinned"):
        if getattr(query, what) is not None:
            check_flag(getattr(query, what), what)
    check_optional_id(query.agent, "agent")


_SPACE = re.compile(r"\s+")


def title_from(text: str) -> str | None:
    """Make a title from the first words of a message, in one line without Markdown, or None if it has none."""
    start = text.lstrip()[:READ_FOR_TITLE]
    words = _SPACE.sub(" ", plain(start)).strip() or _SPACE.sub(" ", start).strip()
    if len(words) <= AUTO_TITLE:
        return words or None
    cut = words[: AUTO_TITLE - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > AUTO_TITLE // 2 else cut) + "…"


def apply_changes(conversation: Conversation, changes: ConversationChanges) -> Conversation:
    """Return the conversation with these changes; a title of a person outlives an automatic one."""
    new: dict[str, Any] = {}
    keep_title = changes.title_source == "auto" and conversation.title_source == "user"
    if changes.title is not UNSET and not keep_title:
        new["title"] = changes.title
        new["title_source"] = changes.title_source
    for what in ("is_archived", "is_pinned", "metadata"):
        value = getattr(changes, what)
        if value is not UNSET:
            new[what] = value
    if changes.head_id is not UNSET and changes.head_id != conversation.head_id:
        new["head_id"] = changes.head_id
        new["is_branched"] = True
    if not new:
        return conversation
    return revised(conversation, **new, version=conversation.version + 1, updated_at=as_utc(changes.at))


def revised(conversation: Conversation, **new: Any) -> Conversation:
    """Return the conversation after one change."""
    return msgspec.structs.replace(conversation, **new, revision=conversation.revision + 1)
