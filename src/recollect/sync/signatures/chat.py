"""What `Chat` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.scope import Scope
from recollect.service.chat_request import ChatReply, ChatRequest, Hearing


class BlockingChat(Protocol):
    """Answer with what is known, and record the turn."""

    def turn(self, scope: Scope, request: ChatRequest, hearing: Hearing | None = None) -> ChatReply:
        """Answer the user and store all messages in one transaction."""
