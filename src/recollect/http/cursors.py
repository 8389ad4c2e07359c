"""Page positions as opaque words."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, TypeVar

import msgspec
from fastapi import Query

from recollect.errors import InvalidCursorError, InvalidInputError

T = TypeVar("T")

#: How many items a page holds.
Limit = Annotated[int, Query(ge=1, le=200, description="Items of a page.")]
#: Where the page begins: `next` of the page before.
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next` of the page before.")]


def to_cursor(position: object) -> str | None:
    """Return the word for a position, or None if there is no next page."""
    if position is None:
        return None
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def from_cursor(word: str | None, kind: type[T]) -> T | None:
    """Return the position that a word of ours stands for; any other raises `InvalidCursorError`."""
    if word is None:
        return None
    try:
        raw = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=kind)
    except (binascii.Error, ValueError, InvalidInputError) as exc:
        raise InvalidCursorError("the cursor is not one of this list; start without one") from exc
