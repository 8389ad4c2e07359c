"""What the service needs to have a range summarised, by a model or without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recollect.domain.message import Message
from recollect.domain.summary import Summary


class SummaryGenerator(Protocol):
    """Write summaries.

    What it returns is checked by whoever asked: it must be a text with something in it, and not longer than asked for.
    It raises `ProviderError`; trying again is up to whoever asked.
    """

    @property
    def name(self) -> str:
        """Tell the name under which its summaries are recorded."""

    def is_available(self) -> bool:
        """Tell whether a call would be tried now; never waits and calls nobody."""

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        """Return what was said in at most so many characters."""

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        """Return what these summaries say, oldest first, in at most so many characters."""
