"""Cut texts into the words that recall compares: the terms of the stores, without endings, and how often each stands.

Endings are cut off English words only; in other languages whole words are compared, and meaning bridges the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from recollect.domain.terms import asked_terms, counted_terms

_SMALL_WORDS: Final = """
    a about also am an and any are as at be been being but by can could d did didn do does doesn don down for from
    had has have he her here him his how i if in into is isn it its just ll m me might must my no not of off on
    or our out over re s shall she should so t than that the their them then there these they this those to too
    under up us ve very was wasn we were what when where which who whom why will with would you your
    aber auf aus bei bin bist das dass dem den der des dich dir du ein eine einem einen einer er es fur habe haben
    ich ihr ihre im ist mein meine mich mir mit nach nicht oder sich sie sind uber und unser vom von wann warum wer
    wie wir wird wo woher wohin wurde zu zum zur
    ai ainsi au aux avec avez ce ces cette dans de des du elle en est et eu il ils je la le les leur lui ma mais mes
    moi mon ne nos notre nous ont ou par pas pour pourquoi quand que quel quelle qui sa se ses son sont sur ta te tes
    toi ton tu un une vos votre vous
    al como con cual cuando cuanto del donde el ella ellos eres ese esta este ha hay las lo los mi mis muy nosotros
    para pero por porque quien quienes ser soy su sus tiene unas unos y yo
    che chi cosa da dei della di dove gli ho io mio nel non perche quale quando questo sei sono suo
    com dele ela ele em foi meu minha nao nos onde os qual quem sao seu sua tem uma
    aan dat een het hij hoe hun ik je jij mijn naar niet ook op te van voor waar waarom wanneer wat wie zijn
"""
#: Words that say nothing about what a question is about, unless it has no others.
SMALL_WORDS: Final = frozenset(_SMALL_WORDS.split())
_OWN_WORDS: Final = """
    i me my mine myself we us our ours ich mich mir mein meine meinen meinem meiner wir uns unser unsere je moi mon ma
    mes nous notre nos yo mi mis nosotros nuestro nuestra io mio mia miei noi nostro nostra eu meu minha meus nos nosso
    nossa ik mij mijn wij ons onze
"""
#: The same in scripts without spaces.
_OWN_CHARACTERS: Final = frozenset("\u6211\u79c1\u50d5\u4ffa\u4ff0\u54b1\ub098\ub0b4\uc81c\uc800")
_VOWEL: Final = re.compile("[aeiouy]")
_KEPT: Final = 100_000


def words_of(text: str) -> dict[str, int]:
    """Return the words of a text and how often each stands in it."""
    counted: dict[str, int] = {}
    for term, count in counted_terms(text).items():
        word = stem(term)
        counted[word] = counted.get(word, 0) + count
    return counted


def asked_words(text: str) -> list[str]:
    """Return the distinct terms that a question looks for, in their order and with their endings."""
    terms = asked_terms(text)
    return [term for term in terms if term not in SMALL_WORDS] or terms


def is_own(words: Mapping[str, int]) -> bool:
    """Tell whether the speaker speaks of themselves."""
    return not _OWN_STEMS.isdisjoint(words)


def weight_of(words: Mapping[str, int]) -> int:
    """Return how many words a text has that say something."""
    return sum([count for word, count in words.items() if word not in _SMALL_STEMS])


@lru_cache(maxsize=_KEPT)
def stem(term: str) -> str:
    """Return an English word without its ending, and any other as it is."""
    if len(term) < 4 or not term.isascii() or not term.isalpha():
        return term
    return _without_vowel(_without_tense(_without_plural(term)))


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("s") and word[-2] not in "su":
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and _VOWEL.search(root):
            doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root
    return word


def _without_vowel(word: str) -> str:
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y"):
        word = word[:-1] + "i"
    if len(word) > 5 and word.endswith("li"):
        word = word[:-2]
    return word


_SMALL_STEMS: Final = frozenset(map(stem, SMALL_WORDS))
_OWN_STEMS: Final = frozenset(map(stem, _OWN_WORDS.split())) | _OWN_CHARACTERS
