"""What a model is asked: the prompt file, the schema of the answer, and messages written down as data.

A line that begins at the margin is ours; nothing that somebody said begins there or ends the material.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from recollect.domain.memory import MEMORY_TYPES, Memory
from recollect.domain.message import Message
from recollect.domain.prompt import prompt_from
from recollect.domain.tokens import estimate_tokens

#: What is shown of a tool's output: most of it is data that no memory is made of.
TOOL_OUTPUT = 2_000
#: Memories and context that help to understand, in tokens each.
HELP_TOKENS = 1_000
#: Characters of one part of a message; longer ones are read in several.
PART = 8_000
MOST_NAME = 60

_TAG = re.compile(r"<(?=\s*/?\s*(?:transcript|context|known)\b)", re.IGNORECASE)

_TEXT_OR_NULL = {"type": ["string", "null"]}
_ITEM = {
    "type": {"type": "string", "enum": list(MEMORY_TYPES)},
    "content": {"type": "string"},
    "importance": {"type": "number"},
    "confidence": {"type": "number"},
    "quote": {"type": "string"},
    "message": {"type": "string"},
    "category": _TEXT_OR_NULL,
    "subject": _TEXT_OR_NULL,
    "attribute": _TEXT_OR_NULL,
    "value": _TEXT_OR_NULL,
    "negated": {"type": "boolean"},
    "valid_from": _TEXT_OR_NULL,
    "valid_to": _TEXT_OR_NULL,
}
_LIST = {
    "type": "array",
    "items": {"type": "object", "properties": _ITEM, "required": list(_ITEM), "additionalProperties": False},
}
#: The answer as providers that enforce a schema want it: an object, with every field required.
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"memories": _LIST},
    "required": ["memories"],
    "additionalProperties": False,
}


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told; a style for each mode, and templates for the question and for its repair."""

    version: int
    system: str
    chat: str
    document: str
    research: str
    ask: str
    repair: str


@cache
def extraction_prompt() -> Prompt:
    """Read the prompt."""
    text = resources.files("recollect.extraction").joinpath("prompts/extraction.md").read_text(encoding="utf-8")
    return prompt_from(text, Prompt)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or a part of a long one, as it is shown."""

    message_id: str
    text: str


def chunks(messages: Sequence[Message], tokens: int) -> list[list[Part]]:
    """Return the messages in order, in as many portions of so many tokens as they need."""
    portions: list[list[Part]] = []
    left = 0
    for message in messages:
        for text in _pieces(message):
            cost = estimate_tokens(text) + 8
            if cost > left:
                portions.append([])
                left = tokens
            left -= cost
            portions[-1].append(Part(message_id=message.id, text=text))
    return portions


def labelled(parts: Sequence[Part]) -> tuple[str, dict[str, str]]:
    """Return the parts with a short label each, and which message a label stands for."""
    labels = {f"m{at}": part.message_id for at, part in enumerate(parts, 1)}
    return "\n".join(f"[{label}] {part.text}" for label, part in zip(labels, parts, strict=True)), labels


def context_lines(messages: Sequence[Message]) -> str:
    """Return the newest of the messages that help to understand, oldest first."""
    lines = [_indented(_speaker(message) + message.content[: 2 * HELP_TOKENS]) for message in messages]
    return "\n".join(reversed(_fitting(reversed(lines)))) or "(none)"


def known_lines(memories: Sequence[Memory]) -> str:
    """Return the memories with their slots, the first ones if not all can be shown."""
    lines = (_indented(f"- {_slot(memory)}{memory.content}") for memory in memories)
    return "\n".join(_fitting(lines)) or "(none)"


def _fitting(lines: Iterator[str]) -> list[str]:
    left = HELP_TOKENS
    kept = []
    for line in lines:
        left -= estimate_tokens(line)
        if left < 0:
            break
        kept.append(line)
    return kept


def _slot(memory: Memory) -> str:
    return f"({memory.subject} / {memory.attribute}) " if memory.subject and memory.attribute else ""


def _pieces(message: Message) -> Iterator[str]:
    """Return what a message says, in parts that end at a line or a space where there is one."""
    text = message.content if message.role != "tool" else message.content[:TOOL_OUTPUT]
    start = 0
    while start < len(text):
        end = start + PART
        if end < len(text):
            end = max(text.rfind("\n", start + PART // 2, end), text.rfind(" ", start + PART // 2, end)) + 1 or end
        if text[start:end].strip():
            yield _indented(_speaker(message) + text[start:end])
        start = end


def _speaker(message: Message) -> str:
    name = " ".join((message.name or "").split())[:MOST_NAME]
    return f"{message.role} ({name}): " if name else f"{message.role}: "


def _indented(text: str) -> str:
    return _TAG.sub("‹", "\n  ".join(text.splitlines()))
