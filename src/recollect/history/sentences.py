"""Cut text of any script into sentences.

Knows no language: marks that only ever end a sentence end one, a full stop ends one unless something speaks against it.
Code, lists and encoded data are made short, so that one message cannot fill a summary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

#: Longer sentences are cut at a space or a comma: some scripts write no full stop at all.
LONGEST = 240
#: How much of a block of code or of an address stays.
SAMPLE = 60

#: Characters that may belong together, such as a family of emoji.
_LONGEST_CLUSTER = 12

_CLOSING = "\"'”’»)\\]）」』】》〉"
#: A full stop needs a space after it; the marks of other scripts stand for themselves.
_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSING}]*+(?=\s)|[。！？｡।॥؟۔։።፧။។]+[{_CLOSING}]*|\n")
_FENCE = re.compile(r"```[^\n`]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_LONG_RUN = re.compile(rf"[!-~]{{{2 * SAMPLE},}}")
_BULLET = re.compile(r"\A(?:[-*+•·>#|]+|\d{1,3}[.)])\s+")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)([^\n*_]+)\1")
_SPACE = re.compile(r"\s+")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]*\Z")
#: What a name or an example follows, in the languages that mark abbreviations with a full stop.
_ABBREVIATIONS = frozenset(
    ["approx", "bzw", "ca", "cf", "dr", "e.g", "eg", "i.e", "ie", "jr", "mr", "mrs", "ms", "mt", "p.ej", "p.ex", "prof",
     "sr", "sra", "sta", "st", "vgl", "vs", "z.b", "г-жа", "г-н", "д-р", "им", "пр", "см", "т.е", "ул"]
)  # fmt: skip


def sentences(text: str) -> list[str]:
    """Return the sentences in order, each on one line, without those that say nothing."""
    found: list[str] = []
    start = 0
    for block in _FENCE.finditer(text):
        found += _prose(text[start : block.start()])
        found += _code(block[1])
        start = block.end()
    return found + _prose(text[start:])


def shortened(text: str, at_most: int) -> str:
    """Return the text on one line, cut at a word where it is longer than this many characters."""
    line = _SPACE.sub(" ", text.lstrip()[: 4 * at_most + 4]).rstrip()
    if len(line) <= at_most or at_most < 2:
        return line[:at_most]
    return line[: _cut(line, at_most - 1)].rstrip() + "…"


def cut_at_sentence(text: str, at_most: int) -> str:
    """Return the text, or as many of its first sentences as have at most this many characters.

    Where the last of them would end too early, the next one is cut at a word.
    """
    if len(text) <= at_most or at_most < 2:
        return text[: max(at_most, 0)]
    last = 0
    # One character more is seen: a full stop ends a sentence only before a space.
    for end in _END.finditer(text, 0, at_most + 1):
        if end.end() <= at_most and _ends(text, last, end):
            last = end.end()
    if last >= at_most // 3:
        return text[:last].rstrip()
    return text[: _cut(text, at_most - 1)].rstrip() + "…"


def _code(block: str) -> list[str]:
    line = next((line for line in block.splitlines() if not line.isspace() and line), "")
    return [shortened(line, SAMPLE).removesuffix("…") + "…"] if line else []


def _prose(text: str) -> list[str]:
    text = _EMPHASIS.sub(r"\2", _LONG_RUN.sub(lambda run: run[0][:SAMPLE] + "…", text))
    parts = (_BULLET.sub("", _SPACE.sub(" ", part).strip(), count=1) for part in _parts(text))
    return [piece for part in parts if any(map(str.isalnum, part)) for piece in _pieces(part)]


def _parts(text: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(text):
        if _ends(text, start, end):
            yield text[start : end.end()]
            start = end.end()
    yield text[start:]


def _ends(text: str, start: int, end: re.Match[str]) -> bool:
    """Tell whether the mark ends a sentence: not within a line before a small letter, not after an abbreviation."""
    if end[0][0] not in ".!?…":
        return True
    after = text[end.end() : end.end() + 8].lstrip(" \t")[:1]
    if after.islower():
        return False
    if end[0] != ".":
        return True
    last = _LAST_WORD.search(text, max(start, end.start() - 20), end.start())
    word = last[0] if last else ""
    initial = len(word) == 1 and word.isalpha() and word != "I"
    before_number = len(word) <= 4 and after.isdecimal()
    item = word.isdecimal() and not text[start : end.start() - len(word)].strip()
    return not (initial or before_number or item or word.lower() in _ABBREVIATIONS)


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST:
        at = _cut(sentence, LONGEST)
        yield sentence[:at].rstrip()
        sentence = sentence[at:].lstrip()
    if sentence:
        yield sentence


def _cut(text: str, at: int) -> int:
    """Return where to cut at most this far: at a space or comma in the last half, else between two characters."""
    best = max(text.rfind(mark, at // 2, at) for mark in " ,;，、；،")
    if best > 0:
        return best + 1
    for back in range(min(at, _LONGEST_CLUSTER)):
        if unicodedata.category(text[at - back])[0] != "M" and "\u200d" not in text[at - back - 1 : at - back + 1]:
            return max(at - back, 1)
    return max(at, 1)
