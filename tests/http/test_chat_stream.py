"""Chat turns as events: their order and shape, stopping them, and following them again (S2.9, S4.4)."""

from __future__ import annotations

import uuid
from typing import Any

import httpx2
import pytest

from recollect.ports.chat_model import ToolCallRequest
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.http.conftest import AsUser
from tests.support.chat_client import CHAT, STREAM, Event, events_of, heard, names, resumed, said, streaming, text_of
from tests.support.http_conversations import conversation, new_name, page, problem
from tests.support.scripted_model import prompt
from tests.support.server_process import Served

#: A reply that begins and never ends by itself.
STALLED = ScriptedReply(text=("Once upon", "..."), fault=Fault.STALL)


@pytest.fixture
def client(with_model: Served, model: ScriptedModelServer) -> httpx2.Client:
    model.script()
    return with_model.client


def stored(client: httpx2.Client, conversation_id: str) -> list[tuple[str, str, str]]:
    items = page(client, conversation_id)["items"]
    return [(one["role"], one["content"], one["status"]) for one in items]


def stop(client: httpx2.Client, message_id: str) -> dict[str, Any]:
    answer = client.post(f"{CHAT}/stop", json={"message_id": message_id})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


# Order and shape


@pytest.mark.spec("S4.4", "S2.9")
def test_a_turn_is_told_from_its_start_to_done(client: httpx2.Client, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Good ", "morning", ".")))
    name = new_name()
    events = heard(client, "hello", conversation_id=name)
    assert [one.name for one in events] == ["start", "delta", "delta", "delta", "saved", "done"]
    assert [one.id for one in events] == ["1", "2", "3", "4", "5", "6"]
    start, *deltas, saved, done = (one.data for one in events)
    assert set(start) == {"conversation_id", "session_id", "message_id", "memories_used"}
    assert (start["conversation_id"], start["session_id"], start["memories_used"]) == (name, name, [])
    assert deltas == [{"text": "Good "}, {"text": "morning"}, {"text": "."}]
    items = page(client, name)["items"]
    assert saved == {"durability": "durable", "messages": [{"id": one["id"], "seq": one["seq"]} for one in items]}
    assert items[-1]["id"] == start["message_id"]
    assert done == {"status": "complete", "usage": {"input_tokens": 7, "output_tokens": 3}}
    assert stored(client, name) == [("user", "hello", "complete"), ("assistant", "Good morning.", "complete")]


@pytest.mark.spec("S4.4")
def test_a_turn_as_json_and_as_events_is_the_same(client: httpx2.Client, model: ScriptedModelServer) -> None:
    reply = ScriptedReply(text=("The ", "same."))
    model.script(reply, reply)
    turn = said(client, "Which is it?", conversation_id=new_name(), context={"a": 1})
    events = heard(client, "Which is it?", conversation_id=new_name(), context={"a": 1})
    one, other = stored(client, turn["conversation_id"]), stored(client, events[0].data["conversation_id"])
    assert one == other
    assert text_of(events) == turn["message"]["content"]
    assert events[-1].data == {"status": turn["message"]["status"], "usage": turn["usage"]}


def test_calls_and_their_results_stand_where_they_were_made(client: httpx2.Client, model: ScriptedModelServer) -> None:
    called = ToolCallRequest(id="c1", tool_name="manage_long_term_memory", input={"operation": "read"})
    model.script(ScriptedReply(text=("Let me look.",), tool_calls=(called,)), ScriptedReply(text=("Nothing.",)))
    events = heard(client, "what do you know?", agent_id=f"agent-{uuid.uuid4().hex}")
    assert names(events) == ["start", "delta", "tool_call", "tool_result", "delta", "saved", "done"]
    by_name = {one.name: one.data for one in events}
    assert by_name["tool_call"] == {
        "id": "c1",
        "tool_name": "manage_long_term_memory",
        "input": {"operation": "read"},
    }
    assert set(by_name["tool_result"]) == {"id", "output"}
    assert [one["seq"] for one in by_name["saved"]["messages"]] == [1, 2, 3, 4]


@pytest.mark.spec("R12")
@pytest.mark.parametrize(("fault", "said_first"), [(Fault.OVERLOADED, ""), (Fault.DISCONNECT, "Hello")])
def test_a_model_that_fails_is_told_and_what_came_is_kept(
    client: httpx2.Client, model: ScriptedModelServer, fault: Fault, said_first: str
) -> None:
    model.script(ScriptedReply(fault=fault))
    events = heard(client, "hello")
    assert names(events) == ["start", *(["delta"] if said_first else []), "saved", "error", "done"]
    error, done = events[-2].data, events[-1].data
    assert set(error) == {"code", "detail"}
    assert error["code"].startswith("provider")
    assert done["status"] == "failed"
    assert stored(client, events[0].data["conversation_id"]) == [
        ("user", "hello", "complete"),
        ("assistant", said_first, "failed"),
    ]


def test_what_fails_before_the_reply_begins_is_a_problem_and_no_stream(client: httpx2.Client) -> None:
    name = conversation(client, "hello")
    for body, expected in (
        ({"message": ""}, (422, "invalid_input")),
        ({"message": "hi", "conversation_id": name, "parent_id": "none"}, (404, "message_not_found")),
        ({"conversation_id": name, "regenerate": "none"}, (404, "message_not_found")),
    ):
        assert problem(client.post(CHAT, json=body, headers=STREAM)) == expected
    key = {"Idempotency-Key": f"k-{uuid.uuid4().hex}", **STREAM}
    assert client.post(CHAT, json={"message": "one"}, headers=key).status_code == 200
    assert problem(client.post(CHAT, json={"message": "two"}, headers=key)) == (422, "idempotency_mismatch")


@pytest.mark.spec("R7")
def test_a_retry_hears_the_first_reply_and_one_under_way_is_refused(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    key = f"k-{uuid.uuid4().hex}"
    headers = {"Idempotency-Key": key, **STREAM}
    model.script(STALLED)
    with streaming(client, {"message": "a tale"}, headers) as events:
        start = next(events)
        assert problem(client.post(CHAT, json={"message": "a tale"}, headers=headers)) == (409, "request_in_flight")
        next(events)
        stop(client, start.data["message_id"])
        first = [start, *events]
    again = heard(client, "a tale", key=key)
    assert again[0].data == start.data
    assert text_of(again) == "Once upon"
    assert [one.data for one in again[-2:]] == [one.data for one in first[-2:]]


# Stopping


@pytest.mark.spec("S4.4")
def test_a_stopped_reply_is_kept_as_far_as_it_came(client: httpx2.Client, model: ScriptedModelServer) -> None:
    model.script(STALLED)
    with streaming(client, {"message": "a tale, please"}) as events:
        start, delta = next(events), next(events)
        assert delta.data == {"text": "Once upon"}
        assert stop(client, start.data["message_id"]) == {"message_id": start.data["message_id"], "was_running": True}
        saved, done = list(events)
    assert (saved.name, saved.data["durability"]) == ("saved", "durable")
    assert (done.name, done.data["status"]) == ("done", "interrupted")
    assert stored(client, start.data["conversation_id"]) == [
        ("user", "a tale, please", "complete"),
        ("assistant", "Once upon", "interrupted"),
    ]
    assert stop(client, start.data["message_id"])["was_running"] is False
    after = said(client, "go on", conversation_id=start.data["conversation_id"])
    assert (after["message"]["seq"], "Once upon" in prompt(model)) == (4, True)


def test_nothing_that_is_not_being_written_can_be_stopped_or_followed(client: httpx2.Client) -> None:
    assert problem(client.post(f"{CHAT}/stop", json={"message_id": "nothing"})) == (404, "message_not_found")
    assert problem(client.get(f"{CHAT}/nothing/stream")) == (404, "message_not_found")
    assert problem(client.post(f"{CHAT}/stop", json={"message_id": ""})) == (422, "invalid_input")


# Following again


@pytest.mark.spec("S4.4")
def test_from_every_event_on_exactly_the_rest_is_given_again(client: httpx2.Client, model: ScriptedModelServer) -> None:
    call = ToolCallRequest(id="c1", tool_name="search_memory", input={"query": "tea"})
    model.script(ScriptedReply(text=("One ", "two"), tool_calls=(call,)), ScriptedReply(text=("three", "four")))
    events = heard(client, "count")
    message_id = events[0].data["message_id"]
    assert len(events) == 9
    for number, event in enumerate(events, 1):
        assert resumed(client, message_id, event.id) == events[number:]
    for unknown in (None, "0", "abc", "10", "999999999", "-1", "1.5"):
        assert resumed(client, message_id, unknown) == events


@pytest.mark.spec("S4.4")
def test_a_lost_stream_is_taken_up_where_it_was_and_goes_on(client: httpx2.Client, model: ScriptedModelServer) -> None:
    model.script(STALLED)
    with streaming(client, {"message": "a tale"}) as events:
        start, delta = next(events), next(events)
    message_id = start.data["message_id"]
    with client.stream("GET", f"{CHAT}/{message_id}/stream", headers={"Last-Event-ID": start.id}) as answer:
        coming = events_of(answer.iter_lines())
        assert next(coming) == delta
        stop(client, message_id)
        rest = list(coming)
    assert [one.id for one in rest] == ["3", "4"]
    assert (rest[-1].name, rest[-1].data["status"]) == ("done", "interrupted")


def test_a_temporary_reply_can_be_stopped_and_followed_again(client: httpx2.Client, model: ScriptedModelServer) -> None:
    model.script(STALLED)
    with streaming(client, {"message": "a secret", "temporary": True}) as events:
        start, delta = next(events), next(events)
        stop(client, start.data["message_id"])
        rest = list(events)
    assert [one.data.get("durability") for one in rest] == ["volatile", None]
    assert resumed(client, start.data["message_id"], delta.id) == rest


def test_what_was_erased_is_not_told_again(client: httpx2.Client) -> None:
    events = heard(client, "forget this")
    start = events[0].data
    assert client.delete(f"/api/conversations/{start['conversation_id']}").status_code == 204
    answer = client.get(f"{CHAT}/{start['message_id']}/stream")
    assert answer.status_code == 404


def test_nobody_else_follows_or_stops_a_reply(as_user: AsUser) -> None:
    ada, bob = as_user("ada"), as_user("bob")
    other_tenant = as_user("ada", tenant="acme")
    events: list[Event] = heard(ada, "hello")
    message_id = events[0].data["message_id"]
    assert resumed(ada, message_id) == events
    for stranger in (bob, other_tenant):
        missing = problem(stranger.get(f"{CHAT}/nothing/stream"))
        assert problem(stranger.get(f"{CHAT}/{message_id}/stream")) == missing
        assert problem(stranger.post(f"{CHAT}/stop", json={"message_id": message_id})) == missing
