"""What the service needs to have memories read out of messages, by a model or by rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from recollect.domain.candidate import Candidate
from recollect.domain.checks import check_items, check_one_of, check_share, check_time
from recollect.domain.memory import ORIGINS, Memory, Origin
from recollect.domain.message import Message
from recollect.domain.turn import MODES, Mode, Usage


class ExtractionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to read, and what helps to understand it."""

    #: The new messages, oldest first; only these can be sources.
    messages: tuple[Message, ...]
    now: datetime
    #: Messages before them, oldest first, that only help to understand them.
    context: tuple[Message, ...] = ()
    mode: Mode = "chat"
    #: Memories of the same user that may matter, so that a model can tell an update from a repetition.
    known: tuple[Memory, ...] = ()
    #: Where the messages come from, if not from the conversation itself: `import` or `document`.
    origin: Origin | None = None
    #: Candidates less important than this are rejected.
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_items(self.messages, Message, "messages")
        check_time(self.now, "now")
        check_items(self.context, Message, "context")
        check_one_of(self.mode, MODES, "mode")
        check_items(self.known, Memory, "known")
        if self.origin is not None:
            check_one_of(self.origin, ORIGINS, "origin")
        check_share(self.threshold, "threshold")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and what was not believed."""

    candidates: tuple[Candidate, ...] = ()
    #: How many proposals were rejected, by reason.
    rejected: Mapping[str, int] = {}
    #: What all calls together cost.
    usage: Usage = Usage()


class Extractor(Protocol):
    """Read memories out of messages.

    Every candidate is grounded: its quote stands in one of the new messages, `message_ids` names that message,
    and its origin is stamped by who said it, never by what a model claims.
    Secrets are redacted in all that comes back.
    Reading the same messages again is safe: it writes nothing.

    It raises `ProviderError`; trying again is up to whoever asked.
    A `ProviderOutputError` has the model's words, cut and redacted, as `raw`.
    """

    @property
    def name(self) -> str:
        """Tell the name under which its candidates are recorded."""

    def is_available(self) -> bool:
        """Tell whether a call would be tried now; never waits and calls nobody."""

    async def extract(self, request: ExtractionRequest) -> Extracted:
        """Return the candidates, in the order of the messages where the extractor keeps one."""
