"""Chat turns through a real socket, answered by a model over real HTTP (S2.9, S4.4)."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql

from recollect.domain.turn import Usage
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.support.chat_client import CHAT, heard, said, unique
from tests.support.http_conversations import conversation, ids, new_name, page, problem
from tests.support.scripted_model import asked, prompt
from tests.support.server_process import Served

MESSAGE_FIELDS = {
    "id", "conversation_id", "seq", "parent_id", "role", "name", "content", "status", "created_at", "tool_calls",
    "tool_call_id", "suggested_values", "suggested_actions", "custom_payload", "metadata", "siblings",
    "sibling_heads",
}  # fmt: skip


@pytest.fixture
def client(with_model: Served, model: ScriptedModelServer) -> httpx2.Client:
    model.script()
    return with_model.client


def seed(number: int, text: str, sender: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "text": text, "sender": sender, "timestamp": f"2026-05-17T09:{number:02}:00Z", **more}


def contents(client: httpx2.Client, conversation_id: str) -> list[str]:
    return [one["content"] for one in page(client, conversation_id)["items"]]


# Both forms of a request


@pytest.mark.spec("S4.4")
def test_a_turn_without_a_conversation_begins_one_and_tells_its_id(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    model.script(ScriptedReply(text=("Her name ", "is Miso."), usage=Usage(input_tokens=11, output_tokens=4)))
    turn = said(client, "What is my cat called?")
    assert set(turn) == {
        "conversation_id", "session_id", "user_message_ids", "message", "memories_used", "usage", "durability",
    }  # fmt: skip
    assert turn["session_id"] == turn["conversation_id"]
    assert (turn["durability"], turn["usage"]) == ("durable", {"input_tokens": 11, "output_tokens": 4})
    message = turn["message"]
    assert set(message) == MESSAGE_FIELDS
    assert (message["role"], message["content"], message["status"]) == ("assistant", "Her name is Miso.", "complete")
    stored = page(client, turn["conversation_id"])["items"]
    assert ids(stored) == [*turn["user_message_ids"], message["id"]]
    assert [(one["seq"], one["role"], one["content"]) for one in stored] == [
        (1, "user", "What is my cat called?"),
        (2, "assistant", "Her name is Miso."),
    ]
    again = said(client, "And now?", conversation_id=turn["conversation_id"])
    assert again["conversation_id"] == turn["conversation_id"]
    assert again["message"]["seq"] == 4
    assert "What is my cat called?" in prompt(model)


@pytest.mark.spec("S2.9")
def test_what_the_client_has_not_archived_is_stored_with_the_turn(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    name = new_name()
    new = [seed(1, "My cat is Miso."), seed(2, "Nice.", "ai"), seed(3, "How old is she?")]
    turn = said(client, new_messages=new, session_id=name, agent_id="helper")
    assert (turn["session_id"], turn["user_message_ids"]) == (name, ["m1", "m3"])
    assert "My cat is Miso." in prompt(model)
    stored = page(client, name)["items"]
    assert ids(stored) == ["m1", "m2", "m3", turn["message"]["id"]]
    assert [one["role"] for one in stored] == ["user", "assistant", "user", "assistant"]
    assert stored[0]["created_at"] == "2026-05-17T09:01:00Z"
    assert client.get(f"/api/conversations/{name}").json()["agent"] == "helper"
    more = said(client, new_messages=[*new, seed(4, "And him?")], session_id=name)
    assert [text for text in contents(client, name) if text == "My cat is Miso."] == ["My cat is Miso."]
    assert more["message"]["seq"] == 6


@pytest.mark.spec("S2.9", "S4.4")
def test_both_forms_say_the_same(client: httpx2.Client) -> None:
    one = said(client, "How are you?", conversation_id=new_name())
    other = said(client, new_messages=[{"role": "user", "content": "How are you?"}], session_id=new_name())
    for turn in (one, other):
        (question, answered) = page(client, turn["session_id"])["items"]
        assert (question["content"], answered["content"]) == ("How are you?", "How are you?")
        assert [question["id"]] == turn["user_message_ids"]
        assert answered["parent_id"] == question["id"]


@pytest.mark.spec("S4.4")
def test_what_the_application_says_of_the_moment_is_told_to_the_model(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    place = unique("page")
    said(client, "What is this?", context={"open": place, "items": [1, 2]})
    assert place in prompt(model)


@pytest.mark.spec("S4.4")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": None, "new_messages": []},
        {"message": "a", "new_messages": [{"role": "user", "content": "a"}]},
        {"message": "a", "conversation_id": "x", "session_id": "y"},
        {"new_messages": [{"role": "assistant", "content": "a"}]},
        {"new_messages": [{"role": "nobody", "content": "a"}]},
        {"message": "a", "conversation_id": ""},
        {"message": "a", "conversation_id": "x" * 129},
        {"message": "a", "write_policy": "never"},
        {"message": "a", "mode": "other"},
        {"message": "a", "context": "text"},
        {"message": "a", "context": {"much": "x" * 20_001}},
        {"message": "a", "temporary": "perhaps"},
        {"message": "a", "regenerate": "m1", "conversation_id": "x"},
        {"regenerate": "m1"},
        {"message": 3},
    ],
)
def test_what_cannot_be_a_turn_is_refused(
    client: httpx2.Client, body: dict[str, Any], model: ScriptedModelServer
) -> None:
    assert problem(client.post(CHAT, json={"new_messages": [{"role": "user", "content": ""}]}))[0] == 422
    before = len(asked(model))
    assert problem(client.post(CHAT, json=body)) == (422, "invalid_input")
    assert len(asked(model)) == before


# Branches


@pytest.mark.spec("S4.4")
def test_an_edit_begins_a_branch_and_the_model_sees_only_that(
    client: httpx2.Client, model: ScriptedModelServer
) -> None:
    name = new_name()
    first, wrong, right = unique("first"), unique("wrong"), unique("right")
    begun = said(client, first, conversation_id=name)
    said(client, wrong, conversation_id=name)
    edited = said(client, right, conversation_id=name, parent_id=begun["message"]["id"])
    assert (first in prompt(model), wrong in prompt(model), right in prompt(model)) == (True, False, True)
    assert contents(client, name) == [first, first, right, right]
    assert edited["message"]["seq"] == 6
    after = unique("after")
    said(client, after, conversation_id=name)
    assert (wrong in prompt(model), right in prompt(model)) == (False, True)
    preview = client.get(f"/api/conversations/{name}/context").json()
    assert (wrong in json.dumps(preview), right in json.dumps(preview)) == (False, True)


@pytest.mark.spec("S4.4")
def test_an_edit_of_the_first_message_begins_at_the_root(client: httpx2.Client, model: ScriptedModelServer) -> None:
    name = new_name()
    wrong, right = unique("wrong"), unique("right")
    said(client, wrong, conversation_id=name)
    said(client, right, conversation_id=name, parent_id=None)
    assert (wrong in prompt(model), right in prompt(model)) == (False, True)
    stored = page(client, name)["items"]
    assert [(one["content"], one["parent_id"] is None) for one in stored] == [(right, True), (right, False)]
    assert len(stored[0]["siblings"]) == 2


@pytest.mark.spec("S4.4")
@pytest.mark.parametrize("which", ["reply", "question"])
def test_regenerating_gives_another_answer_to_the_same(
    client: httpx2.Client, model: ScriptedModelServer, which: str
) -> None:
    name = new_name()
    riddle = unique("riddle")
    model.script(*(ScriptedReply(text=(text,)) for text in ("before", f"one {riddle}", "two")))
    said(client, "hello", conversation_id=name)
    turn = said(client, "a riddle, please", conversation_id=name)
    chosen = turn["message"]["id"] if which == "reply" else turn["user_message_ids"][0]
    other = said(client, conversation_id=name, regenerate=chosen)
    assert other["user_message_ids"] == []
    shown = [message.text for message in asked(model)[-1].messages if "<recalled>" not in message.text]
    assert shown == ["hello", "before", "a riddle, please"]
    assert riddle not in prompt(model)
    assert contents(client, name) == ["hello", "before", "a riddle, please", "two"]
    assert other["message"]["parent_id"] == turn["user_message_ids"][0]
    assert page(client, name)["items"][-1]["siblings"] == [turn["message"]["id"], other["message"]["id"]]


def test_a_branch_far_back_shows_nothing_that_came_later(client: httpx2.Client, model: ScriptedModelServer) -> None:
    name = conversation(client, *(f"old {number} end" for number in range(1, 80)))
    said(client, "from here", conversation_id=name, parent_id="m3")
    told = prompt(model)
    assert all(f"old {number} end" in told for number in (1, 2, 3))
    assert not any(
        f"old {number} end" in "\n".join(one.text for one in asked(model)[-1].messages) for number in (4, 79)
    )
    assert contents(client, name) == ["old 1 end", "old 2 end", "old 3 end", "from here", "from here"]


@pytest.mark.parametrize("place", [{"parent_id": "nothing"}, {"regenerate": "nothing"}])
def test_a_place_that_is_not_there_is_not_found(client: httpx2.Client, place: dict[str, str]) -> None:
    name = conversation(client, "hello")
    body = {"conversation_id": name, **place, **({"message": "hi"} if "parent_id" in place else {})}
    assert problem(client.post(CHAT, json=body)) == (404, "message_not_found")
    assert problem(client.post(CHAT, json=body, headers={"Accept": "text/event-stream"})) == (404, "message_not_found")
    assert contents(client, name) == ["hello"]


# What is stored, and when


@pytest.mark.parametrize("policy", ["turn", "ahead"])
def test_a_policy_that_stores_says_durable(client: httpx2.Client, policy: str) -> None:
    turn = said(client, "hello", write_policy=policy)
    assert turn["durability"] == "durable"
    assert ids(page(client, turn["conversation_id"])["items"]) == [*turn["user_message_ids"], turn["message"]["id"]]


def test_what_the_client_keeps_is_stored_when_it_archives_it_and_only_once(client: httpx2.Client) -> None:
    name = new_name()
    turn = said(client, new_messages=[seed(1, "hello")], session_id=name, write_policy="client")
    assert (turn["durability"], turn["message"]["seq"]) == ("client", 0)
    assert client.get(f"/api/conversations/{name}").status_code == 404
    reply = {"id": turn["message"]["id"], "text": turn["message"]["content"], "sender": "ai"}
    batch = {"session_id": name, "messages_batch": [seed(1, "hello"), reply]}
    counts = [client.post("/api/chat/session/archive_messages", json=batch).json() for _ in range(2)]
    assert [(one["archived"], one["duplicates"]) for one in counts] == [(2, 0), (0, 2)]
    assert ids(page(client, name)["items"]) == ["m1", turn["message"]["id"]]


def test_a_reply_that_the_client_archives_later_is_no_second_message(client: httpx2.Client) -> None:
    name = new_name()
    events = heard(client, new_messages=[seed(1, "hello")], session_id=name)
    reply = {"id": events[0].data["message_id"], "text": "hello", "sender": "ai"}
    batch = {"session_id": name, "messages_batch": [seed(1, "hello"), reply]}
    told = client.post("/api/chat/session/archive_messages", json=batch).json()
    assert (told["archived"], told["duplicates"]) == (0, 2)
    assert len(contents(client, name)) == 2


@pytest.mark.spec("S4.4")
@pytest.mark.parametrize("as_stream", [False, True])
def test_a_temporary_turn_leaves_nothing_behind(
    client: httpx2.Client, model: ScriptedModelServer, served_database: str, as_stream: bool
) -> None:
    known, word = unique("known"), unique("whisper")
    kept = said(client, f"My locker is {known}.")
    before = rows(served_database)
    usage = client.get("/api/usage").json()
    fields: dict[str, Any] = {"temporary": True, "conversation_id": kept["conversation_id"], "context": {"at": word}}
    if as_stream:
        events = heard(client, f"Forget {word}, where is my locker?", key=unique("k"), **fields)
        assert [one.data["durability"] for one in events if one.name == "saved"] == ["volatile"]
    else:
        turn = said(client, f"Forget {word}, where is my locker?", key=unique("k"), **fields)
        assert (turn["durability"], turn["memories_used"], turn["message"]["seq"]) == ("volatile", [], 0)
    assert (known in prompt(model), word in prompt(model)) == (False, True)
    assert client.get("/api/usage").json() == usage
    assert rows(served_database) == before
    assert client.get("/api/conversations", params={"q": word}).json()["items"] == []
    assert len(contents(client, kept["conversation_id"])) == 2
    if served_database.startswith("sqlite"):
        folder = Path(served_database.removeprefix("sqlite:///")).parent
        held = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert any(known.encode() in data for data in held.values())
        assert not any(word.encode() in data for data in held.values())


def rows(database: str) -> Counter[str]:
    """Count the rows of every table."""
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(f"file:{database.removeprefix('sqlite:///')}?mode=ro", uri=True)) as opened:
            found = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
            tables = [name for (name,) in found.fetchall()]
            return Counter({name: opened.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables})
    with psycopg.connect(database) as connection:
        schema = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information)'"
        named = connection.execute(schema).fetchall()
        counted = {
            name: connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(space, name))).fetchone()
            for space, name in named
        }
    return Counter({name: row[0] for name, row in counted.items() if row is not None})


# Failures and retries


@pytest.mark.spec("R12", "S4.4")
@pytest.mark.parametrize(
    "fault", [Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.EMPTY, Fault.DISCONNECT, Fault.GARBAGE]
)
def test_a_model_that_fails_loses_nothing_of_what_was_said(
    client: httpx2.Client, model: ScriptedModelServer, fault: Fault
) -> None:
    model.script(ScriptedReply(fault=fault))
    turn = said(client, "are you there?")
    kept = "Hello" if fault is Fault.DISCONNECT else ""
    assert (turn["message"]["status"], turn["message"]["content"]) == ("failed", kept)
    assert turn["durability"] == "durable"
    stored = page(client, turn["conversation_id"])["items"]
    assert [(one["role"], one["content"], one["status"]) for one in stored] == [
        ("user", "are you there?", "complete"),
        ("assistant", kept, "failed"),
    ]


@pytest.mark.spec("R7")
def test_fifty_requests_with_one_key_have_one_effect(client: httpx2.Client, model: ScriptedModelServer) -> None:
    name, key = new_name(), unique("key")
    model.script(ScriptedReply(text=("one",), delay=0.5))
    body = {"message": "only once", "conversation_id": name}

    def ask(_: int) -> httpx2.Response:
        return client.post(CHAT, json=body, headers={"Idempotency-Key": key})

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(ask, range(50)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {200, 409}
    assert {problem(one) for one in answers if one.status_code == 409} <= {(409, "request_in_flight")}
    given = {one.text for one in answers if one.status_code == 200}
    assert len(given) == 1
    assert contents(client, name) == ["only once", "one"]
    assert ask(0).text == given.pop()
    assert heard(client, **body, key=key)[0].data["conversation_id"] == name
    other = client.post(CHAT, json={**body, "message": "something else"}, headers={"Idempotency-Key": key})
    assert problem(other) == (422, "idempotency_mismatch")
    elsewhere = client.post(CHAT, json={**body, "agent_id": "b"}, headers={"Idempotency-Key": key})
    assert problem(elsewhere) == (422, "idempotency_mismatch")
    assert contents(client, name) == ["only once", "one"]


@pytest.mark.spec("R7")
def test_a_retry_of_messages_without_ids_and_times_gets_the_first_answer(client: httpx2.Client) -> None:
    key, new = unique("key"), [{"text": "hi", "sender": "ai"}, {"text": "hello", "sender": "user"}]
    first = said(client, new_messages=new, key=key)
    assert said(client, new_messages=new, key=key) == first
    assert contents(client, first["conversation_id"]) == ["hi", "hello", "hello"]


def test_a_failed_reply_is_the_same_for_a_retry(client: httpx2.Client, model: ScriptedModelServer) -> None:
    key = unique("key")
    model.script(ScriptedReply(fault=Fault.OVERLOADED))
    first = heard(client, "hello", key=key)
    assert heard(client, "hello", key=key) == first
    assert [one.name for one in first] == ["start", "saved", "error", "done"]
