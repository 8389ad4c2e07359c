"""A request to a model checks itself, so that no provider has to."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import InvalidInputError
from recollect.ports.chat_model import ModelMessage, ModelRequest, ToolCallRequest, ToolSpec

USER = ModelMessage(role="user", text="Hi")
CALL = ToolCallRequest(id="1", tool_name="now")
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (ModelMessage, {"role": "system", "text": "Hi"}),
        (ModelMessage, {"role": "user", "text": ""}),
        (ModelMessage, {"role": "user", "text": "a\0b"}),
        (ModelMessage, {"role": "user", "text": "a\ud800b"}),
        (ModelMessage, {"role": "user", "text": "Hi", "tool_calls": (CALL,)}),
        (ModelMessage, {"role": "user", "text": "Hi", "tool_call_id": "1"}),
        (ModelMessage, {"role": "tool", "text": "out"}),
        (ToolCallRequest, {"id": "", "tool_name": "now"}),
        (ToolCallRequest, {"id": "1", "tool_name": ""}),
        (ToolCallRequest, {"id": "1", "tool_name": "now", "input": [1]}),
        (ToolCallRequest, {"id": "1", "tool_name": "now", "input": {"a": float("nan")}}),
        (ToolSpec, {"name": "", "description": ""}),
        (ToolSpec, {"name": "now", "description": "", "parameters": {"type": "array"}}),
        (ModelRequest, {"messages": ()}),
        (ModelRequest, {"messages": [USER]}),
        (ModelRequest, {"messages": (USER, ModelMessage(role="assistant", text="Yes?"))}),
        (ModelRequest, {"messages": (USER,), "tools": (ToolSpec(name="a", description=""),) * 2}),
        (ModelRequest, {"messages": (USER,), "json_schema": {"type": "string"}}),
        (ModelRequest, {"messages": (USER,), "json_schema": OBJECT, "tools": (ToolSpec(name="a", description=""),)}),
        (ModelRequest, {"messages": (USER,), "max_output_tokens": 0}),
        (ModelRequest, {"messages": (USER,), "temperature": 3}),
        (ModelRequest, {"messages": (USER,), "temperature": True}),
        (ModelRequest, {"messages": (USER,), "temperature": float("nan")}),
    ],
)
def test_what_no_provider_could_take_is_refused(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        kind(**given)


def test_what_a_conversation_may_hold_is_accepted() -> None:
    messages = (
        ModelMessage(role="assistant", text=""),
        USER,
        ModelMessage(role="assistant", tool_calls=(CALL,)),
        ModelMessage(role="tool", tool_call_id="1"),
    )
    request = ModelRequest(messages=messages, temperature=0, tools=(ToolSpec(name="now", description=""),))
    assert request.messages == messages
