"""Cut a text of any script into pieces of a vocabulary, as the tokenizer of BERT does.

It differs where that one gives a whole word up: what is no piece is left out, and the rest of the word counts;
of a word longer than any the beginning counts; a symbol stands alone, so that an emoji does not hide the word before
it; and all white space parts words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import chain

#: What a piece begins with that continues a word.
CONTINUES = "##"
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS = dict.fromkeys(code for code in (*range(32), 127) if not chr(code).isspace())
#: Blocks whose characters are words by themselves.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
#: Words and characters are looked up again and again; beyond this many they cost more than they save.
_KEPT_WORDS = 100_000
_KEPT_CHARACTERS = 20_000
#: Such a word is hardly ever met again.
_LONG_WORD = 40
#: Nothing is looked for in what a word has beyond this, for it may be a million characters long and no word at all.
LONGEST_WORD = 1_000


class WordPieces:
    """Know the pieces by their numbers; safe to use from many threads."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._characters = _Characters(numbers)
        self._words = _Words(numbers)

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text, in their order."""
        return list(chain.from_iterable(map(self._words.__getitem__, self._split(text))))

    def _split(self, text: str) -> list[str]:
        if text.isascii():
            plain = text if text.isprintable() else text.translate(_ASCII_CONTROLS)
            return _ASCII_WORD.findall(plain.lower())
        return unicodedata.normalize("NFD", text).translate(self._characters).lower().split()


class _Words(dict[str, tuple[int, ...]]):
    """The pieces of each word that was met."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._longest = max(map(len, numbers), default=0)

    def __missing__(self, word: str) -> tuple[int, ...]:
        pieces = tuple(self._pieces(word[:LONGEST_WORD]))
        if len(word) <= _LONG_WORD:
            if len(self) >= _KEPT_WORDS:
                self.clear()
            self[word] = pieces
        return pieces

    def _pieces(self, word: str) -> Iterator[int]:
        begin = 0
        while begin < len(word):
            prefix = CONTINUES if begin else ""
            for end in range(min(len(word), begin + self._longest), begin, -1):
                number = self._numbers.get(prefix + word[begin:end])
                if number is not None:
                    yield number
                    begin = end
                    break
            else:
                begin += 1


class _Characters(dict[int, str]):
    """What becomes of a character before a text is split at spaces."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, code: int) -> str:
        became = self._became(chr(code))
        if len(self) < _KEPT_CHARACTERS:
            self[code] = became
        return became

    def _became(self, character: str) -> str:
        kind = unicodedata.category(character)
        if character.isspace():
            return " "
        if kind[0] == "C" or kind == "Mn" or character == "\ufffd":
            return ""
        if kind[0] in "PS" or _is_ideograph(ord(character)):
            return f" {self._known(character)} "
        return self._known(character)

    def _known(self, character: str) -> str:
        """Return a character, or what it stands for if the vocabulary lacks it, as it lacks ones of full width."""
        lower = character.lower()
        if lower in self._numbers or CONTINUES + lower in self._numbers:
            return character
        return unicodedata.normalize("NFKD", character)


def _is_ideograph(code: int) -> bool:
    return any(first <= code <= last for first, last in _IDEOGRAPHS)
