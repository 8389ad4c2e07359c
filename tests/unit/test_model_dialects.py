"""Replies of servers that bend a protocol are understood, and what cannot be is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.turn import Usage
from recollect.errors import ProviderError, ProviderOutputError
from recollect.ports.chat_model import Finished, ModelEvent, ModelMessage, ModelRequest, ToolCallRequest, UsageReport
from recollect.providers.anthropic import AnthropicDialect
from recollect.providers.assembly import Assembly
from recollect.providers.dialect import Dialect
from recollect.providers.gemini import GeminiDialect
from recollect.providers.openai import OpenAIDialect
from recollect.providers.sse import ServerEvent
from recollect.providers.transport import AttemptFailedError
from recollect.testing.models.conformance import text_of

DIALECTS: list[Dialect] = [OpenAIDialect("small"), AnthropicDialect("small"), GeminiDialect("small")]
REQUEST = ModelRequest(messages=(ModelMessage(role="user", text="Hi"),))


def read(dialect: Dialect, *chunks: Any) -> list[ModelEvent]:
    assembly = Assembly()
    reader = dialect.reader(REQUEST, assembly)
    for chunk in chunks:
        reader.read(ServerEvent("", chunk if isinstance(chunk, str) else json.dumps(chunk)))
    return assembly.close()


def openai(*deltas: Any, reason: str = "stop") -> list[ModelEvent]:
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    return read(OpenAIDialect("small"), *chunks, {"choices": [{"finish_reason": reason}]}, "[DONE]")


def part(arguments: Any, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{"function": function} | more]}


def inputs(events: list[ModelEvent]) -> list[tuple[str, Any]]:
    return [(event.tool_name, event.input) for event in events if isinstance(event, ToolCallRequest)]


@pytest.mark.parametrize(
    "deltas",
    [
        # As OpenAI does it
        [
            part("", "a", index=0, id="1"),
            part('{"x"', index=0),
            part(": 1}", index=0),
            part("{}", "b", index=1, id="2"),
        ],
        # The id and the name in every part
        [part('{"x"', "a", index=0, id="1"), part(": 1}", "a", index=0, id="1"), part("{}", "b", index=1, id="2")],
        # All calls under one index
        [part('{"x": 1}', "a", index=0, id="1"), part("{}", "b", index=0, id="2")],
        # No index
        [part('{"x"', "a", id="1"), part(": 1}"), part("{}", "b", id="2")],
        # Neither index nor id
        [part('{"x": 1}', "a"), part("", "b")],
        # The input as an object
        [part({"x": 1}, "a", index=0), part({}, "b", index=1)],
        # The id after the name
        [part("", "a", index=0), part('{"x": 1}', index=0, id="1"), part("{}", "b", index=1, id="2")],
    ],
    ids=range(7),
)
def test_tool_calls_in_any_shape_are_put_together(deltas: list[Any]) -> None:
    events = openai(*deltas)
    assert inputs(events) == [("a", {"x": 1}), ("b", {})]
    assert events[-1] == Finished("tool_calls")


def test_a_tool_call_that_the_limit_cut_is_left_out() -> None:
    events = openai(part('{"x": 1}', "a", index=0), part('{"x"', "b", index=1), reason="length")
    assert inputs(events) == [("a", {"x": 1})]
    assert events[-1] == Finished("length")


@pytest.mark.parametrize(
    "deltas",
    [
        [part('{"x"', "a", index=0)],
        [part("{}", index=0)],
        [part("{}", " ", index=0)],
        [part("{}", "a" * 300, index=0)],
        [part("[]", "a", index=0)],
        [part("{}", "a", index=0, id="1"), part('{"x": 2}', "a", index=1, id="1")],
        [part("{}", "a", index=number) for number in range(101)],
    ],
    ids=["cut", "no name", "blank name", "long name", "no object", "one id for two", "too many"],
)
def test_a_tool_call_that_cannot_be_used_is_refused(deltas: list[Any]) -> None:
    with pytest.raises(ProviderOutputError):
        openai({"content": "I will look."}, *deltas)


def test_an_id_that_no_store_can_keep_is_replaced() -> None:
    events = openai(part("{}", "a", index=0, id="x" * 200), part("{}", "b", index=1, id="a\nb"))
    ids = [event.id for event in events if isinstance(event, ToolCallRequest)]
    assert all(one.startswith("call_") for one in ids)


def test_content_in_parts_is_joined_and_thoughts_are_left_out() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert (
        text_of(openai({"reasoning_content": "hm"}, {"content": parts}, {"content": None}, {"content": "c"})) == "abc"
    )


def test_the_last_of_many_counts_is_the_usage() -> None:
    chunks = [
        {"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 5, "completion_tokens": number}}
        for number in (1, 2, 3)
    ]
    assert UsageReport(Usage(input_tokens=5, output_tokens=3)) in read(OpenAIDialect("small"), *chunks, "[DONE]")


@pytest.mark.parametrize("count", [-1, "7", None, True, 2**70, 1.5])
def test_a_count_that_makes_no_sense_is_none(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 2}
    events = read(OpenAIDialect("small"), {"choices": [{"delta": {"content": "a"}}], "usage": usage}, "[DONE]")
    assert UsageReport(Usage(input_tokens=0, output_tokens=2)) in events


def test_anthropic_counts_what_was_read_from_its_cache() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
    events = read(
        AnthropicDialect("small"),
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    )
    assert (text_of(events), events[-2]) == ("a", UsageReport(Usage(input_tokens=125, output_tokens=9)))


def test_gemini_leaves_thoughts_out_and_counts_them() -> None:
    parts = [{"text": "hm", "thought": True}, {"text": "a"}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 40}
    chunk = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage}
    events = read(GeminiDialect("small"), chunk)
    assert (text_of(events), events[-2]) == ("a", UsageReport(Usage(input_tokens=5, output_tokens=42)))


def test_a_reply_that_is_too_long_is_cut_and_says_so() -> None:
    assembly = Assembly(max_characters=10)
    for _ in range(4):
        assembly.text("four")
    assert assembly.ended
    events = assembly.close()
    assert (text_of(events), events[-1]) == ("fourfourfo", Finished("length"))


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_a_reply_without_a_word_is_no_reply(text: str) -> None:
    with pytest.raises(ProviderOutputError, match="empty"):
        openai({"content": text})


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        [
            "choices", "delta", "message", "content", "tool_calls", "function", "arguments", "name", "id", "index",
            "finish_reason", "usage", "error", "code", "type", "candidates", "parts", "text", "functionCall", "args",
            "finishReason", "usageMetadata", "content_block", "input", "partial_json", "stop_reason", "status",
        ]
    ), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip
kinds = st.sampled_from(["content_block_start", "content_block_delta", "message_delta", "error", "message_start", ""])


@pytest.mark.parametrize("dialect", DIALECTS, ids=["openai", "anthropic", "gemini"])
@given(chunks=st.lists(json_values, max_size=4), kind=kinds, whole=st.booleans())
def test_any_json_is_a_reply_or_refused(dialect: Dialect, chunks: list[Any], kind: str, whole: bool) -> None:
    assembly = Assembly()
    reader = dialect.reader(REQUEST, assembly)
    try:
        for chunk in chunks:
            if whole:
                reader.read_whole(chunk)
            else:
                reader.read(ServerEvent(kind, json.dumps(chunk)))
        events = assembly.close()
    except (ProviderError, AttemptFailedError):
        return
    assert isinstance(events[-1], Finished)
    text_of(events).encode()
