"""Check what comes from outside, once, with messages that tell the fix.

Every input value calls these from its constructor, so a store only ever sees values that
every store can hold: no NUL, no lone surrogate, no NaN, nothing without bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from recollect.errors import InvalidInputError, InvalidLimitError, RecollectError

MAX_ID = 128
MAX_CONTENT = 1_000_000
MAX_PAYLOAD = 1_000_000
MAX_DEPTH = 64
MAX_LIMIT = 1_000
MAX_BATCH = 5_000

Error = type[RecollectError]
V = TypeVar("V")


def check_type(value: object, kind: type[V], what: str, error: Error = InvalidInputError) -> V:
    """Return the value if it is exactly of this kind."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise error(f"{what} must be {kind.__name__}, not {type(value).__name__}")
    return value


def check_id(value: object, what: str, error: Error = InvalidInputError) -> str:
    """Return the value if it can be an id: 1 to 128 printable characters."""
    if not isinstance(value, str):
        raise error(f"{what} must be text, not {type(value).__name__}")
    if not 0 < len(value) <= MAX_ID:
        raise error(f"{what} must have 1 to {MAX_ID} characters, not {len(value)}")
    if not value.isprintable():
        raise error(f"{what} must hold printable characters only")
    return value


def check_optional_id(value: object, what: str, error: Error = InvalidInputError) -> str | None:
    """Return the value if it is None or can be an id."""
    return None if value is None else check_id(value, what, error)


def check_text(
    value: object,
    what: str,
    *,
    at_most: int = MAX_CONTENT,
    at_least: int = 0,
    error: Error = InvalidInputError,
) -> str:
    """Return the value if it is text that every store keeps byte for byte."""
    if not isinstance(value, str):
        raise error(f"{what} must be text, not {type(value).__name__}")
    if len(value) > at_most:
        raise error(f"{what} has {len(value)} characters; at most {at_most} are kept: shorten or split it")
    if len(value) < at_least or (at_least and value.isspace()):
        raise error(f"{what} must not be empty")
    if "\0" in value:
        raise error(f"{what} must not hold a NUL character; remove it")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise error(f"{what} holds half of a surrogate pair; send valid Unicode text") from None
    return value


def check_optional_text(
    value: object, what: str, *, at_most: int = MAX_CONTENT, error: Error = InvalidInputError
) -> str | None:
    """Return the value if it is None or acceptable text."""
    return None if value is None else check_text(value, what, at_most=at_most, error=error)


def check_one_of(value: object, allowed: tuple[str, ...], what: str, error: Error = InvalidInputError) -> None:
    """Refuse a value that is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise error(f"{what} must be one of {', '.join(allowed)}")


def check_time(value: object, what: str, error: Error = InvalidInputError) -> datetime:
    """Return the value if it is an aware datetime, which is then read as UTC."""
    if not isinstance(value, datetime):
        raise error(f"{what} must be a datetime, not {type(value).__name__}")
    offset = value.utcoffset()
    if offset is None:
        raise error(f"{what} has no time zone; use datetime.now(UTC) or add tzinfo=UTC")
    if offset and not 1 < value.year < 9999:
        raise error(f"{what} is too close to the ends of the calendar; give it in UTC")
    return value


def as_utc(value: datetime) -> datetime:
    """Return the same instant in UTC."""
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def later(at: datetime, delay: timedelta) -> datetime:
    """Return the instant this much later in UTC, or the end of the calendar if that comes first."""
    try:
        return as_utc(at) + delay
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def check_duration(value: object, what: str) -> timedelta:
    """Return the value if it is a length of time."""
    if not isinstance(value, timedelta):
        raise InvalidInputError(f"{what} must be a timedelta, not {type(value).__name__}")
    if value < timedelta(0):
        raise InvalidInputError(f"{what} must not be negative")
    return value


def check_optional_time(value: object, what: str, error: Error = InvalidInputError) -> datetime | None:
    """Return the value if it is None or an aware datetime."""
    return None if value is None else check_time(value, what, error)


def check_flag(value: object, what: str, error: Error = InvalidInputError) -> bool:
    """Return the value if it is true or false."""
    if not isinstance(value, bool):
        raise error(f"{what} must be true or false, not {type(value).__name__}")
    return value


def check_count(
    value: object,
    what: str,
    *,
    at_least: int = 0,
    at_most: int = 2**62,
    error: Error = InvalidInputError,
) -> int:
    """Return the value if it is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f"{what} must be a whole number, not {type(value).__name__}")
    if not at_least <= value <= at_most:
        raise error(f"{what} must be from {at_least} to {at_most}")
    return value


def check_limit(value: object, at_most: int = MAX_LIMIT) -> int:
    """Return the value if it can bound a page."""
    return check_count(value, "limit", at_least=1, at_most=at_most, error=InvalidLimitError)


def check_share(value: object, what: str, error: Error = InvalidInputError) -> float:
    """Return the value as a float if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise error(f"{what} must be a number from 0 to 1")
    return float(value)


def check_items(value: object, kind: type[V], what: str, *, at_most: int = MAX_BATCH, at_least: int = 0) -> None:
    """Refuse a sequence that is not a tuple of this kind or has too many items."""
    if not isinstance(value, tuple):
        raise InvalidInputError(f"{what} must be a tuple, not {type(value).__name__}")
    if not at_least <= len(value) <= at_most:
        raise InvalidInputError(f"{what} must have {at_least} to {at_most} items, not {len(value)}; split it")
    for item in value:
        if not isinstance(item, kind):
            raise InvalidInputError(f"{what} must hold {kind.__name__}, not {type(item).__name__}")


def check_ids(value: object, what: str, *, at_most: int = MAX_BATCH, at_least: int = 0) -> None:
    """Refuse a value that is not a tuple of ids."""
    check_items(value, str, what, at_most=at_most, at_least=at_least)
    for item in value:  # type: ignore[attr-defined]  # check_items proved the tuple
        check_id(item, what)


def check_json(value: object, what: str, *, at_most: int = MAX_PAYLOAD, error: Error = InvalidInputError) -> Any:
    """Return the value if it is JSON that every store keeps: finite, bounded, valid text."""
    _check_json_part(value, what, 0, error)
    try:
        size = len(msgspec.json.encode(value))
    except (TypeError, OverflowError, UnicodeEncodeError) as exc:
        raise error(f"{what} cannot be written as JSON: {type(exc).__name__}") from exc
    if size > at_most:
        raise error(f"{what} takes {size} bytes as JSON; at most {at_most} are kept")
    return value


def check_object(value: object, what: str, *, error: Error = InvalidInputError) -> None:
    """Refuse a value that is not a JSON object."""
    if not isinstance(value, Mapping):
        raise error(f"{what} must be an object, not {type(value).__name__}")
    if value:
        check_json(value, what, error=error)


def _check_json_part(value: object, what: str, depth: int, error: Error) -> None:
    if depth > MAX_DEPTH:
        raise error(f"{what} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        check_text(value, what, at_most=MAX_PAYLOAD, error=error)
    elif isinstance(value, int | float):
        _check_number(value, what, error)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            check_text(key, f"a key of {what}", at_most=MAX_PAYLOAD, error=error)
            _check_json_part(part, what, depth + 1, error)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        for part in value:
            _check_json_part(part, what, depth + 1, error)
    elif value is not None:
        raise error(f"{what} holds {type(value).__name__}, which JSON does not have")


def _check_number(value: float, what: str, error: Error) -> None:
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise error(f"{what} holds a whole number beyond 64 bits; send it as text")
    elif not math.isfinite(value):
        raise error(f"{what} holds NaN or infinity, which JSON does not have")
