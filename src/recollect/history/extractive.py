"""Summarise without a model: keep the sentences that say most, in their order, with who said them.

A sentence counts for the terms it shares with others, for its place and for names and numbers; what is said already
counts little, so that the next sentence adds something.
Every sentence is kept word for word: putting "Ann" for "I" would make a quotation or a translation a fact about Ann.
Pure and deterministic; knows no language, no store and no model.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from recollect.domain.message import Message
from recollect.domain.terms import terms
from recollect.domain.tokens import COMMON_WORDS
from recollect.history.sentences import SAMPLE, sentences, shortened

#: The name under which these summaries are recorded.
GENERATOR = "extractive"

AT_MOST = 1_200
#: A summary takes no more than this share of what it covers, but for its best sentence and this part of its limit.
SHARE, LEAST_PART = 0.35, 1 / 6
#: How many characters are read in all; each message gets its part of them, so that any range takes bounded time.
READ = 200_000
LEAST_READ = 300
TOOL_OUTPUT = 160
LONGEST_NAME = 40

# What a sentence counts for, each measured on its own.
_FIRST, _LAST, _REACH = 3.0, 0.5, 2.0
_LATER, _LATEST = 0.9, 6
_NAME, _MOST_NAMES = 0.1, 3
_LENGTH, _FEW_TERMS, _LEAST = 0.5, 7, 0.05
_ONCE, _AGAIN, _COMMON = 0.2, 0.1, 0.3
_LONG_TERM = 8

_LATER_WORD = re.compile(r"(?<=[\w,;:][ \u00a0])\w+")

Measure = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Something said, by whom, and how much it matters."""

    speaker: str
    sentences: tuple[str, ...]
    weight: float = 1.0
    #: Where it stands: 0 is the first, 1 the second; None where the place tells nothing.
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A sentence that may be kept."""

    passage: int
    text: str
    terms: tuple[str, ...]
    factor: float


def summarise_messages(messages: Sequence[Message], *, at_most: int = AT_MOST, measure: Measure = len) -> str:
    """Return a summary of the messages that measures at most this much: in characters, or by another measure.

    It is empty only for no messages.
    """
    return _summary(_passages(messages), at_most, measure)


def fold_summaries(texts: Sequence[str], *, at_most: int = AT_MOST, measure: Measure = len) -> str:
    """Return a summary of summaries, oldest first, that measures at most this much; empty only for no text."""
    lines = (line for text in texts for line in text.splitlines())
    parted = (line.partition(": ") for line in lines)
    passages = [
        Passage(speaker=name, sentences=tuple(sentences(said)))
        if said and 0 < len(name) <= LONGEST_NAME
        else Passage(speaker="", sentences=tuple(sentences(name + colon + said)))
        for name, colon, said in parted
    ]
    return _summary(passages, at_most, measure)


def _passages(messages: Sequence[Message]) -> list[Passage]:
    part = max(READ // max(len(messages), 1), LEAST_READ)
    tools = {call.id: call.tool_name for message in messages for call in message.tool_calls}
    return [_passage(message, place, part, tools) for place, message in enumerate(messages)]


def _passage(message: Message, place: int, part: int, tools: Mapping[str, str]) -> Passage:
    speaker = shortened(message.name or message.role, LONGEST_NAME)
    if message.role == "tool":
        tool = tools.get(message.tool_call_id or "", "")
        said = shortened(message.content, TOOL_OUTPUT)
        speaker = shortened(f"{speaker} {tool}", LONGEST_NAME)
        return Passage(speaker=speaker, sentences=(said,) if said else (), weight=0.5, place=place)
    found = tuple(sentences(_read(message.content, part)))
    if found or not message.tool_calls:
        return Passage(speaker=speaker, sentences=found, weight=0.5 if message.role == "system" else 1.0, place=place)
    calls = (f"{call.tool_name} {msgspec.json.encode(call.input).decode()}" for call in message.tool_calls)
    return Passage(speaker=speaker, sentences=(shortened("; ".join(calls), TOOL_OUTPUT),), weight=0.5, place=place)


def _read(text: str, part: int) -> str:
    """Return the text, or its begin and its end if it is longer than its part."""
    if len(text) <= part:
        return text
    return f"{text[: part * 2 // 3]}\n{text[-(part // 3) :]}"


def _summary(passages: Sequence[Passage], at_most: int, measure: Measure) -> str:
    candidates = _candidates(passages)
    if not candidates:
        named = dict.fromkeys(passage.speaker for passage in passages if passage.speaker)
        return _fitting(f"{', '.join(named)}: …" if passages else "", at_most, measure)
    kept = _choose(passages, candidates, at_most, measure)
    while len(kept) > 1 and measure(_written(passages, candidates, kept)) > at_most:
        kept.pop()
    return _fitting(_written(passages, candidates, kept), at_most, measure)


def _candidates(passages: Sequence[Passage]) -> list[_Candidate]:
    said: dict[str, None] = {}
    found = []
    for number, passage in enumerate(passages):
        for order, text in enumerate(passage.sentences):
            if text in said:
                continue
            said[text] = None
            own = tuple(terms(text))
            factor = passage.weight * _place(passage, len(passages)) * _worth(text, own, order)
            found.append(_Candidate(passage=number, text=text, terms=own, factor=factor))
    return found


def _place(passage: Passage, count: int) -> float:
    """Favour the begin, where a topic is named, and slightly the end, where a decision falls."""
    if passage.place is None:
        return 1.0
    last = count - 1 - passage.place
    return 1 + _FIRST * math.exp(-passage.place / _REACH) + _LAST * math.exp(-last / _REACH)


def _worth(text: str, own: tuple[str, ...], order: int) -> float:
    """Weigh a sentence by itself: more the first of a message and those with names or numbers, less short answers."""
    names = sum(word[0].isupper() or word[0].isdecimal() for word in _LATER_WORD.findall(text))
    worth: float = _LATER ** min(order, _LATEST) * (1 + _NAME * min(names, _MOST_NAMES))
    return worth * min(1.0, len(own) / _FEW_TERMS) / math.pow(max(len(own), 1), _LENGTH)


def _term_weights(passages: Iterable[Passage], candidates: Sequence[_Candidate]) -> dict[str, float]:
    """Weigh terms: those that come again are the topic; common and short ones, and those everywhere, are grammar.

    The names of the speakers say little: they stand before every line.
    """
    small = COMMON_WORDS.union(*(terms(speaker) for speaker in {passage.speaker for passage in passages}))
    often = Counter(term for candidate in candidates for term in candidate.terms)
    return {
        term: (times - 1 + _ONCE)
        * math.log(1 + len(candidates) / times)
        * min(len(term), _LONG_TERM)
        * (_COMMON if term in small else 1)
        for term, times in often.items()
    }


def _choose(passages: Sequence[Passage], candidates: Sequence[_Candidate], at_most: int, measure: Measure) -> list[int]:
    """Return the numbers of the best candidates that fit together, best first, and at least one.

    What a candidate adds only shrinks as others are chosen, so an old value is an upper bound and few are renewed.
    """
    weights = _term_weights(passages, candidates)
    covered: set[str] = set()
    spoken: set[int] = set()
    kept: list[int] = []

    def adds(number: int) -> float:
        candidate = candidates[number]
        return candidate.factor * sum([weights[term] * (_AGAIN if term in covered else 1) for term in candidate.terms])

    def costs(candidate: _Candidate) -> int:
        label = 0 if candidate.passage in spoken else measure(passages[candidate.passage].speaker) + 2
        return measure(candidate.text) + 1 + label

    waiting = [(-adds(number), number) for number in range(len(candidates))]
    heapq.heapify(waiting)
    most, best = waiting[0]
    source = sum(measure(candidate.text) for candidate in candidates)
    budget = min(at_most, max(int(at_most * LEAST_PART), int(source * SHARE), costs(candidates[best])))
    while waiting and budget > 0:
        _, number = heapq.heappop(waiting)
        value = adds(number)
        if waiting and -value > waiting[0][0]:
            heapq.heappush(waiting, (-value, number))
            continue
        if value < _LEAST * -most:
            break
        cost = costs(candidates[number])
        if cost <= budget:
            budget -= cost
            kept.append(number)
            spoken.add(candidates[number].passage)
            covered.update(candidates[number].terms)
    return kept or [best]


def _written(passages: Sequence[Passage], candidates: Sequence[_Candidate], kept: Sequence[int]) -> str:
    """Write a line for each passage that has something kept."""
    lines: dict[int, list[str]] = {}
    for number in sorted(kept):
        lines.setdefault(candidates[number].passage, []).append(candidates[number].text)
    return "\n".join(_line(passages[passage].speaker, said) for passage, said in lines.items())


def _line(speaker: str, said: Sequence[str]) -> str:
    text = " ".join(said)
    return f"{speaker}: {text}" if speaker else text


def _fitting(text: str, at_most: int, measure: Measure) -> str:
    """Cut the text until it measures no more than this."""
    while text and measure(text) > at_most:
        text = shortened(text, max(len(text) * 3 // 4, 1)) if len(text) > SAMPLE else text[:-1]
    return text
