"""Put the pieces of a reply together, whatever protocol they came by.

A protocol's reader hands over text, parts of tool calls, counts and the reason of the end;
what comes out keeps the promises of the port.
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable

from recollect.domain.checks import MAX_CONTENT, MAX_ID
from recollect.domain.message import MAX_NAME, MAX_TOOL_CALLS
from recollect.domain.turn import Usage
from recollect.errors import InvalidInputError, ProviderOutputError
from recollect.ports.chat_model import (
    Finished,
    FinishReason,
    ModelEvent,
    TextDelta,
    ToolCallRequest,
    UsageReport,
)
from recollect.providers.text import TextJoiner, clean, tool_input


class PartialCall:
    """A tool call whose input is still coming."""

    def __init__(self, call_id: str, tool_name: str) -> None:
        self.id = call_id
        self.tool_name = tool_name
        self.input: list[str] = []
        self.signature: str | None = None

    def whole(self) -> ToolCallRequest:
        """Return the call, or raise `ProviderOutputError` if it was cut."""
        name = clean(self.tool_name)
        if not name.strip() or len(name) > MAX_NAME:
            raise ProviderOutputError("a tool call names no tool")
        # Some servers give no id, and some give one that no store can keep.
        usable = 0 < len(self.id) <= MAX_ID and self.id.isprintable()
        call_id = self.id if usable else f"call_{uuid.uuid4().hex}"
        given = tool_input("".join(self.input))
        try:
            return ToolCallRequest(id=call_id, tool_name=name, input=given, signature=self.signature)
        except InvalidInputError as exc:
            raise ProviderOutputError("a tool call cannot be kept") from exc


class Assembly:
    """One reply in the making."""

    def __init__(self, max_characters: int = MAX_CONTENT) -> None:
        #: Whether the model began to answer, even with what is not shown.
        self.begun = False
        #: Whether the protocol said that nothing more comes.
        self.ended = False
        #: Why the model stopped, once it said so.
        self.reason: FinishReason | None = None
        self.usage: Usage | None = None
        self._calls: dict[Hashable, PartialCall] = {}
        self._joiner = TextJoiner()
        self._left = max_characters
        self._ready: list[ModelEvent] = []
        self._wrote = False

    def text(self, piece: str) -> None:
        """Add text; the reply ends where it gets too long to keep."""
        self.begun = self.begun or bool(piece)
        self._show(self._joiner.feed(piece))

    def call(self, key: Hashable, call_id: str = "", tool_name: str = "") -> PartialCall:
        """Return the tool call with this key, begun now if it is new."""
        self.begun = True
        if key not in self._calls:
            if len(self._calls) >= MAX_TOOL_CALLS:
                raise ProviderOutputError(f"the reply has more than {MAX_TOOL_CALLS} tool calls")
            self._calls[key] = PartialCall(call_id, tool_name)
        return self._calls[key]

    def take(self) -> list[ModelEvent]:
        """Return what can be shown now."""
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> list[ModelEvent]:
        """Return the rest of the reply, or raise `ProviderOutputError` if it cannot be used."""
        self._show(self._joiner.flush())
        calls = self._whole_calls()
        reason = self.reason or "stop"
        if calls and reason == "stop":
            # Several servers stop with `stop` after tool calls.
            reason = "tool_calls"
        elif reason == "tool_calls" and not calls:
            reason = "stop"
        if not (self._wrote or calls or reason == "refused"):
            raise ProviderOutputError("the reply is empty")
        report = [UsageReport(self.usage)] if self.usage is not None else []
        return [*self.take(), *calls, *report, Finished(reason)]

    def _show(self, text: str) -> None:
        if len(text) > self._left:
            text = text[: self._left]
            self.reason, self.ended = "length", True
        self._left -= len(text)
        if text:
            self._wrote = self._wrote or not text.isspace()
            self._ready.append(TextDelta(text))

    def _whole_calls(self) -> list[ToolCallRequest]:
        whole: dict[str, ToolCallRequest] = {}
        for partial in self._calls.values():
            try:
                call = partial.whole()
            except ProviderOutputError:
                if self.reason != "length":
                    raise
                continue
            if whole.setdefault(call.id, call) != call:
                raise ProviderOutputError("two different tool calls have one id")
        return list(whole.values())
