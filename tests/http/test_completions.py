"""OpenAI's protocol, word for word."""

from __future__ import annotations

import json
import uuid

import pytest

from recollect.ports.chat_model import ToolCallRequest
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.http.conftest import AsUser
from tests.support.completions import (
    Json,
    ask,
    bot,
    data_of,
    error_of,
    new_words,
    place_of,
    post,
    stored,
    text_of,
    user,
)
from tests.support.server_process import Served

SEARCH = ToolCallRequest(id="ours", tool_name="search_memory", input={"query": "door"})
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def test_an_answer_has_openais_shape(with_model: Served, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Wel", "come")))
    told = ask(with_model.client, user("I moved to Oslo."), model="some-name")
    assert (told["object"], told["model"]) == ("chat.completion", "some-name")
    assert told["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Welcome", "refusal": None, "tool_calls": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert told["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert told["id"] == f"chatcmpl-{told['recollect']['message_id']}"
    assert stored(with_model.client, place_of(told)) == [("user", "I moved to Oslo."), ("assistant", "Welcome")]


def test_a_stream_has_openais_chunks(with_model: Served, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Wel", "come")))
    answer = post(with_model.client, user(new_words()), stream=True, stream_options={"include_usage": True})
    first, *others = chunks = data_of(answer)
    assert {one["object"] for one in chunks} == {"chat.completion.chunk"}
    assert len({(one["id"], one["created"], one["model"]) for one in chunks}) == 1
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert first["recollect"]["conversation_id"] == answer.headers["Recollect-Conversation"]
    told = [(one["choices"][0]["delta"], one["choices"][0]["finish_reason"]) for one in others[:-1]]
    assert told == [({"content": "Wel"}, None), ({"content": "come"}, None), ({}, "stop")]
    assert (others[-1]["choices"], others[-1]["usage"]["total_tokens"]) == ([], 10)
    assert all(one["usage"] is None for one in chunks[:-1])
    plain = data_of(post(with_model.client, user(new_words()), stream=True))
    assert all("usage" not in one for one in plain)


def test_tools_that_run_here_are_not_told(with_model: Served, model: ScriptedModelServer) -> None:
    words = new_words()
    script = (ScriptedReply(text=("Let me see. ",), tool_calls=(SEARCH,)), ScriptedReply(text=("It is blue.",)))
    model.script(*script)
    told = ask(with_model.client, user(words))
    assert (text_of(told), told["choices"][0]["finish_reason"]) == ("Let me see. It is blue.", "stop")
    assert told["choices"][0]["message"]["tool_calls"] is None
    went_on = ask(with_model.client, user(words), bot("Let me see. It is blue."), user("Sure?"))
    assert place_of(went_on) == place_of(told)
    model.script(*script)
    chunks = data_of(post(with_model.client, user(new_words()), stream=True))
    assert not any("tool_calls" in one["choices"][0]["delta"] for one in chunks)


def test_a_round_with_tools_of_both_sides_goes_on(with_model: Served, model: ScriptedModelServer) -> None:
    words = new_words()
    theirs = ToolCallRequest(id=f"c-{uuid.uuid4().hex}", tool_name="weather", input={"city": "Oslo"})
    model.script(ScriptedReply(text=(), tool_calls=(SEARCH, theirs)))
    told = ask(with_model.client, user(words), tools=[WEATHER])
    choice = told["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    (call,) = choice["message"]["tool_calls"]
    assert (call["id"], json.loads(call["function"]["arguments"])) == (theirs.id, {"city": "Oslo"})
    result = {"role": "tool", "tool_call_id": theirs.id, "content": "rain"}
    model.script(ScriptedReply(text=("It rains.",)))
    end = ask(with_model.client, user(words), choice["message"], result, tools=[WEATHER])
    assert (place_of(end), text_of(end)) == (place_of(told), "It rains.")
    asked = model.seen[-1].request
    assert asked is not None
    assert [(one.role, one.text) for one in asked.messages if one.tool_call_id == theirs.id] == [("tool", "rain")]
    last = ask(with_model.client, user(words), choice["message"], result, bot("It rains."), user("Oh"))
    assert place_of(last) == place_of(told)


def test_a_reply_that_a_limit_cut_says_so(with_model: Served, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Once upon",), reason="length"))
    told = ask(with_model.client, user(new_words()), max_tokens=2, temperature=0.5)
    assert told["choices"][0]["finish_reason"] == "length"
    asked = model.seen[-1].request
    assert asked is not None
    assert (asked.max_output_tokens, asked.temperature) == (2, 0.5)


def test_json_of_a_schema_is_asked_for(with_model: Served, model: ScriptedModelServer) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": True}}
    for wanted, expected in ((form, schema), ({"type": "json_object"}, {"type": "object"})):
        model.script(ScriptedReply(text=('{"age": 3}',)))
        assert text_of(ask(with_model.client, user(new_words()), response_format=wanted)) == '{"age": 3}'
        asked = model.seen[-1].request
        assert asked is not None
        assert (asked.json_schema, asked.tools) == (expected, ())
    refused = post(with_model.client, user("a"), response_format=form, tools=[WEATHER])
    assert error_of(refused) == (422, "invalid_request_error", "invalid_input")


def test_tools_that_are_switched_off_are_not_offered(with_model: Served, model: ScriptedModelServer) -> None:
    for choice, offered in (("none", False), ("auto", True)):
        ask(with_model.client, user(new_words()), tools=[WEATHER], tool_choice=choice)
        asked = model.seen[-1].request
        assert asked is not None
        assert ("weather" in {tool.name for tool in asked.tools}) is offered


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"stop": ["x"]},
        {"logprobs": True},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"type": "string"}}}]},
        {"tools": [WEATHER, WEATHER]},
        {"functions": [{"name": "x"}]},
        {"modalities": ["text", "audio"]},
        {"temperature": 3},
        {"max_tokens": 0},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array"}}}},
        {"messages": []},
        {"messages": [bot("Hi")]},
        {"messages": [{"role": "system", "content": "Hi"}]},
        {"messages": [user("")]},
        {"messages": [user("a\0b")]},
        {"messages": [{"role": "function", "name": "x", "content": "y"}]},
        {"messages": [{"role": "tool", "content": "y"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
    ],
)
def test_what_is_not_understood_is_refused_in_openais_shape(with_model: Served, more: Json) -> None:
    before = len(with_model.client.get("/api/conversations", params={"limit": 200}).json()["items"])
    answer = with_model.client.post("/v1/chat/completions", json={"messages": [user("a")], **more})
    assert error_of(answer)[:2] == (422, "invalid_request_error")
    assert len(with_model.client.get("/api/conversations", params={"limit": 200}).json()["items"]) == before


def test_what_is_no_json_or_no_route_is_refused_in_openais_shape(with_model: Served) -> None:
    broken = with_model.client.post("/v1/chat/completions", content=b"{", headers={"Content-Type": "application/json"})
    assert error_of(broken) == (422, "invalid_request_error", "invalid_input")
    nowhere = with_model.client.post("/v1/embeddings", json={"input": "x"})
    assert error_of(nowhere) == (404, "not_found_error", "not_found")


def test_the_same_key_gets_the_same_answer(with_model: Served, model: ScriptedModelServer) -> None:
    words, key = new_words(), {"Idempotency-Key": uuid.uuid4().hex}
    model.script(ScriptedReply(text=("One",)), ScriptedReply(text=("Two",)))
    first, second = (ask(with_model.client, user(words), headers=key) for _ in range(2))
    assert first == second
    assert [text for _, text in stored(with_model.client, place_of(first))] == [words, "One"]
    other = post(with_model.client, user(new_words()), headers=key)
    assert error_of(other) == (422, "invalid_request_error", "idempotency_mismatch")


def test_a_stream_that_fails_before_its_first_word_has_a_status(with_model: Served, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(fault=Fault.OVERLOADED))
    answer = post(with_model.client, user(new_words()), stream=True)
    assert error_of(answer) == (503, "server_error", "provider_unavailable")
    assert stored(with_model.client, answer.headers["Recollect-Conversation"])[0][0] == "user"


def test_a_stream_that_breaks_ends_with_an_error(with_model: Served, model: ScriptedModelServer) -> None:
    words = new_words()
    model.script(ScriptedReply(text=("Half a", " reply"), fault=Fault.DISCONNECT))
    answer = post(with_model.client, user(words), stream=True)
    *chunks, last = data_of(answer)
    assert [one["choices"][0]["delta"].get("content") for one in chunks] == ["", "Half a"]
    assert last["error"]["code"] == "provider_unavailable"
    place = answer.headers["Recollect-Conversation"]
    assert place_of(ask(with_model.client, user(words), bot("Half a"), user("Go on"))) == place


@pytest.mark.parametrize("bearer", ["anything", "sk-0123456789", "x"])
def test_the_local_user_may_send_any_word_as_a_key(with_model: Served, bearer: str) -> None:
    headers = {"Authorization": f"Bearer {bearer}"}
    assert with_model.client.get("/v1/models", headers=headers).json()["data"][0]["id"] == "small"
    assert with_model.client.get("/api/conversations", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "header",
    [f"Bearer rk_a1_{'x' * 43}", "Bearer rk_", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln", "Basic eDp5", ""],
)
def test_a_credential_that_proves_nothing_is_refused_also_from_the_local_user(with_model: Served, header: str) -> None:
    answer = with_model.client.get("/v1/models", headers={"Authorization": header})
    assert error_of(answer) == (401, "authentication_error", "unauthenticated")


def test_where_keys_are_asked_for_a_word_is_none(as_user: AsUser) -> None:
    ada = as_user("ada")
    for headers in ({"Authorization": "Bearer anything"}, {"Authorization": ""}):
        answer = ada.post("/v1/chat/completions", json={"messages": [user("a")]}, headers=headers)
        assert error_of(answer) == (401, "authentication_error", "unauthenticated")
    reader = as_user("ada", rights=frozenset(("read",)))
    assert error_of(post(reader, user("a"))) == (403, "permission_error", "permission_denied")
    assert reader.get("/v1/models").json()["data"][0]["id"] == "recollect-offline"


def test_the_model_is_listed_by_its_name(with_model: Served) -> None:
    listed = with_model.client.get("/v1/models").json()
    assert listed == {
        "object": "list",
        "data": [{"id": "small", "object": "model", "created": 0, "owned_by": "recollect"}],
    }
    assert with_model.client.get("/v1/models/small").json() == listed["data"][0]
    assert error_of(with_model.client.get("/v1/models/org/other")) == (404, "not_found_error", "not_found")
