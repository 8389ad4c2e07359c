"""Passages: what recall reads of a user's conversations and memories to find what a question asks for."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import msgspec

from recollect.domain.checks import check_count, check_id, check_items, check_text, check_type
from recollect.domain.conversation import Conversation
from recollect.domain.memory import Memory
from recollect.domain.message import Message, NewMessage
from recollect.domain.turn import Appended
from recollect.domain.vector import Vector
from recollect.errors import InvalidInputError

#: The roles that recall looks at.
RECALLED_ROLES = ("user", "assistant")
#: The key in a message's metadata that says that it only repeats what was said, and what (`repeating.py`).
REPEATS = "repeats"
MAX_TERMS = 1_000
MAX_TERM = 256
#: Weights of terms are whole numbers, so that their sums are the same in whatever order they are added up.
WEIGHT_OF_ONE = 2**20


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

    def __post_init__(self) -> None:
        for what in ("revision", "next_seq", "message_count"):
            check_count(getattr(self, what), what)


class PassageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Read what is new since the last reading."""

    #: The model whose vectors are wanted.
    model: str
    #: What was read before, by conversation id.
    known: Mapping[str, Reading] = {}
    #: Read nothing if the user has more messages than this.
    at_most: int = 50_000

    def __post_init__(self) -> None:
        check_id(self.model, "model")
        check_count(self.at_most, "at_most")
        check_type(self.known, Mapping, "known")  # type: ignore[type-abstract]  # only asked whether it is one
        if not all(type(i) is str and type(reading) is Reading for i, reading in self.known.items()):
            raise InvalidInputError("known must hold a Reading for each conversation id")


class ConversationPassages(msgspec.Struct, frozen=True, kw_only=True):
    """The passages of one conversation in order of seq, those that lead to its head."""

    conversation_id: str
    reading: Reading
    #: The passages are those from this seq on, and replace what was known from there on; 0 replaces everything.
    from_seq: int
    passages: tuple[Passage, ...]


class Passages(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since the last reading."""

    #: In order of conversation id.
    changed: tuple[ConversationPassages, ...] = ()
    #: Conversations that are no longer there, or can no longer be read.
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
        check_items(self.terms, str, "terms", at_most=MAX_TERMS)
        for term in self.terms:
            check_text(term, "a term", at_most=MAX_TERM)
        check_count(self.limit, "limit", at_least=1)
        if self.vector is not None:
            check_type(self.vector, Vector, "vector")


class MatchedPassages(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates with their neighbours, in order of conversation id and seq; without a vector asked for, none is told.

    A neighbour is the passage just before or after a candidate on the way to the head of its conversation.
    """

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
    """What has no vector of a model yet: the oldest such messages of one conversation, or else memories.

    What has no vector at all comes before what has one of another model.
    """

    messages: tuple[Message, ...] = ()
    memories: tuple[Memory, ...] = ()
    #: How many messages and memories of the user have no vector of the model, with these.
    remaining: int = 0
    #: How many messages and memories of the user could have one.
    total: int = 0


def is_recalled(message: Message | NewMessage) -> bool:
    """Tell whether recall can find the message, so that it can have a vector."""
    return message.role in RECALLED_ROLES and bool(message.content.strip()) and not message.metadata.get(REPEATS)


def continues(before: Conversation, appended: Appended) -> bool:
    """Tell whether an append added to the way that leads to the head and changed nothing else of it."""
    head = before.head_id
    for message in appended.messages:
        if message.parent_id != head:
            return False
        head = message.id
    return True


def reading_of(conversation: Conversation) -> Reading:
    """Return how far a conversation is read now."""
    return Reading(
        revision=conversation.revision, next_seq=conversation.next_seq, message_count=conversation.message_count
    )


def term_weight(total: int, frequency: int) -> int:
    """Return what a term counts that occurs in so many of all messages: the rarer, the more."""
    return max(1, round(WEIGHT_OF_ONE * log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5))))
