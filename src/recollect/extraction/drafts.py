"""Make a draft of each item that a model wrote: every field checked for itself, and never believed.

A field that says nothing usable is left at its default; an item without a statement, a type that exists or a quote
is rejected with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from recollect.domain.candidate import Rejection
from recollect.domain.memory import MAX_CATEGORY, MAX_SLOT, MemoryType
from recollect.extraction.parsing import CONTENT_KEYS

#: A memory is one or two sentences.
MOST_CONTENT = 1_000
MOST_QUOTE = 4_000
#: How sure a model is that does not say.
USUAL_CONFIDENCE = 0.8

_SPACE = re.compile(r"\s+")
_TYPES: dict[str, MemoryType] = {word: known for known in get_args(MemoryType) for word in (known, f"{known}s")}


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What is proposed, before anybody looked for its quote."""

    content: str
    quote: str
    memory_type: MemoryType = "fact"
    category: str | None = None
    importance: float = 0.5
    confidence: float = USUAL_CONFIDENCE
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    negated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    #: The message that the words are said to be in; only a hint.
    message_id: str | None = None


def draft_of(item: Any) -> Draft | Rejection:
    """Return the draft that an item makes, or why it makes none."""
    if not isinstance(item, Mapping):
        return "not_an_object"
    content = next((text for key in CONTENT_KEYS if (text := _text(item.get(key)))), "")
    quote = _text(item.get("quote"))
    memory_type = _type(item.get("type", item.get("memory_type", "fact")))
    if reason := _fault(content, quote, memory_type):
        return reason
    subject, attribute = (_short(item.get(key)) for key in ("subject", "attribute"))
    start, end = (_time(item.get(key)) for key in ("valid_from", "valid_to"))
    if start is not None and end is not None and end < start:
        start = end = None
    return Draft(
        content=content,
        quote=quote,
        memory_type=memory_type or "fact",
        category=_text(item.get("category"))[:MAX_CATEGORY].lower() or None,
        importance=_share(item.get("importance"), 0.5),
        confidence=_share(item.get("confidence"), USUAL_CONFIDENCE),
        subject=subject if attribute else None,
        attribute=attribute if subject else None,
        value=_short(item.get("value")),
        negated=item.get("negated") is True,
        valid_from=start,
        valid_to=end,
        message_id=_short(item.get("message_id")),
    )


def _fault(content: str, quote: str, memory_type: MemoryType | None) -> Rejection | None:
    if not any(map(str.isalnum, content)):
        return "blank"
    if len(content) > MOST_CONTENT or len(quote) > MOST_QUOTE:
        return "too_long"
    if memory_type is None:
        return "bad_type"
    return None if quote else "no_quote"


def _text(value: Any) -> str:
    """Return the text on one line, as every store can hold it; anything else is no text."""
    if not isinstance(value, str):
        return ""
    sound = value.encode(errors="replace").decode().replace("\0", " ")
    return _SPACE.sub(" ", sound).strip()


def _short(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    text = _text(value)
    return text if 0 < len(text) <= MAX_SLOT else None


def _type(value: Any) -> MemoryType | None:
    return _TYPES.get(value.strip().lower()) if isinstance(value, str) else None


def _share(value: Any, default: float) -> float:
    """Return the number within 0 and 1 that is meant, if one is."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return min(max(float(value), 0.0), 1.0)


def _time(value: Any) -> datetime | None:
    """Return the instant, in UTC unless it says otherwise."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
