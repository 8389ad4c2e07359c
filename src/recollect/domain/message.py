"""Messages as they are given to us and as they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import (
    check_id,
    check_items,
    check_json,
    check_object,
    check_one_of,
    check_optional_id,
    check_optional_text,
    check_text,
    check_time,
)
from recollect.errors import InvalidMessageError

Role = Literal["user", "assistant", "system", "tool", "summary"]
WrittenRole = Literal["user", "assistant", "system", "tool"]
MessageStatus = Literal["complete", "interrupted", "failed"]

ROLES: tuple[str, ...] = get_args(WrittenRole)
STATUSES: tuple[str, ...] = get_args(MessageStatus)
MAX_NAME = 255
MAX_TOOL_CALLS = 100


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool by the assistant, with its output once that is known."""

    id: str
    tool_name: str
    input: Any = None
    output: Any = None

    def __post_init__(self) -> None:
        check_id(self.id, "tool call id", InvalidMessageError)
        check_text(self.tool_name, "tool name", at_most=MAX_NAME, at_least=1, error=InvalidMessageError)
        check_json(self.input, "tool input", error=InvalidMessageError)
        check_json(self.output, "tool output", error=InvalidMessageError)


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message to store; its id makes storing it again do nothing."""

    id: str
    role: WrittenRole
    content: str
    created_at: datetime
    #: The speaker.
    name: str | None = None
    #: The message it answers: unset is the head of the conversation, None starts a new root.
    parent_id: str | None | UnsetType = UNSET
    status: MessageStatus = "complete"
    tool_calls: tuple[ToolCall, ...] = ()
    #: On a tool message: the call that it answers.
    tool_call_id: str | None = None
    suggested_values: Any = None
    suggested_actions: Any = None
    custom_payload: Any = None
    metadata: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        check_id(self.id, "message id", InvalidMessageError)
        check_one_of(self.role, ROLES, "role", InvalidMessageError)
        check_text(self.content, "content", at_least=self._least(), error=InvalidMessageError)
        check_time(self.created_at, "created_at", InvalidMessageError)
        if self.name is not None:
            check_optional_text(self.name, "name", at_most=MAX_NAME, error=InvalidMessageError)
        if self.parent_id is not UNSET:
            check_optional_id(self.parent_id, "parent id", InvalidMessageError)
        if self.status != "complete":
            check_one_of(self.status, STATUSES, "status", InvalidMessageError)
        self._check_tools()
        for what in ("suggested_values", "suggested_actions", "custom_payload"):
            value = getattr(self, what)
            if value is not None:
                check_json(value, what, error=InvalidMessageError)
        check_object(self.metadata, "metadata", error=InvalidMessageError)

    def _least(self) -> int:
        """Tell whether content may be empty: only a reply with tool calls, a tool's output or a cut reply."""
        if self.role == "tool" or self.tool_calls or self.status != "complete":
            return 0
        return 1

    def _check_tools(self) -> None:
        if self.tool_calls != ():
            check_items(self.tool_calls, ToolCall, "tool_calls", at_most=MAX_TOOL_CALLS)
            if self.role != "assistant":
                raise InvalidMessageError("only an assistant message has tool_calls")
        if self.role == "tool":
            check_id(self.tool_call_id, "tool_call_id of a tool message", InvalidMessageError)
        elif self.tool_call_id is not None:
            raise InvalidMessageError("only a tool message has a tool_call_id")


class Message(msgspec.Struct, frozen=True):
    """A stored message; `seq` alone defines its place in the conversation."""

    conversation_id: str
    seq: int
    id: str
    parent_id: str | None
    turn_id: str | None
    role: Role
    name: str | None
    content: str
    status: MessageStatus
    created_at: datetime
    #: On a tool message: the call that it answers.
    tool_call_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    suggested_values: Any = None
    suggested_actions: Any = None
    custom_payload: Any = None
    metadata: Mapping[str, Any] = {}
