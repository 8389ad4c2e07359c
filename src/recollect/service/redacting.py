"""Take secrets out of what is recalled, and look at each text only once."""

from __future__ import annotations

import hashlib

import msgspec

from recollect.domain.context import Recalled
from recollect.domain.secrets import redacted

#: Texts that are known to hold no secret; only their digests are kept.
MOST_KNOWN = 50_000


class Redactor:
    """Redact what was stored before it was known to be secret."""

    def __init__(self, most_known: int = MOST_KNOWN) -> None:
        self._most_known = most_known
        self._clean: set[bytes] = set()

    def recalled(self, one: Recalled) -> Recalled:
        """Return what was found without its secrets."""
        memory, message = one.memory, one.message
        if memory is not None:
            quote = None if memory.quote is None else self.text(memory.quote)
            content = self.text(memory.content)
            if (content, quote) != (memory.content, memory.quote):
                memory = msgspec.structs.replace(memory, content=content, quote=quote)
        if message is not None and (content := self.text(message.content)) != message.content:
            message = msgspec.structs.replace(message, content=content)
        if memory is one.memory and message is one.message:
            return one
        return msgspec.structs.replace(one, memory=memory, message=message)

    def text(self, text: str) -> str:
        """Return the text without its secrets."""
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if digest in self._clean:
            return text
        found = redacted(text)
        if not found.found:
            if len(self._clean) >= self._most_known:
                self._clean.clear()
            self._clean.add(digest)
        return found.text
