"""Decide what is left of a memory, and of a title, when a message is erased, and which memories fade by themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import exp2, log1p
from typing import Final

import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.memory import Memory, Source, holds
from recollect.domain.summary import Summary

#: A memory at least so important never fades.
IMPORTANT: Final = 0.7
#: One that is worth less than this has faded.
FADED: Final = 0.1

#: What stands for messages that are gone once the words of their summary are gone too.
NOTHING_LEFT: Final = "What was said here was erased."


def emptied(summary: Summary) -> Summary:
    """Return a summary without its words; it stays in the place of messages that it alone stands for."""
    return msgspec.structs.replace(summary, content=NOTHING_LEFT, folded_into=None, metadata={})


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


def has_faded(memory: Memory, at: datetime, half_life: timedelta) -> bool:
    """Tell whether a memory is old, idle and unimportant enough to be set aside; a pinned one never is.

    What it is worth halves with each half-life in which nobody used it, and grows with every use.
    """
    if memory.is_pinned or memory.is_archived or memory.importance >= IMPORTANT:
        return False
    if memory.trust != "active" or memory.deleted_at is not None or not holds(memory, None):
        return False
    idle = max(at - max(memory.last_accessed_at, memory.updated_at), timedelta(0))
    worth = memory.importance * (1 + log1p(memory.access_count)) * exp2(-(idle / half_life))
    return worth < FADED
