"""Check what a generator wrote before anything believes it: it may be cut, blank, broken, or no summary at all."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.checks import MAX_CONTENT, check_text
from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.errors import ProviderOutputError
from recollect.history.extractive import LONGEST_NAME, TOOL_OUTPUT
from recollect.history.sentences import cut_at_sentence

#: A summary this short is never too long, however little it covers: to name a greeting takes more than the greeting.
ALWAYS_SHORT = 200
#: What the name of a speaker takes at the most.
_LABEL = LONGEST_NAME + 2


def length_of(covered: Sequence[Message] | Sequence[Summary]) -> int:
    """Return about how many characters these take when they are written down, with who said them."""
    return sum(_length(one) for one in covered)


def _length(one: Message | Summary) -> int:
    if isinstance(one, Summary):
        return len(one.content)
    return len(one.content) + _LABEL + (TOOL_OUTPUT if one.tool_calls else 0)


def checked_summary(text: object, *, at_most: int, covered: int) -> str:
    """Return the text as a summary of at most so many characters, cut at the end of a sentence if it is longer.

    Raise `ProviderOutputError` for what is no text, says nothing, or is longer than the `covered` characters it stands
    for.
    """
    most = min(max(covered, ALWAYS_SHORT), MAX_CONTENT)
    found = check_text(text, "the summary", at_most=most, at_least=1, error=ProviderOutputError)
    if not any(character.isprintable() and not character.isspace() for character in found):
        raise ProviderOutputError("the summary must not be blank")
    return cut_at_sentence(found.strip(), at_most)
