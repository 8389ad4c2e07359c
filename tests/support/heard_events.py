"""Events that a test looks at afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recollect.domain.scope import Scope
from recollect.ports.events import Event


class Heard:
    """Events that are only written down."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, events: Iterable[Event]) -> None:
        """Write the events down."""
        self.events += events

    def subscribe(self, scope: Scope) -> Any:
        """Refuse: nobody listens here."""
        raise AssertionError(f"{scope} only publishes here")

    async def close(self) -> None:
        """Release nothing."""
