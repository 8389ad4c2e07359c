"""Take secrets out of what is recalled, and look at each text only once."""

from __future__ import annotations

import hashlib

import msgspec

from recollect.domain.context import Recalled
from recollect.domain.memory import Memory
from recollect.domain.secrets import redacted

#: Texts that are known to hold no secret; only their digests are kept.
MOST_KNOWN = 50_000


class Redactor:
    """Redact what was stored before it was known to be secret."""

    def __init__(self, most_known: int = MOST_KNOWN) -> None:
        self._most_known = most_known
        self._clean: set[bytes] = set()

    def memory(self, memory: Memory, clean: set[str]) -> Memory:
        """Return the memory without its secrets; `clean` are the ids of those that have none, and learns of it."""
        if memory.id in clean:
            return memory
        content = redacted(memory.content).text
        quote = None if memory.quote is None else redacted(memory.quote).text
        if (content, quote) != (memory.content, memory.quote):
            return msgspec.structs.replace(memory, content=content, quote=quote)
        clean.add(memory.id)
        return memory

    def recalled(self, one: Recalled) -> Recalled:
        """Return what was found without the secrets of its message."""
        message = one.message
        if message is None or (content := self.text(message.content)) == message.content:
            return one
        return msgspec.structs.replace(one, message=msgspec.structs.replace(message, content=content))

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
