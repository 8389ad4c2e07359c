"""Read what a prompt file says: its version, then a section for each part behind a line `--- name`."""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

P = TypeVar("P", bound=msgspec.Struct)

_SECTION: Final = re.compile(r"^--- (\w+)\n", re.MULTILINE)
_VERSION: Final = re.compile(r"version: (\d+)\n")


def prompt_from(text: str, kind: type[P]) -> P:
    """Return the prompt of a file's text; a part that lacks or has no version is a mistake in the package."""
    head, *sections = _SECTION.split(text)
    named = dict(zip(sections[::2], map(str.strip, sections[1::2]), strict=True))
    version = _VERSION.match(head)
    if version is None:
        raise AssertionError("the prompt has no version")
    return msgspec.convert({"version": int(version[1]), **named}, kind)
