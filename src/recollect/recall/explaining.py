"""Say in a few words why a passage was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.message import Message
from recollect.recall.postings import Postings
from recollect.recall.rows import Rows
from recollect.recall.scoring import Asked
from recollect.recall.wording import speaker
from recollect.recall.words import asked_words, stem

#: Less than this is no likeness worth telling.
NEAR = 0.3
#: Where a passage has nothing to show for itself.
CLOSEST = "what comes closest"


def reasons(rows: Rows, postings: Postings, asked: Asked, hits: Sequence[tuple[int, Message]]) -> list[tuple[str, ...]]:
    """Return the reasons for each hit, the strongest kinds first."""
    at = np.array([row for row, _ in hits], np.intp)
    holders = {word: postings.of(word)[0] for word in asked.words}
    own = {word: _among(at, rows_with) for word, rows_with in holders.items()}
    around = {
        word: _among(rows.before[at], rows_with) | _among(rows.after[at], rows_with)
        for word, rows_with in holders.items()
    }
    vector = asked.question.vector
    near = np.zeros(len(at), np.float32) if vector is None else rows.vectors[at] @ vector
    terms = {stem(term): term for term in reversed(asked_words(asked.question.text))}
    told: list[tuple[str, ...]] = []
    for place, (row, message) in enumerate(hits):
        said = [terms[word] for word in asked.words if own[word][place]]
        beside = [terms[word] for word in asked.words if around[word][place] and not own[word][place]]
        why = ["words: " + ", ".join(said)] if said else []
        if near[place] >= NEAR:
            why.append(f"near in meaning ({near[place]:.2f})")
        if beside:
            why.append("next to " + ", ".join(beside))
        told.append(tuple(why + _circumstances(rows, asked, row, message)) or (CLOSEST,))
    return told


def _circumstances(rows: Rows, asked: Asked, row: int, message: Message) -> list[str]:
    why = []
    if int(rows.speaker[row]) in asked.speakers:
        why.append(f"said by {speaker(message)}")
    when = asked.question.when
    if when is not None and when.start <= message.created_at < when.end:
        why.append(f"said on {message.created_at.day} {message.created_at:%B %Y}")
    return why


def _among(rows: NDArray[Any], growing: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell which rows are among others that are in order."""
    if not len(growing):
        return np.zeros(len(rows), np.bool_)
    found = np.minimum(np.searchsorted(growing, rows), len(growing) - 1)
    return np.asarray(growing[found] == rows, np.bool_)
