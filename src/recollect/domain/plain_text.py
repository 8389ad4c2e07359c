"""Markdown as the words that a person reads, for where there is only one line of plain text."""

from __future__ import annotations

import re

#: Lines that only mark something: the ends of a code block, the line under a heading, a line across the page.
_MARK_LINE = re.compile(r"^[ \t]*(?:(?:```|~~~)[^`\n]*|=+|(?:[-*_][ \t]*){3,})$", re.MULTILINE)
#: What makes a line a heading, a quotation or an item of a list.
_LINE_START = re.compile(
    r"^[ \t]*(?:(?:>|#{1,6}(?=[ \t])|[-*+](?=[ \t])(?:[ \t]+\[[ xX]\](?=[ \t]))?)[ \t]*)+", re.MULTILINE
)
_CLOSING_HASHES = re.compile(r"[ \t]+#+[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
#: A link or an image, also one whose address was cut.
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\((?:[^()]|\([^()]*\))*(?:\)|$)|\[[^\[\]]*\])")
_ADDRESS = re.compile(r"<((?:https?://|mailto:)[^<>\s]+)>")
#: Signs inside of an ASCII word, as in snake_case and 2*3*4, are no emphasis.
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9\\*_~])(\*{1,3}|_{1,3}|~~)(?![\s*_~])(.+?)(?<![\s\\])\1(?![*_~]|\.?[A-Za-z0-9])", re.DOTALL
)
_ESCAPED = re.compile(r"\\([\\`*_\[\]#~])")
#: Emphasis may stand in emphasis, and a link in a link, but no deeper.
_DEPTH = 3


def plain(text: str) -> str:
    """Return a text without the signs of Markdown; what is no Markdown stays as it is."""
    unmarked = _CLOSING_HASHES.sub("", _LINE_START.sub("", _MARK_LINE.sub("", text)))
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(unmarked):
        parts += (_prose(unmarked[end : code.start()]), code[2])
        end = code.end()
    return "".join((*parts, _prose(unmarked[end:])))


def _prose(text: str) -> str:
    """Return a part of a text that holds no code without links, emphasis and escapes."""
    for _ in range(_DEPTH):
        text = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text))
    return _ESCAPED.sub(r"\1", _ADDRESS.sub(r"\1", text))
