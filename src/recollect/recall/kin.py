"""Know which words mean about the same, so that a question finds what was said in other words.

`data/kin.txt` has a line for each word: the word, and others followed by how like they are in hundredths, the most
alike first.
It was made by `tools/kin_words.py` from the vectors of whole words of the static embedder, and holds English words.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from recollect.recall.words import stem

#: Words of the table whose kin are held as they are returned.
_KEPT: Final = 4_000


def kin_of(term: str) -> tuple[tuple[str, float], ...]:
    """Return the words that are like this one, without their endings, and how like they are."""
    return _kin(term) if term in _lines() else ()


@lru_cache(maxsize=_KEPT)
def _kin(term: str) -> tuple[tuple[str, float], ...]:
    own = stem(term)
    found: dict[str, float] = {}
    for entry in _lines()[term].split(" "):
        word = stem(entry[:-2])
        if word != own:
            found.setdefault(word, int(entry[-2:]) / 100)
    return tuple(found.items())


@cache
def _lines() -> dict[str, str]:
    text = files("recollect.recall").joinpath("data", "kin.txt").read_text("utf-8")
    return dict(line.split(" ", 1) for line in text.splitlines())
