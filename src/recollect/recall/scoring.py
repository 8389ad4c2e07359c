"""Score every passage of a user for a question: signals between 0 and 1, and one weighted sum of them.

Scores are fused, not ranks: a weak signal then adds little where it is unsure.
The weights are round numbers near those that fit four kinds of conversation at once; `docs/recall.md` tells what each
signal adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.recall.overview import SATURATION, Overview
from recollect.recall.postings import Postings
from recollect.recall.question import Question
from recollect.recall.rows import Rows

Floats = NDArray[np.float32]
Weights = Mapping[str, float]

#: How much each signal of a passage counts.
WEIGHTS: Final[Weights] = {
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
#: Seconds after a time within which people still tell of it.
_TOLD_LATER: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as an index sees it."""

    #: The words to look for, each with others that are like it.
    words: Mapping[str, Sequence[tuple[str, float]]]
    #: The numbers of the speakers who are named.
    speakers: Sequence[int]
    question: Question


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many messages words stand, where a store told so for more messages than there are rows."""

    total: int = 0
    by_word: Mapping[str, int] = field(default_factory=dict)


def passage_signals(overview: Overview, postings: Postings, asked: Asked, known: Frequencies) -> dict[str, Floats]:
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
    words = np.zeros(overview.rows.size, np.float32)
    for word, kin in asked.words.items():
        at, count = _living(overview.rows, postings, word)
        best = _best(overview, postings, kin, at, count)
        if best is not None:
            words += _rarity(overview.rows.living, len(at) or int(np.count_nonzero(best))) * best
    if (highest := words.max()) > 0:
        found["words"] = words / highest
    if asked.question.vector is not None:
        found["meaning"], _ = overview.meanings(asked.question.vector)
    return found


def fused(rows: Rows, found: Mapping[str, Floats], weights: Weights) -> Floats:
    """Return the score of each row; those that are no longer there get minus infinity."""
    score = np.zeros(rows.size, np.float32)
    total = sum(weight for weight in weights.values() if weight > 0)
    for name, signal in found.items():
        score += np.float32(weights[name] / total) * signal
    score[~rows.alive] = -np.inf
    return score


def _words(overview: Overview, postings: Postings, asked: Asked, known: Frequencies) -> dict[str, Floats]:
    rows = overview.rows
    turn, around = np.zeros(rows.size, np.float32), np.zeros(rows.size, np.float32)
    whole = np.zeros(overview.conversations, np.float32)
    for word, kin in asked.words.items():
        at, count = _living(rows, postings, word)
        best = _best(overview, postings, kin, at, count)
        if best is None:
            continue
        if not len(at):
            turn += _rarity(rows.living, int(np.count_nonzero(best))) * best
            continue
        weight = _rarity(known.total or rows.living, known.by_word.get(word) or len(at))
        turn += weight * best
        around += weight * _saturated(overview.scattered(at, count), overview.wide_room)
        counts = np.bincount(overview.conversation[at], count, overview.conversations).astype(np.float32)
        rarity = _rarity(overview.held, int(np.count_nonzero(counts)))
        whole += rarity * _saturated(counts, overview.conversation_room)
    around[~rows.alive] = 0
    found = {"words": turn, "words_around": around, "words_of_conversation": whole[overview.conversation]}
    return {name: signal / highest for name, signal in found.items() if (highest := signal.max()) > 0}


def _best(
    overview: Overview,
    postings: Postings,
    kin: Sequence[tuple[str, float]],
    at: NDArray[np.int32],
    count: Floats,
) -> Floats | None:
    """Return how well each row holds a word, or the one most like it; None if none holds any of them."""
    best: Floats | None = None
    for other, likeness in kin:
        if other in postings:
            there, often = _living(overview.rows, postings, other)
            best = np.zeros(overview.rows.size, np.float32) if best is None else best
            best[there] = np.maximum(best[there], np.float32(likeness) * _saturated(often, overview.room[there]))
    if len(at):
        best = np.zeros(overview.rows.size, np.float32) if best is None else best
        best[at] = np.maximum(best[at], _saturated(count, overview.room[at]))
    return best


def _living(rows: Rows, postings: Postings, word: str) -> tuple[NDArray[np.int32], Floats]:
    at, count = postings.of(word)
    living = rows.alive[at]
    return at[living], count[living]


def _saturated(count: Floats, room: Floats) -> Floats:
    return count * np.float32(SATURATION + 1) / (count + room + np.float32(1e-9))


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
