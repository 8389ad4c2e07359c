"""Read the items out of what a model wrote, however it wrote them.

Code fences, prose around the JSON, a reply that was cut, trailing commas, a bare array, one object, another key:
every object that is there whole comes back, and what is none is a `ProviderOutputError`.
Nothing here knows what an item means, and no text takes more than a few passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from recollect.errors import ProviderOutputError

#: Brackets deeper than this are passed over.
MOST_DEPTH = 24
#: Where else the JSON may begin, if brackets in the prose before it hid it.
MOST_BEGINS = 8
#: Items of one reply; a model that writes more repeats itself.
MOST_ITEMS = 200

#: The names under which models put the statement itself.
CONTENT_KEYS = ("content", "memory", "memory_content", "memoryContent", "statement", "text", "fact")

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
#: Inside brackets: a whole string, a string that does not end, or a bracket.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_BEGIN = re.compile(r'[\[{]\s*[\[{"\]}]')
_OPENING = re.compile(r"[\[{]")
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)
_PAIRS = {"}": "{", "]": "["}


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The items of a reply, in order, as they came; `cut` if the reply breaks off within a list of them."""

    items: tuple[Any, ...]
    cut: bool = False


class _Span(msgspec.Struct):
    """A pair of brackets and the pairs directly inside it; `end` is 0 while it is open."""

    start: int
    end: int = 0
    inside: list[_Span] = []


def parse_items(text: str) -> Parsed:
    """Return the items that the text holds; the list may be empty, but there must be one."""
    text = _THOUGHT.sub("", text, count=1)
    try:
        return _parsed(text)
    except ProviderOutputError:
        for begin in _begins(text):
            with suppress(ProviderOutputError):
                # An empty list that only shows when the begin is left out belongs to something that was cut.
                if (found := _parsed(text[begin:])).items:
                    return found
        raise


def _begins(text: str) -> list[int]:
    return [mark.start() for mark, _ in zip(_BEGIN.finditer(text), range(MOST_BEGINS), strict=False)]


def _parsed(text: str) -> Parsed:
    root, is_open = _spans(text)
    values = [value for span in root.inside for value in _values(text, span)]
    items = [item for value in values for item in _items(value, 0)][:MOST_ITEMS]
    objects = [item for item in items if isinstance(item, dict)]
    if objects:
        # What else stands in a list of a reply that was cut may be a field of the object that was cut.
        return Parsed(items=tuple(objects if is_open else items), cut=is_open)
    if items:
        raise ProviderOutputError("the reply lists no objects")
    if is_open:
        raise ProviderOutputError("the reply breaks off before its first memory ends")
    if not any(_has_list(value) for value in values):
        raise ProviderOutputError("the reply holds no list of memories")
    return Parsed(items=())


def _spans(text: str) -> tuple[_Span, bool]:
    """Return the outermost whole pairs of brackets, and whether one was still open at the end.

    What stands inside a pair that never closes counts as outside of it.
    """
    root = _Span(start=-1)
    stack = [root]
    too_deep = 0
    at = 0
    while True:
        # Outside of all brackets a quotation mark is prose.
        mark = (_MARK if len(stack) > 1 else _OPENING).search(text, at)
        if mark is None:
            break
        at = mark.end()
        sign = mark[0]
        if sign in "[{":
            if len(stack) > MOST_DEPTH:
                too_deep += 1
            else:
                stack.append(_Span(start=mark.start()))
        elif sign in "]}":
            if too_deep:
                too_deep -= 1
            else:
                _close(text, stack, mark)
    is_open = len(stack) > 1
    while len(stack) > 1:
        left = stack.pop()
        stack[-1].inside += left.inside
    return root, is_open


def _close(text: str, stack: list[_Span], mark: re.Match[str]) -> None:
    """End the innermost open pair of this kind; a bracket without a partner ends nothing."""
    opening = _PAIRS[mark[0]]
    if not any(text[span.start] == opening for span in stack[1:]):
        return
    while text[stack[-1].start] != opening:
        left = stack.pop()
        stack[-1].inside += left.inside
    span = stack.pop()
    span.end = mark.end()
    stack[-1].inside.append(span)


def _values(text: str, span: _Span) -> Iterator[Any]:
    """Return the value between the brackets, or, if that is no JSON, the values inside of it."""
    part = text[span.start : span.end]
    for attempt in (part, _TRAILING.sub(lambda mark: mark[1] or "", part)):
        try:
            value = json.loads(attempt, strict=False, parse_int=_whole)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            yield value
            return
    for inner in span.inside:
        yield from _values(text, inner)


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < 40 else float(digits)


def _items(value: Any, depth: int) -> Iterator[Any]:
    """Return the items in a value: objects with a statement, and whatever else stands in a list."""
    if isinstance(value, dict) and _is_item(value):
        yield value
    elif depth < MOST_DEPTH:
        in_list = isinstance(value, list)
        for one in value if in_list else value.values():
            if isinstance(one, dict | list):
                yield from _items(one, depth + 1)
            elif in_list:
                yield one


def _is_item(value: dict[str, Any]) -> bool:
    named = (value[key] for key in CONTENT_KEYS if key in value)
    return "quote" in value or any(not isinstance(one, dict | list) for one in named)


def _has_list(value: Any) -> bool:
    """Tell whether the value is a list or an object that holds one."""
    if isinstance(value, list):
        return True
    return any(isinstance(one, list) for one in value.values())
