"""Reading a conversation in pages, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from recollect.domain.checks import check_flag, check_id, check_limit, check_optional_id, check_text
from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.errors import InvalidInputError


class MessageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages to read: the newest, the oldest, or those next to a message.

    `before` and `after` are message ids and are not part of the page; at most one may be given.
    """

    conversation_id: str
    limit: int = 50
    before: str | None = None
    after: str | None = None
    #: Read from the first message on.
    from_start: bool = False
    #: Read every branch in order of seq, not only the one that leads to the head.
    all_branches: bool = False

    def __post_init__(self) -> None:
        check_id(self.conversation_id, "conversation id")
        check_limit(self.limit)
        check_optional_id(self.before, "before")
        check_optional_id(self.after, "after")
        check_flag(self.from_start, "from_start")
        check_flag(self.all_branches, "all_branches")
        if (self.before is not None) + (self.after is not None) + self.from_start > 1:
            raise InvalidInputError("give before or after, not both, and neither to read from the start")

    @property
    def is_forwards(self) -> bool:
        """Tell whether the oldest messages of what is asked for come first."""
        return self.from_start or self.after is not None


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in order, with the active summaries whose range ends among them."""

    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...]
    #: Whether more messages follow in the direction that was read.
    more: bool
    #: Ids of messages in this page whose stored record no longer matches its checksum.
    corrupt: tuple[str, ...] = ()
    #: Ids of summaries of this page that were damaged likewise.
    corrupt_summaries: tuple[str, ...] = ()
    #: Of each message of this page that is not the only answer to its parent: all answers, oldest first.
    siblings: Mapping[str, tuple[str, ...]] = {}
    #: Of each of these answers, the newest message of the branches that it is on.
    ends: Mapping[str, str] = {}

    def in_place(self) -> tuple[Message, ...]:
        """Return the messages with each summary among them, after the last message that it covers."""
        return tuple(sorted((*self.messages, *map(as_message, self.summaries)), key=_place))


def as_message(summary: Summary) -> Message:
    """Return the summary as the message that stands for it; it shares the seq of the last message that it covers."""
    return Message(
        conversation_id=summary.conversation_id,
        seq=summary.last_seq,
        id=summary.message_id,
        parent_id=summary.last_message_id,
        turn_id=None,
        role="summary",
        name=None,
        content=summary.content,
        status="complete",
        created_at=summary.created_at,
        metadata={**summary.metadata, "summary_metadata_id": summary.id},
    )


def siblings(messages: Iterable[Message], answers: Mapping[str | None, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the answers to the parent of each message that is not the only one, by what is known of each parent."""
    all_answers = ((message.id, tuple(answers.get(message.parent_id, ()))) for message in messages)
    return {message_id: found for message_id, found in all_answers if len(found) > 1}


def _place(message: Message) -> tuple[int, bool]:
    return message.seq, message.role == "summary"


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Words to look for in the user's messages."""

    text: str
    limit: int = 20
    conversation_id: str | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "text")
        check_limit(self.limit)
        check_optional_id(self.conversation_id, "conversation id")


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that holds words of the question."""

    message: Message
    #: The share of the question's distinct terms that it holds.
    similarity: float
