"""Read a statement for comparison: its words, numbers and names, and whether it denies or only supposes.

Any script is read: words where spaces part them, single characters where they do not.
What the readings of two statements mean for each other is decided in `likeness.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import msgspec

from recollect.domain.opposites import MODALS, NEGATION_PARTS, NEGATIONS
from recollect.domain.synonyms import FUNCTION_WORDS, is_known, stem
from recollect.domain.tokens import COMMON_WORDS


class Word(msgspec.Struct, frozen=True):
    """One word as it stands, without case, and its base form."""

    raw: str
    stem: str
    #: Written with a capital, and no common word.
    is_name: bool
    #: A name by its capital, which does not only come from the begin of a sentence.
    is_sure: bool
    is_content: bool


class Statement(msgspec.Struct, frozen=True):
    """What is compared of a statement."""

    words: tuple[Word, ...]
    numbers: tuple[str, ...]
    is_negated: bool
    is_modal: bool
    is_passive: bool
    #: Letters that stand in scripts without spaces, in their order.
    letters: str


_NUMBER_WORDS: Final = {
    word: str(number)
    for number, listed in {
        2: "two twice zwei deux dos due dois duas два две dwa",
        3: "three drei trois tres tre três три",
        4: "four vier quatre cuatro quattro quatro четыре",
        5: "five fünf cinq cinco cinque пять",
        6: "six sechs seis sei шесть",
        7: "seven sieben sept siete sette sete семь",
        8: "eight acht huit ocho otto oito восемь",
        9: "nine neun neuf nueve nove девять",
        10: "ten zehn dix diez dieci dez десять",
        11: "eleven elf onze undici одиннадцать",
        12: "twelve dozen zwölf douze doce dodici doze двенадцать",
        13: "thirteen dreizehn treize trece tredici",
        14: "fourteen vierzehn quatorze catorce quattordici",
        15: "fifteen fünfzehn quinze quince quindici пятнадцать",
        16: "sixteen sechzehn seize",
        17: "seventeen siebzehn",
        18: "eighteen achtzehn",
        19: "nineteen neunzehn",
        20: "twenty zwanzig vingt veinte venti vinte двадцать",
        30: "thirty dreißig trente treinta trenta trinta тридцать",
        40: "forty vierzig quarante cuarenta quaranta quarenta сорок",
        50: "fifty fünfzig cinquante cincuenta cinquanta cinquenta пятьдесят",
        60: "sixty sechzig soixante sesenta sessanta",
        70: "seventy siebzig setenta settanta",
        80: "eighty achtzig ochenta ottanta oitenta",
        90: "ninety neunzig noventa novanta",
        100: "hundred hundert cent cien cento сто",
        1000: "thousand tausend mille mil тысяча",
    }.items()
    for word in listed.split()
}

_SPACELESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
#: Marks that are part of a word, in the scripts of Europe, the Near East, India and South-East Asia.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u0903"
    "\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u09e2-\u09e3"
    "\u09fe-\u0a03\u0a3c-\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0acd\u0ae2-\u0ae3\u0afa-\u0b03"
    "\u0b3c\u0b3e-\u0b57\u0b62-\u0b63\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c56\u0c62-\u0c63"
    "\u0c81-\u0c83\u0cbc\u0cbe-\u0cd6\u0ce2-\u0ce3\u0d00-\u0d03\u0d3b-\u0d3c\u0d3e-\u0d4d\u0d57\u0d62-\u0d63"
    "\u0d81-\u0d83\u0dca-\u0ddf\u0df2-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    "\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f3f\u0f71-\u0f84\u0f86-\u0f87\u0f8d-\u0fbc\u0fc6\u102b-\u103e"
    "\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u1712-\u1715\u1732-\u1734\u1752-\u1753\u1772-\u1773\u17b4-\u17d3\u17dd\u180b-\u180f\u1885-\u1886\u18a9"
    "\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b04\u1b34-\u1b44\u1b6b-\u1b73\u1b80-\u1b82\u1ba1-\u1bad"
    "\u1be6-\u1bf3"
)

_NUMBER: Final = r"(?P<number>(?<![\w.,])[-−+]?\d+(?:[.,:/]\d+)*|\d+(?:[.,:/]\d+)*)"
_SIGN: Final = r"(?P<sign>[^\s\w,'\"`()\[\]{}«»‹›“”„‘’‚、「」『』،؛\-–—/\\|*_~^<>=&@])"
_PIECES: Final = re.compile(
    _NUMBER
    + rf"|(?P<letter>[{_SPACELESS}])"
    + rf"|(?P<word>(?:(?![{_SPACELESS}])[^\W\d_]|[{_MARKS}])+[+#]*)"
    + r"|(?P<end>[.!?:;。！？؟।\n])|"
    + _SIGN
)
#: The same for a text of ASCII alone.
_ASCII_PIECES: Final = re.compile(_NUMBER + r"|(?P<word>[A-Za-z]+[+#]*)|(?P<end>[.!?:;\n])|" + _SIGN)
_CONTRACTIONS: Final = (
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bcan['’]t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"['’]ll\b", re.IGNORECASE), " will"),
    (re.compile(r"['’](?:s|re|ve|d|m)\b", re.IGNORECASE), ""),
    (re.compile(r"\bn['’]", re.IGNORECASE), "ne "),
    (re.compile(r"\b(?:[cdjlmst]|qu)['’]", re.IGNORECASE), ""),
    (re.compile(r"\b(?:each other|one another)\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?:used to|anymore|any more|no more|no longer)\b", re.IGNORECASE), " not "),
)
#: Those that a text without an apostrophe may hold, if it holds one of these.
_UNMARKED: Final = (_CONTRACTIONS[1], *_CONTRACTIONS[7:])
_UNMARKED_HINTS: Final = ("cannot", "each other", "one another", "used to", "more", "longer")
#: Such a word is hardly ever met again.
_LONG_WORD: Final = 40
_ORDINALS: Final = frozenset("st nd rd th er ère ème e º ª".split())  # noqa: SIM905 - as the lists beside it
_CURRENCIES: Final = {"$": "dollar", "€": "euro", "£": "pound", "%": "percent"}
#: A passive has one of the first and one of the second: was hired by.
_AGENTS: Final = frozenset(("by", "von", "par", "por", "da"))
_BE_FORMS: Final = frozenset(
    (
        *("is", "are", "was", "were", "be", "been", "being", "wird", "wurde", "werden", "est", "sont", "été"),
        *("es", "son", "fue", "fueron", "è", "sono", "viene", "é", "são", "foi", "foram"),
    )
)
#: Letters that two statements may differ in, between words that are written without spaces.
_LIGHT_LETTERS: Final = re.compile("[的之]")


def read(text: str) -> Statement:
    """Return what is compared of the text."""
    text = unicodedata.normalize("NFKC", text)
    for pattern, plain in _contractions(text):
        text = pattern.sub(plain, text)
    words: list[Word] = []
    numbers: list[str] = []
    letters: list[str] = []
    for kind, piece, is_first in _pieces(text):
        if kind == "letter":
            letters.append(piece.casefold())
        elif kind == "number" or piece.casefold() in _NUMBER_WORDS:
            numbers.append(_NUMBER_WORDS.get(piece.casefold()) or _number(piece))
        elif not (numbers and piece.casefold() in _ORDINALS):
            words.append((_kept_word if len(piece) <= _LONG_WORD else _word)(piece, is_first))
    raw = {word.raw for word in words}
    return Statement(
        words=tuple(word for word in words if word.raw not in NEGATIONS),
        numbers=tuple(sorted(numbers)),
        is_negated=bool(raw & NEGATIONS) or NEGATION_PARTS.search(text) is not None,
        is_modal=bool(raw & MODALS),
        is_passive=bool(raw & _AGENTS) and bool(raw & _BE_FORMS),
        letters=_LIGHT_LETTERS.sub("", "".join(letters)),
    )


def _contractions(text: str) -> Iterable[tuple[re.Pattern[str], str]]:
    """Return the contractions that the text may hold."""
    if "'" in text or "’" in text:
        return _CONTRACTIONS
    lowered = text.lower()
    return _UNMARKED if any(hint in lowered for hint in _UNMARKED_HINTS) else ()


def _pieces(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each piece with its kind, and whether a sentence begins with it."""
    is_first = True
    for match in (_ASCII_PIECES if text.isascii() else _PIECES).finditer(text):
        kind = match.lastgroup or ""
        if kind != "end":
            yield kind, match.group(), is_first
        is_first = kind == "end"


def _word(piece: str, is_first: bool) -> Word:
    raw = _CURRENCIES.get(piece) or piece.casefold()
    base = _hangul_base(raw) if "\uac00" <= raw[0] <= "\ud7a3" else stem(raw)
    is_common = is_known(raw) or raw in COMMON_WORDS
    is_name = piece[0].isupper() and raw != "i" and not (is_first and is_common)
    is_content = raw not in FUNCTION_WORDS
    return Word(raw=raw, stem=base, is_name=is_name, is_sure=is_name and not is_first, is_content=is_content)


#: The same words stand in many statements.
_kept_word: Final = lru_cache(maxsize=50_000)(_word)


def _hangul_base(word: str) -> str:
    return word[:-1] if len(word) > 1 and word[-1] in "은는이가을를" else word


def _number(piece: str) -> str:
    """Return the number in plain digits: 1,000 is 1000, and 1,5 is 1.5."""
    sign = "-" if piece[0] in "-−" else ""
    digits = "".join(str(unicodedata.digit(one)) if one.isdigit() else one for one in piece.lstrip("-−+"))
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return sign + re.sub("[.,]", "", digits)
    return sign + digits.replace(",", ".")
