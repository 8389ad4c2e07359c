"""A reply while it is written: the messages that it becomes, however far it came."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.checks import MAX_CONTENT
from recollect.domain.message import NewMessage
from recollect.errors import ProviderOutputError
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.ports.responder import ReplyEvent, ToolReturned
from recollect.service.drafting import Draft, Signing

AT = datetime(2026, 5, 17, tzinfo=UTC)


def call(number: int) -> ToolCallRequest:
    return ToolCallRequest(id=f"c{number}", tool_name="search_memory", input={"query": str(number)})


def drafted(*events: ReplyEvent, **signed: Any) -> tuple[NewMessage, ...]:
    draft = Draft()
    for event in events:
        draft.hear(event)
    signing = {"message_id": "reply", "at": AT, "status": "complete", "other_id": lambda number: f"other {number}"}
    return draft.messages(Signing(**{**signing, **signed}))


def shape(messages: tuple[NewMessage, ...]) -> list[tuple[str, str, str, list[str]]]:
    return [(one.id, one.role, one.content, [call.id for call in one.tool_calls]) for one in messages]


def test_text_alone_is_one_message() -> None:
    assert shape(drafted(TextDelta("a"), TextDelta("b"))) == [("reply", "assistant", "ab", [])]


def test_each_round_is_a_message_with_its_calls_and_their_results() -> None:
    events = (TextDelta("look"), call(1), call(2), ToolReturned("c1", "r1"), ToolReturned("c2", "r2"), TextDelta("end"))
    assert shape(drafted(*events)) == [
        ("other 0", "assistant", "look", ["c1", "c2"]),
        ("other 1", "tool", "r1", []),
        ("other 2", "tool", "r2", []),
        ("reply", "assistant", "end", []),
    ]


def test_a_call_that_somebody_else_runs_ends_the_reply() -> None:
    draft = Draft()
    draft.hear(call(1))
    draft.check()
    assert shape(drafted(call(1))) == [("reply", "assistant", "", ["c1"])]
    assert shape(drafted(call(1), call(2), ToolReturned("c2", "r2"))) == [
        ("reply", "assistant", "", ["c1", "c2"]),
        ("other 0", "tool", "r2", []),
    ]


def test_what_was_said_before_the_last_calls_ends_a_reply_that_says_nothing_after_them() -> None:
    assert shape(drafted(TextDelta("so"), call(1), ToolReturned("c1", "r1"))) == [
        ("other 0", "assistant", "", ["c1"]),
        ("other 1", "tool", "r1", []),
        ("reply", "assistant", "so", []),
    ]


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_cut_reply_keeps_no_call_without_its_result(status: str) -> None:
    events = (TextDelta("a"), call(1), ToolReturned("c1", "r1"), TextDelta("b"), call(2))
    assert shape(drafted(*events, status=status)) == [
        ("other 0", "assistant", "a", ["c1"]),
        ("other 1", "tool", "r1", []),
        ("reply", "assistant", "b", []),
    ]
    assert shape(drafted(status=status)) == [("reply", "assistant", "", [])]


@pytest.mark.parametrize("events", [(), (TextDelta(" \n"),), (call(1), ToolReturned("c1", "r1"))])
def test_a_reply_that_says_nothing_is_refused(events: tuple[ReplyEvent, ...]) -> None:
    draft = Draft()
    for event in events:
        draft.hear(event)
    with pytest.raises(ProviderOutputError):
        draft.check()


@pytest.mark.parametrize(
    "events",
    [
        (TextDelta("x" * MAX_CONTENT), TextDelta("x")),
        (TextDelta("a\0b"),),
        (call(1), ToolReturned("c1", "x" * (MAX_CONTENT + 1))),
        (call(1), ToolReturned("c1", "a\0b")),
    ],
)
def test_what_no_store_can_keep_is_refused_when_it_is_heard(events: tuple[ReplyEvent, ...]) -> None:
    draft = Draft()
    *before, last = events
    for event in before:
        draft.hear(event)
    with pytest.raises(ProviderOutputError):
        draft.hear(last)
    draft.messages(Signing(message_id="r", at=AT, status="failed", other_id=str))


def test_the_first_message_of_a_reply_stands_on_its_branch() -> None:
    made = drafted(call(1), ToolReturned("c1", "r1"), TextDelta("end"), parent_id="question")
    assert [one.parent_id == "question" for one in made] == [True, False, False]


Heard = list[tuple[str, int]]


@given(
    rounds=st.lists(st.tuples(st.text("ab", max_size=3), st.integers(0, 3)), max_size=6),
    cut=st.integers(0, 40),
    status=st.sampled_from(["interrupted", "failed"]),
)
def test_wherever_it_is_cut_nothing_that_was_said_is_lost_and_calls_have_their_results(
    rounds: Heard, cut: int, status: str
) -> None:
    events: list[ReplyEvent] = []
    for number, (text, calls) in enumerate(rounds):
        events += [TextDelta(text)] if text else []
        made = [call(10 * number + one) for one in range(calls)]
        events += made + [ToolReturned(one.id, f"result of {one.id}") for one in made]
    messages = drafted(*events[:cut], status=status)
    said = "".join(event.text for event in events[:cut] if isinstance(event, TextDelta))
    assert sorted("".join(one.content for one in messages if one.role == "assistant")) == sorted(said)
    assert messages[-1].id == "reply"
    assert len({one.id for one in messages}) == len(messages)
    called = [call.id for one in messages for call in one.tool_calls]
    assert called == [one.tool_call_id for one in messages if one.role == "tool"]
