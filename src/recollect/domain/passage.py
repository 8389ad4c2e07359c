"""Passages: what recall reads of a user's conversations and memories to find what a question asks for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.domain.checks import check_count, check_text, check_type
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.vector import MAX_MODEL, Vector

#: The roles that recall looks at.
RECALLED_ROLES = ("user", "assistant")


class Passage(msgspec.Struct, frozen=True):
    """A message that recall can find, with the bytes of its vector if it has one of the model that is asked for."""

    message: Message
    vector: bytes | None = None


class IndexedMemory(msgspec.Struct, frozen=True):
    """A memory that recall can find, with the bytes of its vector if it has one of the model that is asked for."""

    memory: Memory
    vector: bytes | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How far a conversation was read; a conversation that still is at this revision holds nothing new."""

    revision: int
    next_seq: int
    message_count: int


class PassageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Read what is new since the last reading."""

    #: The model whose vectors are wanted.
    model: str
    #: What was read before, by conversation id.
    known: Mapping[str, Reading] = {}
    #: Read nothing if the user has more messages than this.
    at_most: int = 50_000

    def __post_init__(self) -> None:
        check_text(self.model, "model", at_most=MAX_MODEL, at_least=1)
        check_count(self.at_most, "at_most")


class ConversationPassages(msgspec.Struct, frozen=True, kw_only=True):
    """The passages of one conversation in order of seq, those on all branches."""

    conversation_id: str
    reading: Reading
    #: The passages are those from this seq on, and replace what was known from there on; 0 replaces everything.
    from_seq: int
    passages: tuple[Passage, ...]


class Passages(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since the last reading."""

    changed: tuple[ConversationPassages, ...] = ()
    #: Conversations that are no longer there.
    gone: tuple[str, ...] = ()
    #: How many messages the user has.
    total: int = 0
    #: Whether these are more than the query allows; then nothing was read.
    too_many: bool = False


class PassageMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Find candidates among more messages than are held in memory."""

    #: The terms of the question as they are indexed.
    terms: tuple[str, ...]
    #: The vector of the question.
    vector: Vector | None = None
    #: Candidates by terms, and as many by meaning.
    limit: int = 400

    def __post_init__(self) -> None:
        check_count(self.limit, "limit", at_least=1)
        if self.vector is not None:
            check_type(self.vector, Vector, "vector")


class MatchedPassages(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates with their neighbours in the conversation, grouped by conversation and in order of seq."""

    passages: tuple[Passage, ...]
    #: How many messages of the user are indexed.
    total: int
    #: In how many of them each term occurs, in the order of the question's terms.
    frequencies: tuple[int, ...]


class IndexedMemories(msgspec.Struct, frozen=True, kw_only=True):
    """All memories of a user that are not deleted, the oldest first."""

    revision: int
    items: tuple[IndexedMemory, ...]


class Unembedded(msgspec.Struct, frozen=True, kw_only=True):
    """What has no vector of a model yet: the oldest such messages of one conversation, or else memories."""

    messages: tuple[Message, ...] = ()
    memories: tuple[Memory, ...] = ()
    #: How many messages and memories of the user have no vector of the model, with these.
    remaining: int = 0
    #: How many messages and memories of the user could have one.
    total: int = 0
