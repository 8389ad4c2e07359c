"""Cut text of any script into the terms that both stores index, so that both find the same.

Scripts without spaces between words are cut into pairs of neighbouring characters.
A change here changes what is indexed: raise `TERMS_VERSION`, and stores rebuild their index.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

TERMS_VERSION = 1

#: Underscores part the words of an identifier; runs longer than any word are cut.
_ASCII_WORD = re.compile(r"[a-z0-9]{1,64}")
_WORD = re.compile(r"[^\W_]{1,64}")
_ACCENT = re.compile("[\u0300-\u036f]")
#: Thai to Khmer, kana, CJK ideographs, Hangul: written without spaces, or glued to particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def terms(text: str) -> list[str]:
    """Return the distinct terms of the text, in order of first appearance."""
    if text.isascii():
        return list(dict.fromkeys(_ASCII_WORD.findall(text.lower())))
    folded = unicodedata.normalize("NFKD", text).casefold()
    found: dict[str, None] = {}
    for word in _WORD.findall(unicodedata.normalize("NFC", _ACCENT.sub("", folded))):
        if word.isascii():
            found[word] = None
        else:
            found.update(dict.fromkeys(_cut(word)))
    return list(found)


def _cut(word: str) -> list[str]:
    """Split a word into its spaced and unspaced runs, and the unspaced runs into pairs."""
    parts: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            parts.append(word[end : run.start()])
        characters = run.group()
        parts.extend([characters] if len(characters) == 1 else [a + b for a, b in pairwise(characters)])
        end = run.end()
    if end < len(word):
        parts.append(word[end:])
    return parts
