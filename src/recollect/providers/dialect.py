"""What a wire protocol must be able to do; the rest of a model over HTTP is the same for all of them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from recollect.ports.chat_model import ModelRequest
from recollect.providers.assembly import Assembly
from recollect.providers.sse import ServerEvent
from recollect.providers.transport import Call

#: Said for the user where a conversation begins with the assistant, which some protocols do not allow.
BEGAN_EARLIER = "(The conversation began earlier.)"
_log = logging.getLogger(__name__)
_COMPLAINTS = {400, 404, 415, 422, 501}
_COMPLAINT = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed|not available|no such|"
    r"not implemented|invalid|cannot find field|incompatible|must|may not|missing|expected|deprecated",
    re.IGNORECASE,
)


class Reader(Protocol):
    """Read one reply."""

    def read(self, event: ServerEvent) -> None:
        """Hand over what an event of the stream holds."""

    def read_whole(self, body: Any) -> None:
        """Hand over a reply that came at once."""


class Dialect(Protocol):
    """Write requests and read replies; remembers only what its server does not accept."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Return what every request carries."""

    def call(self, request: ModelRequest) -> Call:
        """Write a request."""

    def reader(self, request: ModelRequest, assembly: Assembly) -> Reader:
        """Return a reader for the reply to this request."""

    def relent(self, request: ModelRequest, status: int, said: str) -> bool:
        """Tell whether the request, refused with these words, would now be written in another way."""


class Omissions:
    """The parts of a request that a server turned out not to accept."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = {part: re.compile(pattern, re.IGNORECASE) for part, pattern in words.items()}
        self._omitted: set[str] = set()

    def __contains__(self, part: str) -> bool:
        """Tell whether to leave a part out."""
        return part in self._omitted

    def learn(self, sent: Collection[str], status: int, said: str) -> bool:
        """Leave out, from now on, one of the parts that were sent and that the server complains of."""
        if status not in _COMPLAINTS or not _COMPLAINT.search(said):
            return False
        for part, words in self._words.items():
            if part in sent and part not in self._omitted and words.search(said):
                self._omitted.add(part)
                _log.warning("the model's server does not accept %s; it is left out from now on", part)
                return True
        return False


def with_schema(system: str, schema: Mapping[str, Any]) -> str:
    """Ask for JSON in words, where a server cannot enforce it."""
    asked = f"Answer with one JSON object of this JSON schema and nothing else:\n{json.dumps(schema)}"
    return f"{system}\n\n{asked}" if system else asked
