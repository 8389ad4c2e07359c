"""Events on the wire."""

from __future__ import annotations

from typing import Final

#: What a client reads from the stream of events.
EVENTS_EXAMPLE: Final = (
    'event: memory.created\ndata: {"id":"0197a1f0-6c1e-7d55-9d3e-2f8f5f0b9a11"}\n\n'
    'event: notes.updated\ndata: {"id":"assistant"}\n\n'
    ": still here\n\n"
)
