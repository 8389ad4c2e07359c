"""Tell whether two statements say the same, in any language and script.

Statements that are worded or meant alike are only candidates: a single number, name, negation or word
can turn them into different ones, so what differs is looked at before they count as the same.
How a statement is read is in `statement.py`, the words are in `synonyms.py` and `opposites.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Final, Literal

import msgspec

from recollect.domain.checks import check_share
from recollect.domain.memory import normalised
from recollect.domain.opposites import EXCLUSIVE, QUALIFIERS, STATES
from recollect.domain.statement import Statement, Word, read
from recollect.domain.synonyms import FUNCTION_WORDS, are_forms, are_synonyms, stem

Reason = Literal["number", "negation", "modality", "opposite", "name", "order", "qualifier", "word"]


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """From where on two statements may say the same; what differs between them is looked at then."""

    #: Levenshtein similarity of the wording, in [0, 1]; it must be above.
    wording: float = 0.8
    #: Cosine of the embeddings, in [0, 1]; it must be at least.
    meaning: float = 0.8
    #: How far another word in the place of one may move the meaning of a statement of ten words.
    substitution: float = 0.015
    #: How far a word that only one of them has may do so.
    omission: float = 0.1

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_share(getattr(self, name), name)


#: Holds with any embedder, also with one that adds up words.
DEFAULT_THRESHOLDS: Final = Thresholds()

#: For a model that reads whole sentences, which tells a synonym from another thing of the same kind.
SENTENCE_THRESHOLDS: Final = Thresholds(meaning=0.75, substitution=0.03)


class Difference(msgspec.Struct, frozen=True):
    """What tells two statements apart, and how many content words of each the other lacks."""

    reason: Reason
    mine: int = 0
    theirs: int = 0
    #: How many content words the longer one has.
    words: int = 0


class Said:
    """A statement with what comparisons need of it, each read once and only when one needs it."""

    def __init__(self, text: str, wording: str | None = None) -> None:
        self.text = text
        #: The text as `normalised` returns it.
        self.wording = normalised(text) if wording is None else wording

    @cached_property
    def is_latin(self) -> bool:
        """Tell whether all of its letters are Latin."""
        return _is_latin(self.wording)

    @cached_property
    def in_order(self) -> str:
        """Return its words in the order of the alphabet."""
        return " ".join(sorted(self.wording.split()))

    @cached_property
    def content(self) -> str:
        """Return its content words in the order of the alphabet."""
        return " ".join(word for word in self.in_order.split(" ") if word not in FUNCTION_WORDS)

    @cached_property
    def reading(self) -> Statement:
        """Return what is compared word by word."""
        return read(self.text)


def same(a: str, b: str, similarity: float | None = None, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> bool:
    """Tell whether the two say the same, so that nothing is lost if only one of them is kept.

    `similarity` is the cosine of their embeddings, None if nobody knows it.
    It counts only between statements in Latin letters: a model that knows no others finds all words of them alike.
    """
    return are_same(Said(a), Said(b), similarity, thresholds)


def are_same(one: Said, other: Said, similarity: float | None, thresholds: Thresholds) -> bool:
    """Tell what `same` does of statements that are compared again and again."""
    if one.wording == other.wording:
        return True
    if similarity is not None and not (one.is_latin and other.is_latin):
        similarity = None
    is_close = similarity is not None and similarity >= thresholds.meaning
    if not is_close and not _is_worded_alike(one, other, thresholds.wording):
        return False
    found = _compare(one.reading, other.reading)
    if found is None:
        return True
    if found.reason != "word" or similarity is None or not is_close:
        return False
    return _is_slight(found, similarity, thresholds)


def difference(a: str, b: str) -> Reason | None:
    """Return what tells the two apart, or None if they say the same but for order, articles and forms of words."""
    if normalised(a) == normalised(b):
        return None
    found = _compare(read(a), read(b))
    return None if found is None else found.reason


def says_more(a: str, b: str) -> bool:
    """Tell whether the first has content words that the second lacks, and more than the other way round."""
    return has_more(Said(a), Said(b))


def has_more(one: Said, other: Said) -> bool:
    """Tell what `says_more` does of statements that are compared again and again."""
    found = _compare(one.reading, other.reading)
    return found is not None and found.mine > found.theirs


def names(value: str, wording: str) -> bool:
    """Tell whether a normalised statement names this value, in whatever form its words have.

    >>> names("Bergen", "lives in bergen"), names("Казань", "живёт в казани"), names("Oslo", "lives in bergen")
    (True, True, False)
    """
    words = normalised(value).split()
    if normalised(value) in wording or not words:
        return True
    said = wording.split()
    return all(any(one.startswith(word[: max(3, len(word) - 2)]) for one in said) for word in words)


def _is_latin(text: str) -> bool:
    return text.isascii() or all(
        letter < "\u0250" or "\u1e00" <= letter < "\u1f00" for letter in text if letter.isalpha()
    )


def _is_worded_alike(one: Said, other: Said, above: float) -> bool:
    """Tell whether the letters are nearly the same: as they stand, in any order of words, or of content words."""
    alike = _measure()
    return (
        alike(one.wording, other.wording, score_cutoff=above) > above
        or alike(one.in_order, other.in_order, score_cutoff=above) > above
        or (bool(one.content) and alike(one.content, other.content, score_cutoff=above) > above)
    )


@cache
def _measure() -> Callable[..., float]:
    """Return what compares letters; it takes long to load."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity


def _is_slight(found: Difference, similarity: float, thresholds: Thresholds) -> bool:
    """Tell whether the words that differ move the meaning so little that they are synonyms or say nothing new."""
    allowed = thresholds.substitution if found.mine and found.theirs else thresholds.omission
    differing = max(found.mine, found.theirs)
    return allowed > 0 and differing > 0 and (1.0 - similarity) * found.words <= allowed * 10 * differing


def _compare(one: Statement, other: Statement) -> Difference | None:
    """Return the first thing that tells them apart, the gravest first."""
    if one.numbers != other.numbers:
        return Difference("number")
    if one.is_negated != other.is_negated:
        return Difference("negation")
    if one.is_modal != other.is_modal:
        return Difference("modality")
    return _compare_words(one, other)


def _compare_words(one: Statement, other: Statement) -> Difference | None:
    pairs = _pairs(one.words, other.words)
    taken = set(pairs.values())
    left = [word for place, word in enumerate(one.words) if place not in pairs]
    right = [word for place, word in enumerate(other.words) if place not in taken]
    if _exclude(left, right) or _is_past(one, other) or _is_past(other, one):
        return Difference("opposite")
    mine, theirs = [w for w in left if w.is_content], [w for w in right if w.is_content]
    if any(word.is_name for word in (*mine, *theirs)):
        return Difference("name")
    if _is_turned(one, other, pairs):
        return Difference("order")
    if any(word.stem in _QUALIFIERS for word in (*mine, *theirs)):
        return Difference("qualifier")
    if mine or theirs or one.letters != other.letters:
        return Difference("word", mine=len(mine), theirs=len(theirs), words=max(_count(one), _count(other)))
    return None


def _count(statement: Statement) -> int:
    return sum(word.is_content for word in statement.words)


#: Past so many words without an equal one, two statements are not compared for forms and synonyms.
_MOST_UNEQUAL: Final = 40


def _pairs(one: Sequence[Word], other: Sequence[Word]) -> dict[int, int]:
    """Return which word of one stands for which word of the other, by their places; equal words first."""
    places: dict[str, list[int]] = {}
    for place in range(len(other) - 1, -1, -1):
        places.setdefault(other[place].raw, []).append(place)
    pairs = {place: places[word.raw].pop() for place, word in enumerate(one) if places.get(word.raw)}
    free = sorted(set(range(len(other))).difference(pairs.values()))
    if len(one) - len(pairs) > _MOST_UNEQUAL or len(free) > _MOST_UNEQUAL:
        return pairs
    for place, word in enumerate(one):
        if place not in pairs:
            partner = next((at for at in free if _are_same(word, other[at])), None)
            if partner is not None:
                pairs[place] = partner
                free.remove(partner)
    return pairs


def _are_same(one: Word, other: Word) -> bool:
    """Tell whether two words mean the same; a name has no other form."""
    if one.is_sure or other.is_sure or (one.is_name and other.is_name):
        return are_synonyms(one.stem, other.stem)
    return one.stem == other.stem or are_synonyms(one.stem, other.stem) or are_forms(one.raw, other.raw)


def _sides() -> dict[str, tuple[tuple[int, int], ...]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for line, sides in enumerate(EXCLUSIVE):
        for side, words in enumerate(sides):
            for form in {form for word in words for form in (word, stem(word))}:
                found.setdefault(form, []).append((line, side))
    return {word: tuple(places) for word, places in found.items()}


_SIDES: Final = _sides()


_QUALIFIERS: Final = frozenset(stem(word) for word in QUALIFIERS)


def _exclude(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Tell whether a word of one and a word of the other cannot both be true."""
    if not left or not right:
        return False
    mine = {place for word in left for place in _places(word)}
    theirs = {place for word in right for place in _places(word)}
    lines = {line for line, _ in mine} & {line for line, _ in theirs}
    return any(
        {side for at, side in mine if at == line} != {side for at, side in theirs if at == line} for line in lines
    )


def _places(word: Word) -> tuple[tuple[int, int], ...]:
    return _SIDES.get(word.raw) or _SIDES.get(word.stem) or ()


def _is_past(one: Statement, other: Statement) -> bool:
    """Tell whether one says that something was so which the other says is so."""
    mine, theirs = {word.raw for word in one.words}, {word.raw for word in other.words}
    return any(
        past in mine and past not in theirs and any(stem(word) == stem(now) for word in theirs) for past, now in STATES
    )


def _is_turned(one: Statement, other: Statement, pairs: dict[int, int]) -> bool:
    """Tell whether the order of the words makes another statement of them: who does it, or what is of which kind.

    A passive turns everything around; `which is`, `of` and `and` move words a little; `is` may turn its sides.
    """
    content = [place for place in sorted(pairs) if one.words[place].is_content and other.words[pairs[place]].is_content]
    order = [pairs[place] for place in content]
    ranks = {place: rank for rank, place in enumerate(sorted(order))}
    moved = [ranks[place] for place in order]
    straight = list(range(len(moved)))
    if one.is_passive != other.is_passive:
        return len(moved) > 2 and moved[0] == 0
    if moved == straight:
        return False
    mine, theirs = {word.raw for word in one.words}, {word.raw for word in other.words}
    if (mine & _LINKS) != (theirs & _LINKS) and all(abs(rank - at) <= 3 for at, rank in enumerate(moved)):
        return any(one.words[place].is_name for place, at in zip(content, straight, strict=True) if moved[at] != at)
    if mine & _COPULAS and theirs & _COPULAS and moved[moved.index(0) :] + moved[: moved.index(0)] == straight:
        return len(moved) == 2 and one.words[content[0]].is_name and one.words[content[1]].is_name
    return _unlisted(moved, [one.words[place] for place in content], mine) != straight


def _unlisted(moved: list[int], words: Sequence[Word], around: set[str]) -> list[int]:
    """Return the order with neighbours put right whose order means nothing: `tea and coffee`, `quickly ran`."""
    put = list(moved)
    for at in range(len(put) - 1):
        is_free = bool(around & _LISTS) or any(word.raw.endswith("ly") for word in words[at : at + 2])
        if is_free and put[at] == put[at + 1] + 1:
            put[at], put[at + 1] = put[at + 1], put[at]
    return put


#: Words by which what stood before a noun stands behind it.
_LINKS: Final = frozenset(("which", "who", "that", "of", "for"))
_LISTS: Final = frozenset(("and", "or", "und", "oder", "et", "ou", "y", "o", "e", "и", "или"))
_COPULAS: Final = frozenset(("is", "are", "ist", "sind", "est", "sont", "es", "son", "è", "sono", "é", "são"))
