"""What `Streams` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatRequest
from recollect.sync.signatures.stream import BlockingStream


class BlockingStreams(Protocol):
    """Take turns that can be followed."""

    def start(self, scope: Scope, request: ChatRequest) -> BlockingStream:
        """Take a turn, to be followed."""

    def find(self, scope: Scope, message_id: str) -> BlockingStream:
        """Return the stream of this reply, or raise `MessageNotFoundError` if it is none of this user's here."""

    def close(self) -> None:
        """End all replies where they are, also those that begin from now on, and wait until they are kept."""
