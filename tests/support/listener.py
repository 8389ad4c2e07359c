"""A client that hears server-sent events, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

Heard = tuple[str, Any]


class Listener:
    """An open stream of events; waiting for one that does not come ends with the client's timeout."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()
        #: Comments that came between the events.
        self.comments: list[str] = []

    def hear(self) -> Heard | None:
        """Return the kind and the data of the next event, or None if the stream ended."""
        kind = data = ""
        for line in self._lines:
            if line.startswith(":"):
                self.comments.append(line)
            elif line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = line.removeprefix("data: ")
            elif kind:
                return kind, json.loads(data)
        return None

    def hear_until(self, wanted: Heard) -> list[Heard]:
        """Return what comes up to this event, it included."""
        heard: list[Heard] = []
        while not heard or heard[-1] != wanted:
            event = self.hear()
            assert event is not None, f"the stream ended after {heard} and before {wanted}"
            heard.append(event)
        return heard


@contextmanager
def listening(client: httpx2.Client, path: str = "/api/events") -> Iterator[Listener]:
    """Listen to a stream; whatever happens after this began is heard."""
    with client.stream("GET", path) as response:
        yield Listener(response)
