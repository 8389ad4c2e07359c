"""Score every passage of a user for a question: signals between 0 and 1, and one weighted sum of them.

Scores are fused, not ranks: a weak signal then adds little where it is unsure.
The weights are round numbers near those that fit four kinds of conversation at once; `docs/recall.md` tells what each
signal adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.recall.overview import Overview, PassageOverview, saturated
from recollect.recall.postings import Kin, Postings
from recollect.recall.question import Question
from recollect.recall.rows import Rows

Floats = NDArray[np.float32]
Places = NDArray[np.intp]
Shares = Mapping[str, np.float32]


def shares_of(weights: Mapping[str, float]) -> Shares:
    """Return what each signal adds to a score, which is 1 where all are 1 that speak for a row."""
    total = sum(weight for weight in weights.values() if weight > 0)
    return {name: np.float32(weight / total) for name, weight in weights.items()}


#: How much each signal of a passage counts.
WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.5,
    "words_around": 2.0,
    "words_of_conversation": 1.0,
    "meaning": 3.0,
    "meaning_around": 1.5,
    "speaker": 1.0,
    "assistant": -1.5,
    "length": 1.5,
    "own": 1.0,
    "time": 2.0,
}
SHARES: Final = shares_of(WEIGHTS)
#: Seconds after a time within which people still tell of it.
_TOLD_LATER: Final = 7 * 86_400.0


class Asked(msgspec.Struct, frozen=True, eq=False):
    """A question as an index sees it."""

    #: The words to look for, each with others that are like it.
    words: Mapping[str, Kin]
    #: The numbers of the speakers who are named.
    speakers: Sequence[int]
    question: Question


class Frequencies(msgspec.Struct, frozen=True):
    """In how many messages words stand, where a store told so for more messages than there are rows."""

    total: int = 0
    by_word: Mapping[str, int] = {}


def passage_signals(
    overview: PassageOverview, postings: Postings, asked: Asked, known: Frequencies
) -> dict[str, Floats]:
    """Return what speaks for each passage, by the name of the signal; those that say nothing are left out."""
    found = _words(overview, postings, asked, known)
    if asked.question.vector is not None:
        found["meaning"], found["meaning_around"] = overview.meanings(asked.question.vector)
    if asked.speakers:
        found["speaker"] = np.isin(overview.rows.speaker, asked.speakers).astype(np.float32)
    found["assistant"], found["length"], found["own"] = overview.assistant, overview.fullness, overview.own
    return found | _timely(overview.rows, asked.question)


def memory_signals(overview: Overview, postings: Postings, asked: Asked) -> dict[str, Floats]:
    """Return what speaks for each memory because of the question; memories have no neighbours."""
    found = _timely(overview.rows, asked.question)
    rows = overview.rows
    words = np.zeros(rows.size, np.float32)
    for word, kin in asked.words.items():
        if held := postings.held(kin):
            at, count = _living(rows, postings, word)
            best = _best(overview, postings, held, at, count)
            words += _rarity(rows.living, len(at) or int(np.count_nonzero(best))) * best
        elif word in postings:
            at, count = _living(rows, postings, word)
            words[at] += _rarity(rows.living, len(at)) * _strength(overview, at, count)
    if (highest := words.max()) > 0:
        found["words"] = words / highest
    if asked.question.vector is not None:
        found["meaning"] = overview.meaning(asked.question.vector)
    return found


def fused(overview: Overview, found: Mapping[str, Floats], shares: Shares) -> Floats:
    """Return the score of each row; those that are no longer there get minus infinity."""
    shared = [shares[name] * signal for name, signal in found.items()]
    score = shared.pop(0) if shared else np.zeros(overview.rows.size, np.float32)
    for more in shared:
        score += more
    score[overview.gone] = -np.inf
    return score


def _words(overview: PassageOverview, postings: Postings, asked: Asked, known: Frequencies) -> dict[str, Floats]:
    rows = overview.rows
    turn, around = np.zeros(rows.size, np.float32), np.zeros(rows.size, np.float32)
    whole = np.zeros(overview.conversations, np.float32)
    for word, kin in asked.words.items():
        held = postings.held(kin)
        if not held and word not in postings:
            continue
        at, count = _living(rows, postings, word)
        best = _best(overview, postings, held, at, count)
        if not len(at):
            turn += _rarity(rows.living, int(np.count_nonzero(best))) * best
            continue
        weight = _rarity(known.total or rows.living, known.by_word.get(word) or len(at))
        turn += weight * best
        often = np.ones(len(at), np.float32) if count is None else count
        around += weight * saturated(overview.scattered(at, often), overview.wide_room)
        counts = np.bincount(overview.conversation[at], often, overview.conversations).astype(np.float32)
        rarity = _rarity(overview.held, int(np.count_nonzero(counts)))
        whole += rarity * saturated(counts, overview.conversation_room)
    around[~rows.alive] = 0
    found = {"words": turn, "words_around": around, "words_of_conversation": whole[overview.conversation]}
    return {name: signal / highest for name, signal in found.items() if (highest := signal.max()) > 0}


def _best(overview: Overview, postings: Postings, held: Kin, at: Places, count: Floats | None) -> Floats:
    """Return how well each row holds a word, which stands in some, or the one most like it."""
    best = np.zeros(overview.rows.size, np.float32)
    for other, likeness in held:
        there, often = _living(overview.rows, postings, other)
        best[there] = np.maximum(best[there], np.float32(likeness) * _strength(overview, there, often))
    if len(at):
        best[at] = np.maximum(best[at], _strength(overview, at, count))
    return best


def _living(rows: Rows, postings: Postings, word: str) -> tuple[Places, Floats | None]:
    at, count = postings.of(word)
    if len(at) and rows.living < rows.size - 1:
        living = rows.alive[at]
        return at[living], None if count is None else count[living]
    return at, count


def _strength(overview: Overview, at: Places, count: Floats | None) -> Floats:
    return overview.once[at] if count is None else saturated(count, overview.room[at])


def _rarity(total: int, frequency: int) -> np.float32:
    return np.float32(log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5)))


def _timely(rows: Rows, question: Question) -> dict[str, Floats]:
    """Favour what was said in the time asked for, and less what was said soon after: people still tell of it then."""
    when = question.when
    if when is None:
        return {}
    late = (rows.at - when.end.timestamp()) / _TOLD_LATER
    fading = np.clip(1 - late, 0, 1)
    return {"time": np.where(rows.at >= when.start.timestamp(), fading, 0).astype(np.float32)}
