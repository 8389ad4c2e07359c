"""Find passages: the messages of one user that answer a question, with the reasons.

One index holds one user; it knows nothing of stores, and is told what changed.
It is not safe to change it while it is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.domain.message import Message
from recollect.domain.passage import MatchedPassages, Passage
from recollect.domain.terms import terms
from recollect.recall.explaining import reasons
from recollect.recall.kin import kin_of
from recollect.recall.overview import PassageOverview
from recollect.recall.postings import Postings
from recollect.recall.question import Question
from recollect.recall.rows import Rows
from recollect.recall.scoring import SHARES, Asked, Frequencies, fused, passage_signals
from recollect.recall.wording import speaker
from recollect.recall.words import asked_words, is_own, stem, weight_of, words_of

#: Rows of passages that are gone are cleared away once they are as many as the others, and at least this many.
_CLEARED = 1_000
#: About what a message costs beyond its text.
_MESSAGE_BYTES = 700

Keep = Callable[[Message], bool]


class PassageHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that answers, how well, and why."""

    message: Message
    #: At most about 1; comparable among the hits of one question only.
    score: float
    why: tuple[str, ...]


class PassageIndex:
    """The passages of one user."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._known = Frequencies()
        self._clear()

    def _clear(self) -> None:
        self._rows = Rows(self._dimensions)
        self._postings = Postings()
        self._messages: list[Message | None] = [None]
        #: The rows of each conversation, in order of seq.
        self._conversations: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        #: How many passages each speaker has.
        self._spoken: list[int] = []
        self._named: dict[str, set[int]] = {}
        self._text_bytes = 0
        self._overview: PassageOverview | None = None

    @classmethod
    def of_candidates(cls, matched: MatchedPassages, asked: Sequence[str], dimensions: int) -> PassageIndex:
        """Return an index of candidates; `asked` are the terms whose frequencies the store told."""
        index = cls(dimensions)
        for conversation_id, passages in groupby(matched.passages, lambda one: one.message.conversation_id):
            index._append(conversation_id, list(passages))
        by_word: dict[str, int] = {}
        for term, frequency in zip(asked, matched.frequencies, strict=True):
            word = stem(term)
            by_word[word] = max(by_word.get(word, 0), frequency)
        index._known = Frequencies(matched.total, by_word)
        return index

    def __len__(self) -> int:
        return self._rows.living

    @property
    def nbytes(self) -> int:
        """Tell about how many bytes are held."""
        messages = _MESSAGE_BYTES * len(self._messages) + self._text_bytes
        return self._rows.nbytes + self._postings.nbytes + messages

    def put(self, conversation_id: str, from_seq: int, passages: Iterable[Passage]) -> None:
        """Replace what is known of a conversation from this seq on; passages come in order of seq."""
        self._bury(conversation_id, from_seq)
        self._append(conversation_id, passages)

    def drop(self, conversation_id: str) -> None:
        """Forget a conversation."""
        self._bury(conversation_id, 0)

    def search(self, question: Question, limit: int = 10, keep: Keep | None = None) -> list[PassageHit]:
        """Return the best passages that may be kept, the best first; of equal ones by conversation and seq."""
        if not len(self):
            return []
        asked = self._asked(question)
        if self._overview is None:
            self._overview = PassageOverview(self._rows)
        found = passage_signals(self._overview, self._postings, asked, self._known)
        score = fused(self._overview, found, SHARES)
        best = self._best(score, limit, keep)
        why = reasons(self._rows, self._postings, asked, best)
        return [
            PassageHit(message=message, score=float(score[row]), why=told)
            for (row, message), told in zip(best, why, strict=True)
        ]

    def _best(self, score: NDArray[np.float32], limit: int, keep: Keep | None) -> list[tuple[int, Message]]:
        """Return the rows with the highest scores, reading no more of them than are needed."""
        wanted = min(limit if keep is None else 4 * limit, len(self))
        while True:
            least = np.partition(score, len(score) - wanted)[len(score) - wanted]
            rows = [int(row) for row in np.flatnonzero(score >= least)]
            ordered = sorted(((row, self._message(row)) for row in rows), key=lambda one: _order(score[one[0]], one[1]))
            kept = [one for one in ordered if keep is None or keep(one[1])]
            if len(kept) >= limit or wanted == len(self):
                return kept[:limit]
            wanted = min(4 * wanted, len(self))

    def _asked(self, question: Question) -> Asked:
        """Take the names of speakers out of what is looked for, unless nothing else is asked."""
        words = asked_words(question.text)
        named = {word: [one for one in self._named.get(word, ()) if self._spoken[one]] for word in words}
        speakers = sorted({number for numbers in named.values() for number in numbers})
        others = [word for word in words if not named[word]]
        return Asked({stem(word): kin_of(word) for word in others or words}, speakers, question)

    def _message(self, row: int) -> Message:
        message = self._messages[row]
        if message is None:
            raise AssertionError("a living row has a message")
        return message

    def _append(self, conversation_id: str, passages: Iterable[Passage]) -> None:
        rows = self._conversations.setdefault(conversation_id, [])
        number = self._numbers.setdefault(conversation_id, len(self._numbers))
        for passage in passages:
            row = self._add(passage, number)
            self._rows.chain(rows[-1] if rows else 0, row)
            rows.append(row)
        if not rows:
            del self._conversations[conversation_id]
        self._rows.show()
        self._overview = None

    def _add(self, passage: Passage, conversation: int) -> int:
        message = passage.message
        words = words_of(message.content)
        values = {
            "conversation": conversation,
            "speaker": self._speaker(message),
            "by_assistant": message.role == "assistant" and speaker(message).casefold() == "assistant",
            "is_own": is_own(words),
            "length": weight_of(words),
            "at": message.created_at.timestamp(),
        }
        vector = None if passage.vector is None else np.frombuffer(passage.vector, dtype="<f2").astype(np.float32)
        row = self._rows.add(values, vector)
        self._postings.add(row, words)
        self._messages.append(message)
        self._text_bytes += len(message.content)
        return row

    def _speaker(self, message: Message) -> int:
        """Return the number of who speaks, and learn the words of their name; a role is no name."""
        name = speaker(message)
        number = self._speakers.get(name)
        if number is None:
            number = self._speakers[name] = len(self._speakers)
            self._spoken.append(0)
            if name.casefold() != message.role:
                for word in terms(name):
                    self._named.setdefault(word, set()).add(number)
        self._spoken[number] += 1
        return number

    def _bury(self, conversation_id: str, from_seq: int) -> None:
        rows = self._conversations.get(conversation_id)
        if not rows:
            return
        first = len(rows)
        while first and self._message(rows[first - 1]).seq >= from_seq:
            first -= 1
        gone = rows[first:]
        self._rows.bury(gone)
        for row in gone:
            self._text_bytes -= len(self._message(row).content)
            self._messages[row] = None
            self._spoken[self._rows.speaker[row]] -= 1
        del rows[first:]
        if not rows:
            del self._conversations[conversation_id]
        self._overview = None
        dead = self._rows.size - 1 - self._rows.living
        if dead >= _CLEARED and dead >= self._rows.living:
            self._rebuild()

    def _rebuild(self) -> None:
        """Build everything anew from what is still there."""
        left = {
            conversation_id: [Passage(self._message(row), self._rows.vector(row)) for row in rows]
            for conversation_id, rows in self._conversations.items()
        }
        self._clear()
        for conversation_id, passages in left.items():
            self._append(conversation_id, passages)


def _order(score: float, message: Message) -> tuple[float, str, int]:
    return -score, message.conversation_id, message.seq
