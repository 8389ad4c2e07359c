"""What `Stream` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol

from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatReply
from recollect.service.streams import StreamEvent


class BlockingStream(Protocol):
    """What was heard of one turn so far; its events are numbered from 1."""

    scope: Scope
    message_id: str | None
    reply: ChatReply | None
    error: Exception | None

    @property
    def length(self) -> int:
        """Count the events so far."""

    def put(self, event: StreamEvent) -> None:
        """Take in an event."""

    def end(self) -> None:
        """Say that nothing more comes."""

    def begun(self) -> None:
        """Wait until the reply begins; raise why it never does."""

    def follow(self, after: int = 0) -> Iterator[tuple[int, StreamEvent]]:
        """Give the events after this number, and all that come, until the turn ends."""

    def result(self) -> ChatReply:
        """Follow the turn to its end; return what came of it or raise why nothing did."""

    def left_alone(self, linger: timedelta) -> None:
        """Return once nobody followed for so long at a stretch."""
