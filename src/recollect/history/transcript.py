"""Write messages down for a model to read: who said what, as data that cannot pose as anything else.

A line that begins at the margin is a speaker's; nothing that somebody said begins there or ends the material.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.domain.tokens import estimate_tokens
from recollect.history.extractive import LONGEST_NAME
from recollect.history.sentences import shortened

#: How much is shown of a tool's input, and of its output.
TOOL_INPUT, TOOL_OUTPUT = 160, 400
#: With less than this many tokens for each, messages are left out instead of being cut shorter.
LEAST_TOKENS = 40
#: More characters of one message are not even looked at: no token of a text that people write is longer.
CHARACTERS_PER_TOKEN = 8

_TAG = re.compile(r"<(?=\s*/?\s*(?:transcript|summaries)\b)", re.IGNORECASE)
_GAP = " […] "


def transcript(messages: Sequence[Message], at_most: int) -> str:
    """Return the messages, oldest first, in at most so many tokens by estimate.

    Long messages lose their middle; of too many, what tools returned is left out first, then some at even distances.
    """
    tools = {call.id: call.tool_name for message in messages for call in message.tool_calls}
    chosen = _chosen(messages, max(at_most // LEAST_TOKENS, 2))
    return _joined([_entry(message, tools, at_most) for message in chosen], at_most)


def parts(summaries: Sequence[Summary], at_most: int) -> str:
    """Return the summaries, oldest first, in at most so many tokens by estimate."""
    return _joined([_indented(f"Part {at}: {one.content}") for at, one in enumerate(summaries, 1)], at_most)


def _chosen(messages: Sequence[Message], most: int) -> Sequence[Message]:
    if len(messages) > most:
        messages = [message for message in messages if message.role != "tool"] or messages
    if len(messages) <= most:
        return messages
    return [messages[at * (len(messages) - 1) // (most - 1)] for at in range(most)]


def _entry(message: Message, tools: Mapping[str, str], at_most: int) -> str:
    speaker = shortened(message.name or message.role, LONGEST_NAME)
    if message.role == "tool":
        tool = shortened(tools.get(message.tool_call_id or "", ""), LONGEST_NAME)
        return f"{speaker} {tool}".rstrip() + f": {shortened(message.content, TOOL_OUTPUT)}"
    calls = (f"[calls {_call(call.tool_name, call.input)}]" for call in message.tool_calls)
    said = _without_middle(message.content, at_most * CHARACTERS_PER_TOKEN)
    return _indented(f"{speaker}: {' '.join((said, *calls)).strip()}")


def _call(tool: str, given: object) -> str:
    written = "" if given is None else msgspec.json.encode(given).decode()
    return shortened(f"{tool} {written}", TOOL_INPUT)


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())


def _defused(text: str) -> str:
    """Return the text with nothing in it that looks like the begin or the end of the material."""
    return _TAG.sub("‹", text)


def _joined(entries: Sequence[str], at_most: int) -> str:
    entries = [_defused(entry) for entry in entries]
    costs = [estimate_tokens(entry) for entry in entries]
    if sum(costs) + len(costs) > at_most:
        cap = _cap(costs, at_most - len(costs))
        entries = [
            entry if cost <= cap else _without_middle(entry, len(entry) * cap // cost)
            for entry, cost in zip(entries, costs, strict=True)
        ]
    return _fitting("\n".join(entries), at_most)


def _cap(costs: Sequence[int], at_most: int) -> int:
    """Return the most that each may cost, so that all fit and short ones stay whole."""
    left = at_most
    for at, cost in enumerate(sorted(costs)):
        part = left // (len(costs) - at)
        if cost > part:
            return max(part, 1)
        left -= cost
    return max(costs, default=1)


def _without_middle(text: str, at_most: int) -> str:
    """Return the text, or its begin and its end if it is longer than this many characters."""
    if len(text) <= at_most:
        return text
    room = max(at_most - len(_GAP), 1)
    end = room // 3
    return text[: room - end] + _GAP + text[len(text) - end :]


def _fitting(text: str, at_most: int) -> str:
    """Cut what the estimate did not foresee."""
    while (cost := estimate_tokens(text)) > at_most:
        text = _without_middle(text, min(len(text) * at_most // cost, len(text) * 9 // 10))
    return text
