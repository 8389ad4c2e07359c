"""Cut a message into clauses that its author states, and leave out what is code, quoted, asked or only supposed.

Every clause is a piece of the message as it stands there, so that it can be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

#: Longer sentences are lists, data or rambling: no rule fits them.
LONGEST = 400

#: Code, addresses, and lines that repeat somebody else's words: blanked out, so that places stay the same.
_NOT_SAID = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,400}`|^[ \t]*>[^\n]*|https?://\S{1,2000}|^(?: {4}|\t)[^\n]*", re.DOTALL | re.MULTILINE
)
#: A quotation of more than a name; an apostrophe is no quotation mark.
_QUOTED = re.compile(
    r"“[^“”]{1,2000}”|„[^„“”]{1,2000}[“”]|\"[^\"\n]{1,2000}\"|«[^«»]{1,2000}»|「[^「」]{1,2000}」|『[^『』]{1,2000}』"
)
_MOST_NAME_WORDS = 3
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]）」』]*+(?=\s|\Z)|[。！？｡]+[」』”）]*|\n+|(?<=[^\s.!?])\s*[\U0001F300-\U0001FAFF\u2600-\u27BF]+"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|approx|no|nr|bzw|ca|z\.b|e\.g|i\.e|a\.m|p\.m|[a-z])\Z", re.IGNORECASE
)
#: The day of a month, as some languages write it.
_DAY = re.compile(r"\s?\d{1,2}\. (?:jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*+•·#]+|\d{1,3}[.)])\s+")
#: Patterns know one apostrophe.
APOSTROPHES = str.maketrans("’‘ʼ", "'''")
_QUESTION = re.compile(r"[?？؟]")


class Statement(msgspec.Struct, frozen=True):
    """A sentence with blanks for what its author does not say, and where it stands in the message."""

    text: str
    start: int


def statements(text: str) -> Iterator[Statement]:
    """Return the sentences that state something, in order."""
    shown = _QUOTED.sub(_blanked_quotation, _NOT_SAID.sub(_blanked, text)).translate(APOSTROPHES)
    for start, end in _sentences(shown):
        bullet = _BULLET.match(shown, start, end)
        first = bullet.end() if bullet else start
        sentence = shown[first:end]
        first += len(sentence) - len(sentence.lstrip())
        sentence = sentence.strip()
        if sentence and len(sentence) <= LONGEST and not _QUESTION.search(sentence):
            yield Statement(sentence, first)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _END.finditer(text):
        if end[0] == "." and (_is_abbreviation(text, start, end) or _DAY.match(text, max(end.start() - 2, start))):
            continue
        yield start, end.end()
        start = end.end()
    yield start, len(text)


def _is_abbreviation(text: str, start: int, end: re.Match[str]) -> bool:
    """Tell whether the full stop belongs to its word; at the end of a line it ends the sentence as well."""
    at_end = text[end.end() : end.end() + 1] in ("", "\n")
    return not at_end and bool(_ABBREVIATION.search(text, max(start, end.start() - 12), end.start()))


def _blanked(match: re.Match[str]) -> str:
    """Return as many spaces, with the line breaks where they were."""
    return re.sub(r"[^\n]", " ", match[0])


def _blanked_quotation(match: re.Match[str]) -> str:
    words = match[0].split()
    is_name = len(words) <= _MOST_NAME_WORDS and len(match[0]) <= 40 and not re.search(r"[.!?。！？,]", match[0])
    return match[0] if is_name else _blanked(match)
