"""Messages to extract from, and requests to do it."""

from __future__ import annotations

from typing import Any

from recollect.domain.message import Message
from recollect.ports.extractor import ExtractionRequest
from recollect.testing.clock import START


def said(content: str, role: Any = "user", *, seq: int = 1, name: str | None = None) -> Message:
    """Return a stored message."""
    return Message("c1", seq, f"m{seq}", None, None, role, name, content, "complete", START)


def request(*messages: Message, **more: Any) -> ExtractionRequest:
    """Return a request for these messages."""
    given: dict[str, Any] = {"now": START, **more}
    return ExtractionRequest(messages=messages, **given)
