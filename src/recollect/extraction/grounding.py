"""Believe a draft only if its quote stands in a message, and say whose words they are.

A quote may differ from its source in case, spacing, width, quotation marks and dashes, but in no word.
What is kept as the quote is the source's own text, and the origin is stamped from who said it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from recollect.domain.candidate import BY_TRUST, SOURCE_ORIGINS, Candidate, Rejection, brought_by, origin_of
from recollect.domain.memory import MAX_MEMORY, normalised
from recollect.domain.message import Message
from recollect.domain.secrets import redacted
from recollect.domain.terms import terms
from recollect.domain.tokens import COMMON_WORDS
from recollect.extraction.drafts import Draft
from recollect.ports.extractor import Extracted, ExtractionRequest

#: Letters and digits that a quote has at least; of a script without capitals, where a sign says more, half of it.
LEAST_QUOTE = 4
#: Letters of a word that shows whose words a statement takes up.
LEAST_WORD = 4
#: From here on, what is said is no person's own word.
OTHERS = BY_TRUST.index("user") + 1

_SAME = str.maketrans(
    dict.fromkeys("’‘‚‛ʼ´`′", "'")
    | dict.fromkeys("“”„‟«»‹›″「」『』", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u0000")
    | {"…": "..."}
)
_EMPHASIS = ("**", "__")
_EDGES = " \t\"'.,;:!?()-。、，；：！？"


class Sources:
    """The new messages of a request, without secrets, in which quotes are looked for."""

    def __init__(self, request: ExtractionRequest) -> None:
        said = [message for message in request.messages if message.role in SOURCE_ORIGINS]
        self.messages = [without_secrets(message) for message in said]
        self.context = [without_secrets(one) for one in request.context if one.role in SOURCE_ORIGINS]
        self._request = request
        self._terms: dict[str, set[str]] = {}

    def candidate(self, draft: Draft) -> Candidate | Rejection:
        """Return the draft as a candidate with the source's own words, or why it is none."""
        needle = _needle(draft.quote)
        if not _says_something(needle):
            return "no_quote"
        found = [(message, quote) for message in self.messages if (quote := find_quote(message.content, needle))]
        if not found:
            return "not_in_source"
        if draft.importance < self._request.threshold:
            return "below_threshold"
        message, quote = min(found, key=lambda hit: self._rank(hit[0], draft))
        # Spaces that a model leaves out may make the words of the source longer than those of the draft.
        return self._stamped(draft, message, quote) if len(quote) <= MAX_MEMORY else "too_long"

    def _rank(self, message: Message, draft: Draft) -> tuple[int, bool, int]:
        """Prefer the most trusted speaker who said it, then the message that the model named, then the first."""
        return _trust(message), message.id != draft.message_id, message.seq

    def _stamped(self, draft: Draft, message: Message, quote: str) -> Candidate:
        others = self._also_from(draft, message)
        ids = dict.fromkeys([message.id, *(other.id for other in others if other in self.messages)])
        start = draft.valid_from or min(message.created_at, self._request.now)
        if draft.valid_to is not None:
            start = min(start, draft.valid_to)
        content = redacted(draft.content).text
        return Candidate(
            content=content,
            quote=quote,
            message_ids=tuple(ids),
            origin=origin_of([message, *others], self._request.origin),
            memory_type=draft.memory_type,
            category=draft.category,
            importance=draft.importance,
            confidence=draft.confidence,
            subject=draft.subject,
            attribute=draft.attribute,
            value=None if draft.value is None else redacted(draft.value).text[:255],
            negated=draft.negated,
            valid_from=start,
            valid_to=draft.valid_to,
        )

    def _also_from(self, draft: Draft, source: Message) -> list[Message]:
        """Return the less trusted messages that the statement takes up words from which no person said.

        So an instruction in a tool's output does not become the user's word by a quote of something else, nor the
        assistant's by its repeating it.
        """
        everyone = [*self.context, *self.messages]
        words = set(_telling(draft.content)) - self._said(one for one in everyone if _trust(one) < OTHERS)
        less = [one for one in everyone if _trust(one) > _trust(source)]
        return [one for one in less if not words.isdisjoint(self._words(one))]

    def _said(self, messages: Iterable[Message]) -> set[str]:
        return set().union(*(self._words(message) for message in messages))

    def _words(self, message: Message) -> set[str]:
        if message.id not in self._terms:
            self._terms[message.id] = set(_telling(message.content))
        return self._terms[message.id]


def grounded(drafts: Iterable[Draft | Rejection], sources: Sources) -> Extracted:
    """Return the candidates that the drafts make, and count the rest by reason; what is said twice counts once."""
    kept: dict[tuple[str, str | None, str | None], Candidate] = {}
    rejected: Counter[str] = Counter()
    for draft in drafts:
        result = sources.candidate(draft) if isinstance(draft, Draft) else draft
        if not isinstance(result, Candidate):
            rejected[result] += 1
            continue
        key = (normalised(result.content), result.subject, result.attribute)
        if key in kept:
            rejected["repeated"] += 1
        else:
            kept[key] = result
    return Extracted(candidates=tuple(kept.values()), rejected=dict(rejected))


def find_quote(text: str, needle: str) -> str | None:
    """Return the part of the text that is this quote, or None; both ends are ends of words."""
    at = text.find(needle)
    if at >= 0 and _whole_words(text, at, at + len(needle)):
        return text[at : at + len(needle)]
    folded, places = _folded(text)
    sought, _ = _folded(needle)
    at = folded.find(sought) if sought else -1
    while at >= 0:
        if _whole_words(folded, at, at + len(sought)):
            return text[places[at] : places[at + len(sought) - 1] + 1]
        at = folded.find(sought, at + 1)
    return None


def without_secrets(message: Message) -> Message:
    """Return the message as an extractor may see it."""
    redaction = redacted(message.content)
    return msgspec.structs.replace(message, content=redaction.text) if redaction.found else message


def _trust(message: Message) -> int:
    return BY_TRUST.index(brought_by(message))


def _telling(text: str) -> Sequence[str]:
    """Return the terms of a text that not everybody uses."""
    return [term for term in terms(text) if _tells(term)]


def _tells(term: str) -> bool:
    if any(map(str.isdigit, term)):
        return len(term) > 1
    return (len(term) >= LEAST_WORD or not term.isascii()) and len(term) > 1 and term not in COMMON_WORDS


def _needle(quote: str) -> str:
    return quote.strip(_EDGES + "“”„«»‹›‘’…*_`")


def _says_something(needle: str) -> bool:
    letters = [letter for letter in needle if letter.isalnum()]
    return sum(2 if letter.isalpha() and not _is_cased(letter) else 1 for letter in letters) >= LEAST_QUOTE


def _is_cased(letter: str) -> bool:
    return letter.lower() != letter.upper()


def _whole_words(text: str, start: int, end: int) -> bool:
    """Tell whether neither end cuts a word or a number in two."""
    return not (
        (start > 0 and _joined(text[start - 1], text[start])) or (end < len(text) and _joined(text[end - 1], text[end]))
    )


def _joined(left: str, right: str) -> bool:
    return all(sign.isdigit() or (sign.isalpha() and _is_cased(sign)) for sign in (left, right))


@lru_cache(maxsize=64)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the text without what typography adds, and where each of its characters came from."""
    folded: list[str] = []
    places: list[int] = []
    last = ""
    for at, letter in enumerate(text):
        if text[at : at + 2] in _EMPHASIS or (at and text[at - 1 : at + 1] in _EMPHASIS):
            continue
        for sign in _plain(letter):
            shown = " " if sign.isspace() else sign
            if shown == " " == last:
                continue
            last = shown
            folded.append(shown)
            places.append(at)
    return "".join(folded), tuple(places)


@lru_cache(maxsize=4096)
def _plain(letter: str) -> str:
    return unicodedata.normalize("NFKD", letter.translate(_SAME)).casefold().translate(_SAME)
