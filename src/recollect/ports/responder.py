"""What a chat turn needs of whoever answers."""

from __future__ import annotations

from typing import Protocol

import msgspec

from recollect.domain.message import Message
from recollect.domain.page import Hit
from recollect.domain.turn import Usage


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when a reply is due."""

    text: str
    #: The newest messages of the conversation, oldest first, without the question.
    window: tuple[Message, ...]
    #: What stands for the older messages, oldest first.
    summaries: tuple[str, ...] = ()
    #: What the user said elsewhere that may matter, best first.
    recalled: tuple[Hit, ...] = ()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer and what it cost."""

    text: str
    usage: Usage = Usage()


class Responder(Protocol):
    """Answer a question from its context."""

    @property
    def name(self) -> str:
        """Tell the name under which replies are recorded."""

    async def reply(self, question: Question) -> Reply:
        """Return an answer, or raise `ProviderError`."""
