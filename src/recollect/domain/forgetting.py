"""Decide what is left of a memory, and of a title, when a message is erased."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.memory import Memory, Source


def lasting_title(conversation: Conversation) -> str | None:
    """Return the title that outlives an erased message: an automatic one may be in its words."""
    return conversation.title if conversation.title_source == "user" else None


def without_sources(
    memory: Memory, gone: Callable[[Source], bool], conversation_id: str | None = None
) -> Memory | None:
    """Return the memory without the erased sources, or None if nothing else bears it out.

    `conversation_id` names a conversation that is erased whole: what was added to it by hand goes with it.
    The quote goes with any source, since it may be in that source's words.
    """
    left = tuple(source for source in memory.sources if not gone(source))
    belongs = conversation_id is not None and memory.conversation_id == conversation_id
    if not left and (memory.sources or belongs):
        return None
    if left == memory.sources and not belongs:
        return memory
    home = left[0].conversation_id if belongs and left else memory.conversation_id
    return msgspec.structs.replace(memory, sources=left, quote=None, conversation_id=home)
