"""What a chat turn needs of whoever answers."""

from __future__ import annotations

from typing import Protocol

import msgspec

from recollect.domain.context import Context, Recalled
from recollect.domain.turn import Usage


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when a reply is due."""

    text: str
    #: The prompt that ends with the question.
    context: Context
    #: What was found for it among memories and earlier messages, best first.
    recalled: tuple[Recalled, ...] = ()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer and what it cost."""

    text: str
    usage: Usage = Usage()
    #: Whether it only says again what was said; then it is not recalled itself.
    repeats: bool = False


class Responder(Protocol):
    """Answer a question from its context."""

    @property
    def name(self) -> str:
        """Tell the name under which replies are recorded."""

    async def reply(self, question: Question) -> Reply:
        """Return an answer, or raise `ProviderError`."""
