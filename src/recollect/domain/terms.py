"""Cut text of any script into the terms that both stores index, so that both find the same.

Scripts without spaces between words are cut into characters and pairs of neighbouring characters.
A change here changes what is indexed: raise `TERMS_VERSION`, and stores rebuild their index.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise

TERMS_VERSION = 1


def _of(blocks: tuple[tuple[int, int], ...], categories: str) -> str:
    """List the characters of these blocks that are of these categories."""
    characters = (chr(code) for first, last in blocks for code in range(first, last + 1))
    return "".join(c for c in characters if unicodedata.category(c)[0] in categories)


#: Thai and Lao, Burmese, Khmer, kana, CJK ideographs, Hangul: written without spaces, or glued to particles.
_UNSPACED = (
    _of(((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF)), "LMN")
    + "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
#: Vowel signs of Indic and kindred scripts: parts of words, though no letters.
_SIGNS = _of(((0x0900, 0x0DFF), (0x0F00, 0x0FFF), (0x1700, 0x177F), (0x1800, 0x1CFF), (0xA800, 0xABFF)), "M")

#: Underscores part the words of an identifier; runs longer than any word are cut.
_ASCII_WORD = re.compile(r"[a-z0-9]{1,64}")
_WORD = re.compile(rf"([{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_SIGNS}]){{1,64}}")
#: What some write and others leave out: accents, Hebrew and Arabic vowel points, tatweel, invisible joiners.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u00ad\u200d]"
)


def terms(text: str) -> list[str]:
    """Return the distinct terms to index the text by, in order of first appearance."""
    return _terms(text, every_character=True)


def asked_terms(text: str) -> list[str]:
    """Return the distinct terms of a question: a single character only where it stands alone."""
    return _terms(text, every_character=False)


def counted_terms(text: str) -> Counter[str]:
    """Return the terms to index the text by, and how often each stands in it."""
    return Counter(_found(text, every_character=True))


def _terms(text: str, *, every_character: bool) -> list[str]:
    return list(dict.fromkeys(_found(text, every_character=every_character)))


def _found(text: str, *, every_character: bool) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKD", text).casefold()
    found: list[str] = []
    for word in _WORD.finditer(unicodedata.normalize("NFC", _OPTIONAL.sub("", folded))):
        unspaced = word[1]
        if unspaced is None or len(unspaced) == 1:
            found.append(word[0])
            continue
        found.extend(map("".join, pairwise(unspaced)))
        if every_character:
            found.extend(unspaced)
    return found
