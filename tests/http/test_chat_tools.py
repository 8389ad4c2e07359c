"""What a model is told of the user, and the tools that it uses in a turn, through a real socket (S2.6, S4.4)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx2
import pytest

from recollect.ports.chat_model import ToolCallRequest
from recollect.providers.responder import MAX_ROUNDS
from recollect.testing.models import ScriptedModelServer, ScriptedReply
from tests.support.chat_client import heard, said, unique
from tests.support.http_conversations import new_name, page
from tests.support.scripted_model import asked
from tests.support.server_process import Served


@pytest.fixture
def client(with_model: Served, model: ScriptedModelServer) -> httpx2.Client:
    model.script()
    return with_model.client


def call(tool_name: str, number: int = 1, **given: Any) -> ScriptedReply:
    request = ToolCallRequest(id=f"call-{number}", tool_name=tool_name, input=given)
    return ScriptedReply(text=(), tool_calls=(request,))


@pytest.mark.spec("S4.4")
def test_the_memories_that_the_model_was_told_come_with_the_answer_and_with_why(client: httpx2.Client) -> None:
    town = unique("Town")
    made = client.post("/api/memories", json={"content": f"The user lives in {town}.", "memory_type": "fact"}).json()
    turn = said(client, f"Is {town} a place for cats?")
    (used,) = [one for one in turn["memories_used"] if one["id"] == made["id"]]
    assert set(used) == {"id", "memory_type", "content", "why"}
    assert (used["memory_type"], used["content"]) == ("fact", f"The user lives in {town}.")
    assert used["why"]
    start = heard(client, f"Is {town} a place for dogs?")[0]
    assert [one["content"] for one in start.data["memories_used"] if one["id"] == made["id"]] == [used["content"]]


@pytest.mark.spec("S2.6")
def test_a_model_keeps_notes_by_its_tool_and_the_calls_are_stored_with_their_outputs(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    agent, line = unique("agent"), unique("tea")
    noted = call("manage_long_term_memory", operation="append", content=f"likes {line}")
    model.script(noted, ScriptedReply(text=("Noted.",)))
    turn = said(client, "I like tea.", agent_id=agent)
    assert turn["message"]["content"] == "Noted."
    assert client.get("/api/notes", params={"agent": agent}).json()["notes"] == f"likes {line}"
    _, called, result, answered = items = page(client, turn["conversation_id"])["items"]
    assert answered["content"] == "Noted."
    assert [one["role"] for one in items] == ["user", "assistant", "tool", "assistant"]
    (shown,) = called["tool_calls"]
    assert (shown["tool_name"], shown["input"]) == (
        "manage_long_term_memory",
        {"operation": "append", "content": f"likes {line}"},
    )
    assert shown["output"] == result["content"]
    assert result["tool_call_id"] == shown["id"]
    assert [tool.name for tool in asked(model)[-1].tools] == ["manage_long_term_memory", "search_memory"]
    assert turn["usage"] == {"input_tokens": 14, "output_tokens": 6}


def test_a_model_searches_what_was_said_in_other_conversations(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    word = unique("harbour")
    said(client, f"The key lies under the {word} stone.")
    model.script(call("search_memory", query=f"{word} stone"), ScriptedReply(text=("Under it.",)))
    events = heard(client, "Where is it?", conversation_id=new_name())
    (called,) = [one.data for one in events if one.name == "tool_call"]
    (returned,) = [one.data for one in events if one.name == "tool_result"]
    assert called == {"id": "call-1", "tool_name": "search_memory", "input": {"query": f"{word} stone"}}
    assert returned["id"] == "call-1"
    assert f"The key lies under the {word} stone." in returned["output"]
    assert returned["output"] in [message.text for message in asked(model)[-1].messages if message.role == "tool"]


def test_a_model_that_calls_for_ever_is_ended(client: httpx2.Client, model: ScriptedModelServer) -> None:
    before = len(asked(model))
    model.script(*(call("search_memory", number, query="more") for number in range(100)))
    turn = said(client, "go on")
    assert len(asked(model)) - before == MAX_ROUNDS
    assert turn["message"]["status"] == "failed"
    stored = page(client, turn["conversation_id"])["items"]
    assert Counter(one["role"] for one in stored) == {"user": 1, "assistant": MAX_ROUNDS + 1, "tool": MAX_ROUNDS}
    assert stored[0]["content"] == "go on"


def test_a_wrong_call_is_told_to_the_model_and_the_turn_goes_on(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    calls = [call("search_memory", 1), call("search_memory", 2, query="x", limit=0), call("launch", 3)]
    model.script(*calls, ScriptedReply(text=("Sorry.",)))
    turn = said(client, "do it")
    outputs = [one["content"] for one in page(client, turn["conversation_id"])["items"] if one["role"] == "tool"]
    assert [output.startswith("Error: ") for output in outputs] == [True, True, True]
    assert turn["message"]["content"] == "Sorry."
