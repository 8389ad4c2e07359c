"""Cut text of any script into the terms that both stores index, so that both find the same.

Scripts without spaces between words are cut into pairs of neighbouring characters.
A change here changes what is indexed: raise `TERMS_VERSION`, and stores rebuild their index.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

TERMS_VERSION = 1
#: Longer runs (keys, data) are cut, so that no index entry grows without bounds.
MAX_TERM = 64

_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_WORD = re.compile(r"\w+")
_ACCENT = re.compile("[\u0300-\u036f]")
#: Thai to Khmer, kana, CJK ideographs, Hangul: written without spaces, or glued to particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def terms(text: str) -> list[str]:
    """Return the distinct terms of the text, in order of first appearance."""
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
    else:
        folded = unicodedata.normalize("NFKD", text).casefold()
        words = _WORD.findall(unicodedata.normalize("NFC", _ACCENT.sub("", folded)))
    found: dict[str, None] = {}
    for word in words:
        if "_" in word:
            found.update(dict.fromkeys(part[:MAX_TERM] for part in word.split("_") if part))
        elif word.isascii():
            found[word[:MAX_TERM]] = None
        else:
            found.update(dict.fromkeys(_cut(word)))
    return list(found)


def _cut(word: str) -> list[str]:
    """Split a word into its spaced and unspaced runs, and the unspaced runs into pairs."""
    parts: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            parts.append(word[end : run.start()][:MAX_TERM])
        characters = run.group()
        parts.extend([characters] if len(characters) == 1 else [a + b for a, b in pairwise(characters)])
        end = run.end()
    if end < len(word):
        parts.append(word[end:][:MAX_TERM])
    return parts
