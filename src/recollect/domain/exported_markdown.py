"""Exported records as Markdown for people to read; what programs read back is JSON."""

from __future__ import annotations

import re

import msgspec

from recollect.domain.exported import (
    ConversationRecord,
    DamagedRecord,
    MessageRecord,
    Record,
    SummaryRecord,
)

_TICKS = re.compile(r"`{3,}")
_SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


class MarkdownPage:
    """Write the records of a conversation one after the other."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._has_summaries = False

    def text(self, record: Record) -> str:
        """Return what the record adds to the page."""
        match record:
            case ConversationRecord():
                return _opening(record)
            case MessageRecord():
                return self._message(record)
            case SummaryRecord():
                return self._summary(record)
            case DamagedRecord():
                return f"\n*A {record.what} is damaged and cannot be read: {_code(record.id)}.*\n"

    def _message(self, record: MessageRecord) -> str:
        speaker = _SPEAKERS[record.role] + (f" ({_line(record.name)})" if record.name else "")
        state = "" if record.status == "complete" else f" · {record.status}"
        parts = [f"\n## {record.seq} · {speaker} · {record.created_at:%Y-%m-%d %H:%M} UTC{state}\n"]
        parts.append(f"<!-- {_code(record.id).replace('--', '- -')} -->\n")
        if record.parent_id != self._last:
            start = "From the start" if record.parent_id is None else f"After {_code(record.parent_id)}"
            parts.append(f"*{start}, on another branch.*\n")
        self._last = record.id
        if record.content:
            parts.append(f"{_fenced(record.content) if record.role == 'tool' else record.content}\n")
        for call in record.tool_calls:
            parts.append(f"Called {_code(call.tool_name)}:\n")
            parts.append(f"{_fenced(_json(call.input), 'json')}\n")
            if call.output is not None:
                parts.append(f"which returned:\n\n{_fenced(_json(call.output), 'json')}\n")
        return "\n".join(parts)

    def _summary(self, record: SummaryRecord) -> str:
        heading = "" if self._has_summaries else "\n# Summaries\n"
        self._has_summaries = True
        covered = f"{len(record.folds)} summaries" if record.folds else f"{len(record.message_ids)} messages"
        quoted = "\n".join(f"> {line}" for line in record.content.splitlines())
        return f"{heading}\n{quoted}\n>\n> *of {covered}, {record.created_at:%Y-%m-%d %H:%M} UTC*\n"


def _opening(record: ConversationRecord) -> str:
    lines = [
        f"# {_line(record.title or 'Conversation')}\n",
        f"- Conversation: {_code(record.id)}",
        f"- Agent: {_code(record.agent)}",
        f"- Begun: {record.created_at:%Y-%m-%d %H:%M} UTC",
        f"- Last activity: {record.last_activity_at:%Y-%m-%d %H:%M} UTC\n",
    ]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """Return an id as code; a tick in it becomes another sign."""
    return f"`{_line(text).replace('`', 'ˋ')}`"


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _fenced(text: str, language: str = "") -> str:
    """Return the text between fences that nothing in it can close."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
