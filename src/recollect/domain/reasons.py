"""Write down why something was told without the words of anybody, and say it again later.

A reason may quote the question or name who spoke; what is kept must not outlive them.
So it is kept as numbers: which phrase of ours, and where in the question its words stand.
A phrase that is not known here is not kept at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from recollect.domain.message import Message
from recollect.domain.parcel import NO_ROOM, WAITS
from recollect.domain.terms import asked_terms

#: A phrase and its numbers.
Part = tuple[int, ...]

#: Their places are stored: new ones are added at the end.
_PHRASES: Final = (
    "it was found for the question",
    "always",
    "what the user wants",
    "what the application gave",
    "the new message",
    "pinned",
    "nobody here said it, so it is told as data",
    "learned lately",
    "what comes closest",
    "said lately",
    "cut to fit",
    NO_ROOM,
    f"{NO_ROOM}, as for all that is older",
    WAITS,
    "it stands in the prompt already",
    "the agent can read it with its tool",
)
_UNKNOWN: Final = 0
_NEAR, _IMPORTANT, _OFTEN, _SUMMARY, _NOTES, _NOTES_CUT = range(100, 106)
_WORDS, _BESIDE, _TIME, _SPEAKER, _DAY = range(110, 115)

_NUMBERED: Final = (
    (_NEAR, re.compile(r"near in meaning \((\d)\.(\d\d)\)")),
    (_IMPORTANT, re.compile(r"important \((\d)\.(\d\d)\)")),
    (_OFTEN, re.compile(r"often used \((\d+)\)")),
    (_SUMMARY, re.compile(r"stands for messages (\d+) to (\d+)")),
    (_NOTES, re.compile(r"the notes of .*, version (\d+)", re.DOTALL)),
    (_NOTES_CUT, re.compile(r"the notes of .*, version (\d+), cut to fit", re.DOTALL)),
)


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """What a reason may quote: the question, the message that was recalled, the agent whose note it is."""

    question: str = ""
    message: Message | None = None
    agent: str = ""


def reason_parts(why: str, question: str) -> tuple[Part, ...]:
    """Return the reason as numbers; its words are those of this question."""
    if notes := _numbered(why):
        return (notes,)
    parts = [part for text in why.split("; ") if (part := _part(text, question)) is not None]
    return tuple(parts) or ((_UNKNOWN,),)


def reason(parts: tuple[Part, ...], spoken: Spoken) -> str:
    """Return the reason in words, as far as what it quotes is known."""
    return "; ".join(_said(part, spoken) for part in parts)


def _part(text: str, question: str) -> Part | None:
    if text in _PHRASES:
        return (_PHRASES.index(text),)
    if numbered := _numbered(text):
        return numbered
    if text.startswith("words: "):
        return _places(_WORDS, text.removeprefix("words: "), question)
    if text.startswith("next to "):
        return _places(_BESIDE, text.removeprefix("next to "), question)
    if text.startswith("said by "):
        return (_SPEAKER,)
    if text.startswith("said on "):
        return (_DAY,)
    if text.startswith("of "):
        said = text.removeprefix("of ")
        at = question.lower().find(said.lower())
        return (_TIME,) if at < 0 else (_TIME, at, len(said))
    return None


def _numbered(text: str) -> Part | None:
    for code, pattern in reversed(_NUMBERED):
        if found := pattern.fullmatch(text):
            return (code, *map(int, found.groups()))
    return None


def _places(code: int, words: str, question: str) -> Part:
    known = {term: place for place, term in enumerate(asked_terms(question))}
    return (code, *(known[word] for word in words.split(", ") if word in known))


def _said(part: Part, spoken: Spoken) -> str:
    code, *numbers = part
    if code in _SAY:
        try:
            return _SAY[code](numbers, spoken)
        except (IndexError, ValueError):
            return _PHRASES[_UNKNOWN]
    return _PHRASES[code] if code < len(_PHRASES) else _PHRASES[_UNKNOWN]


def _words(numbers: list[int], spoken: Spoken) -> str:
    terms = asked_terms(spoken.question)
    return ", ".join(terms[place] for place in numbers)


def _said_words(numbers: list[int], spoken: Spoken) -> str:
    return f"words: {_words(numbers, spoken)}" if spoken.question and numbers else "words of the question"


def _said_beside(numbers: list[int], spoken: Spoken) -> str:
    return "next to " + (_words(numbers, spoken) if spoken.question and numbers else "words of the question")


def _said_time(numbers: list[int], spoken: Spoken) -> str:
    if not spoken.question or not numbers:
        return "of the time that was asked for"
    at, length = numbers
    return "of " + spoken.question.lower()[at : at + length]


def _said_speaker(_: list[int], spoken: Spoken) -> str:
    message = spoken.message
    return "said by " + ("whom the question names" if message is None else message.name or message.role)


def _said_day(_: list[int], spoken: Spoken) -> str:
    if spoken.message is None:
        return "said at the time that was asked for"
    at = spoken.message.created_at
    return f"said on {at.day} {at:%B %Y}"


_SAY: Final[dict[int, Callable[[list[int], Spoken], str]]] = {
    _NEAR: lambda numbers, _: f"near in meaning ({numbers[0]}.{numbers[1]:02})",
    _IMPORTANT: lambda numbers, _: f"important ({numbers[0]}.{numbers[1]:02})",
    _OFTEN: lambda numbers, _: f"often used ({numbers[0]})",
    _SUMMARY: lambda numbers, _: f"stands for messages {numbers[0]} to {numbers[1]}",
    _NOTES: lambda numbers, spoken: f"the notes of {spoken.agent}, version {numbers[0]}",
    _NOTES_CUT: lambda numbers, spoken: f"the notes of {spoken.agent}, version {numbers[0]}, cut to fit",
    _WORDS: _said_words,
    _BESIDE: _said_beside,
    _TIME: _said_time,
    _SPEAKER: _said_speaker,
    _DAY: _said_day,
}
