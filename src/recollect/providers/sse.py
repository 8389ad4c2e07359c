"""Cut a byte stream into server-sent events, in bounded memory; knows nothing of HTTP or of models."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.errors import ProviderOutputError

_BREAK = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event: its name, or nothing, and its data."""

    name: str
    data: str


class EventParser:
    """Take bytes as they come and give the events that they complete.

    Lines may end in LF, CRLF or CR, and chunks may be cut anywhere, even inside a character.
    Bytes that are no UTF-8 become U+FFFD.
    An event, or a line, of more than `at_most` bytes raises `ProviderOutputError`.
    """

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._parts: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that end in this chunk."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        # A line that comes in many chunks is joined once, or a long one would take time in the square of its length.
        *ended, rest = _BREAK.split(chunk)
        events = []
        for line in ended:
            self._keep(line)
            events += self._line(b"".join(self._parts))
            self._parts.clear()
        if rest:
            self._keep(rest)
        return events

    def finish(self) -> list[ServerEvent]:
        """Return the last event, which some servers do not end with an empty line."""
        events = self._line(b"".join(self._parts)) if self._parts else []
        self._parts.clear()
        return events + self._line(b"")

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._at_most:
            raise ProviderOutputError(f"an event of the reply is longer than {self._at_most} bytes")

    def _line(self, line: bytes) -> list[ServerEvent]:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value.decode(errors="replace"))
        elif field == b"event":
            self._name = value.decode(errors="replace")
        else:
            # A comment or an unknown field is forgotten, so it may not count against the event for ever.
            self._size -= len(line)
        return []

    def _dispatch(self) -> list[ServerEvent]:
        event = ServerEvent(self._name, "\n".join(self._data))
        given = bool(self._data)
        self._name = ""
        self._data = []
        self._size = 0
        return [event] if given else []
