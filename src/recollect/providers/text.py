"""Make what a model sent safe to keep: valid Unicode, finite JSON, bounded depth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from recollect.domain.checks import MAX_DEPTH, check_object
from recollect.errors import ProviderOutputError

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    r"""Join surrogate pairs, and replace lone surrogates and NUL.

    >>> clean("a\ud83d\ude00b") == "a\N{GRINNING FACE}b"
    True
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", _REPLACEMENT)


class TextJoiner:
    """Clean text that comes in pieces: a surrogate pair may be cut between two of them."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the text that is certain so far."""
        text = self._held + piece
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return clean(text[:-1] if self._held else text)

    def flush(self) -> str:
        """Return what was held back."""
        held, self._held = self._held, ""
        return clean(held)


def parsed(text: str) -> Any:
    """Parse JSON, or raise `ProviderOutputError`; NaN and depth beyond reason count as no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        # The cause carries the whole text of the reply, which must not reach a log.
        raise ProviderOutputError("the reply holds JSON that cannot be parsed") from None


def tool_input(text: str) -> Mapping[str, Any]:
    """Parse the input of a tool call: an object that every store can keep, or `ProviderOutputError`."""
    value = cleaned(parsed(text)) if text.strip() else {}
    check_object(value, "the input of a tool call", error=ProviderOutputError)
    assert isinstance(value, dict)
    return value


def cleaned(value: Any, depth: int = 0) -> Any:
    """Clean every text inside a JSON value that is not too deep."""
    if depth > MAX_DEPTH:
        raise ProviderOutputError(f"the reply holds JSON deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {clean(key): cleaned(part, depth + 1) for key, part in value.items()}
    return value


def at(value: Any, *path: str | int) -> Any:
    """Return what stands at a path of a JSON value, or None where the value is of another shape.

    >>> at({"choices": [{"delta": {}}]}, "choices", 0, "delta")
    {}
    """
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def text_at(value: Any, *path: str | int) -> str:
    """Return the text at a path, or none at all."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def items_at(value: Any, *path: str | int) -> list[Any]:
    """Return the list at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def count_at(value: Any, *path: str | int) -> int:
    """Return the count at a path, or 0 if there is no sensible one."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**62 else 0


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
