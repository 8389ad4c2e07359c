"""Which messages can be stored."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.domain.message import MAX_TOOL_CALLS, ROLES, STATUSES, NewMessage, ToolCall
from recollect.errors import InvalidInputError, InvalidMessageError
from recollect.testing.samples import message

CALL = ToolCall(id="call", tool_name="weather", input={"city": "Lviv"}, output=[1])


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_message_says_something(role: str) -> None:
    assert message("m", "words", role=role).content == "words"
    for content in ("", " ", "\n\t", "\u3000"):
        with pytest.raises(InvalidMessageError, match="must not be empty"):
            message("m", content, role=role)


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_reply_that_was_cut_short_may_be_empty(status: str) -> None:
    assert message("m", "", role="assistant", status=status).status == status


def test_a_reply_that_only_calls_tools_may_be_empty() -> None:
    assert message("m", "", role="assistant", tool_calls=(CALL,)).tool_calls == (CALL,)


def test_the_output_of_a_tool_may_be_empty_and_names_its_call() -> None:
    assert message("m", "", role="tool", tool_call_id="call").tool_call_id == "call"
    with pytest.raises(InvalidMessageError, match="tool_call_id of a tool message"):
        message("m", "", role="tool")


def test_only_a_tool_answers_a_call_and_only_the_assistant_makes_one() -> None:
    with pytest.raises(InvalidMessageError, match="only a tool message"):
        message("m", tool_call_id="call")
    for role, more in (("user", {}), ("system", {}), ("tool", {"tool_call_id": "call"})):
        with pytest.raises(InvalidMessageError, match="only an assistant message"):
            message("m", role=role, tool_calls=(CALL,), **more)


@pytest.mark.parametrize("role", ["summary", "developer", "", None, 1])
def test_a_role_that_nobody_writes_is_refused(role: Any) -> None:
    with pytest.raises(InvalidMessageError, match="role must be one of"):
        message("m", role=role)


def test_there_are_four_written_roles_and_three_states() -> None:
    assert ROLES == ("user", "assistant", "system", "tool")
    assert STATUSES == ("complete", "interrupted", "failed")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("id", "x" * 129),
        ("content", "a\0b"),
        ("content", "\ud83d"),
        ("content", "x" * 1_000_001),
        ("created_at", "today"),
        ("name", "x" * 256),
        ("parent_id", ""),
        ("status", "done"),
        ("suggested_values", {1: 2}),
        ("suggested_actions", float("nan")),
        ("custom_payload", object()),
        ("metadata", [("k", 1)]),
        ("metadata", None),
        ("tool_calls", [CALL]),
        ("tool_calls", (None,)),
        ("tool_calls", (CALL,) * (MAX_TOOL_CALLS + 1)),
    ],
)
def test_a_part_that_no_store_can_keep_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError):
        message("m", **{"role": "assistant", field: value})


@pytest.mark.parametrize("part", ["suggested_values", "suggested_actions", "custom_payload"])
@pytest.mark.parametrize("value", [None, [], {}, 0, False, "", {"k": [1, {"deep": None}]}])
def test_rich_parts_are_any_json(part: str, value: Any) -> None:
    assert getattr(message("m", **{part: value}), part) == value


@pytest.mark.parametrize("field", ["input", "output"])
def test_a_tool_call_takes_json_only(field: str) -> None:
    with pytest.raises(InvalidMessageError):
        ToolCall(id="call", tool_name="weather", **{field: {1, 2}})


def test_an_error_never_repeats_what_the_user_said() -> None:
    with pytest.raises(InvalidMessageError) as error:
        NewMessage(id="m", role="user", content="my secret\0", created_at="secret time")  # type: ignore[arg-type]
    assert "secret" not in str(error.value)
