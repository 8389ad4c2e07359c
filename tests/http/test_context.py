"""What a model is given and what leaves the server, through a real socket (S3.3, S4.5, B8)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2
import pytest

from tests.support.http_conversations import add, conversation, ids, new_name, page, problem


def context(client: httpx2.Client, conversation_id: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/conversations/{conversation_id}/context", params=query)
    assert answer.status_code == 200, answer.text
    read: dict[str, Any] = answer.json()
    return read


# The preview


@pytest.mark.spec("B8")
def test_the_preview_explains_all_that_a_model_is_given(client: httpx2.Client) -> None:
    name = conversation(client, "The harbour in Bergen is blue.", "I will go there in June.")
    told = context(client, name, query="What colour is the harbour?")
    assert set(told) == {"budget", "tokens", "over", "blocks", "left_out", "prompt", "tail", "messages"}
    assert told["tokens"] <= told["budget"]
    assert told["tokens"] == sum(block["tokens"] for block in told["blocks"])
    kinds = [block["kind"] for block in told["blocks"]]
    assert kinds[0] == "system"
    assert kinds[-2:] == ["window", "message"]
    for block in told["blocks"]:
        for item in block["items"]:
            assert set(item) == {"id", "text", "tokens", "why", "state"}
            assert item["why"]
            assert item["state"] == "same"
    assert ids(told["blocks"][kinds.index("window")]["items"]) == ["m1", "m2"]
    last = told["messages"][-1]
    assert set(last) == {"role", "text", "tool_calls", "tool_call_id"}
    assert (last["role"], "What colour is the harbour?" in last["text"]) == ("user", True)


@pytest.mark.spec("B8")
def test_a_small_budget_tells_what_is_left_out(client: httpx2.Client) -> None:
    name = conversation(client, *(f"Sentence {n} about the weather in the north. " * 5 for n in range(8)))
    told = context(client, name, query="rain?", budget=120)
    assert (told["budget"], told["tokens"] <= 120, told["over"]) == (120, True, 0)
    assert told["left_out"]
    for item in told["left_out"]:
        assert set(item) == {"kind", "id", "tokens", "why"}
    assert context(client, name, query="rain?", budget=0)["over"] > 0


def test_looking_changes_nothing(client: httpx2.Client) -> None:
    name = conversation(client, "one")
    before = client.get(f"/api/conversations/{name}").json()
    assert context(client, name, query="a") != context(client, name)
    assert client.get(f"/api/conversations/{name}").json() == before


@pytest.mark.parametrize("query", [{"budget": -1}, {"budget": "all"}, {"query": "x" * 10_001}, {"query": "nul \0"}])
def test_a_preview_that_cannot_be_given_is_refused(client: httpx2.Client, query: dict[str, Any]) -> None:
    name = conversation(client, "one")
    assert problem(client.get(f"/api/conversations/{name}/context", params=query)) == (422, "invalid_input")


# What was told


def known(client: httpx2.Client, content: str, **more: Any) -> str:
    answer = client.post("/api/memories", json={"content": content, "memory_type": "fact", **more})
    assert answer.status_code == 201, answer.text
    name: str = answer.json()["id"]
    return name


def turn(client: httpx2.Client, conversation_id: str, message: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/chat", json={"conversation_id": conversation_id, "message": message, **more})
    assert answer.status_code == 200, answer.text
    taken: dict[str, Any] = answer.json()
    return taken


def items(told: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for block in told["blocks"] if block["kind"] == kind for item in block["items"]]


@pytest.mark.spec("B8")
def test_what_a_model_was_told_for_a_reply_can_be_seen_later(client: httpx2.Client) -> None:
    word = uuid.uuid4().hex
    memory_id = known(client, f"The {word} boat is moored in Bergen")
    name = conversation(client, "Good morning.", f"The {word} boat is red.")
    question = f"Where is the {word} boat?"
    taken = turn(client, name, question, context={"page": word})
    address = client.patch(f"/api/memories/{memory_id}", json={"content": f"The {word} boat is moored in Oslo"})
    assert address.status_code == 200
    turn(client, name, "Thank you.")
    told = context(client, name, message_id=taken["message"]["id"])
    assert set(told) == {"budget", "tokens", "over", "blocks", "left_out", "prompt", "tail", "messages"}
    assert told["tokens"] == sum(block["tokens"] for block in told["blocks"])
    (memory,) = [item for item in items(told, "memories") if item["id"] == memory_id]
    assert (memory["text"], memory["state"]) == (f"- The {word} boat is moored in Bergen", "same")
    (used,) = [one for one in taken["memories_used"] if one["id"] == memory_id]
    assert memory["why"] == used["why"]
    assert ids(items(told, "window")) == ["m1", "m2"]
    assert [item["text"] for item in items(told, "message")] == [question]
    assert word in items(told, "given")[0]["text"]
    assert {item["state"] for block in told["blocks"] for item in block["items"]} == {"same"}
    assert "moored in Bergen" in told["tail"]
    assert told["messages"][-1]["text"] == question
    assert "Oslo" not in json.dumps(told)


@pytest.mark.spec("B8")
def test_what_was_erased_since_is_not_told_again(client: httpx2.Client) -> None:
    word = uuid.uuid4().hex
    memory_id = known(client, f"The {word} boat carries saffron")
    name = conversation(client, "Good morning.", "It smells of cinnamon here.")
    taken = turn(client, name, f"What does the {word} boat carry?")
    before = context(client, name, message_id=taken["message"]["id"])
    assert client.delete(f"/api/memories/{memory_id}").status_code in {200, 202, 204}
    assert client.delete(f"/api/conversations/{name}/messages/m2").status_code == 204
    after = context(client, name, message_id=taken["message"]["id"])
    (memory,) = [item for item in items(after, "memories") if item["id"] == memory_id]
    assert (memory["text"], memory["state"]) == ("", "erased")
    assert [(one["text"], one["state"]) for one in items(after, "window")][1] == ("", "erased")
    assert (after["tokens"], after["prompt"]) == (before["tokens"], before["prompt"])
    for gone in ("saffron", "cinnamon"):
        assert gone in json.dumps(before)
        assert gone not in json.dumps(after)


def test_a_message_that_nobody_was_asked_for_says_why_nothing_is_known(client: httpx2.Client) -> None:
    name = conversation(client, "one")
    address = f"/api/conversations/{name}/context"
    unasked = client.get(address, params={"message_id": "m1"})
    assert problem(unasked) == (404, "context_not_found")
    assert "imported, archived by a client or added without a reply" in unasked.json()["detail"]
    assert problem(client.get(address, params={"message_id": "nothing"})) == (404, "message_not_found")
    missing = client.get(f"/api/conversations/{new_name()}/context", params={"message_id": "m1"})
    assert problem(missing) == (404, "conversation_not_found")
    taken = turn(client, name, "And now?")
    erased = client.delete(f"/api/conversations/{name}/messages/{taken['user_message_ids'][0]}")
    assert erased.status_code == 204
    gone = client.get(address, params={"message_id": taken["message"]["id"]})
    assert problem(gone)[0] == 404
    for more in ({"query": "a"}, {"budget": 5}):
        assert problem(client.get(address, params={"message_id": "m1", **more})) == (422, "invalid_input")
    assert problem(client.get(address, params={"message_id": ""})) == (422, "invalid_input")


# The short form


@pytest.mark.spec("S3.3")
def test_a_session_is_told_in_its_documented_form(client: httpx2.Client) -> None:
    name = conversation(client, *(f"message {n}" for n in range(1, 5)))
    told = client.get(f"/api/sessions/{name}/context").json()
    assert set(told) == {"summaries", "recentMessages", "totalMessages"}
    assert (told["summaries"], told["totalMessages"]) == ([], 4)
    assert told["recentMessages"] == page(client, name)["items"]


def test_a_short_form_needs_a_conversation(client: httpx2.Client) -> None:
    for address in (f"/api/sessions/{new_name()}/context", f"/api/conversations/{new_name()}/context"):
        assert problem(client.get(address)) == (404, "conversation_not_found")
    empty = client.get(f"/api/sessions/{conversation(client)}/context").json()
    assert empty == {"summaries": [], "recentMessages": [], "totalMessages": 0}


# Export


def exported(client: httpx2.Client, conversation_id: str, form: str) -> httpx2.Response:
    answer = client.get(f"/api/conversations/{conversation_id}/export", params={"format": form})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    return answer


def branched(client: httpx2.Client, count: int = 3) -> str:
    """Return a conversation with a tool, odd text and two branches."""
    name = conversation(
        client, *(f"message {n} ```` <b> 🍵" for n in range(count)), title="Tea\n# and more", metadata={"k": 1}
    )
    calls = [{"id": "k", "tool_name": "weather", "input": {"city": "Oslo"}}]
    add(client, name, {"id": "call", "role": "assistant", "tool_calls": calls})
    add(client, name, {"id": "result", "role": "tool", "tool_call_id": "k", "content": "snow ``` snow"})
    add(client, name, {"id": "other", "role": "user", "content": "said otherwise", "parent_id": "m1"})
    return name


@pytest.mark.parametrize("count", [3, 250])
def test_an_export_holds_every_branch_as_lines_or_as_one_list(client: httpx2.Client, count: int) -> None:
    name = branched(client, count)
    lines = exported(client, name, "jsonl")
    first, *others = [json.loads(line) for line in lines.text.splitlines()]
    # Jobs in the background may write summaries meanwhile.
    messages = [record for record in others if record["kind"] != "summary"]
    assert lines.headers["content-type"] == "application/x-ndjson"
    for listed in (exported(client, name, "json"), client.get(f"/api/conversations/{name}/export")):
        assert listed.headers["content-type"] == "application/json"
        assert [record for record in listed.json()[1:] if record["kind"] != "summary"] == messages
    told = [first[field] for field in ("kind", "id", "head_id", "metadata")]
    assert told == ["conversation", name, "other", {"k": 1}]
    assert {record["kind"] for record in messages} == {"message"}
    expected = [*(f"m{n}" for n in range(1, count + 1)), "call", "result", "other"]
    assert [record["id"] for record in messages] == expected
    assert [record["seq"] for record in messages] == list(range(1, len(expected) + 1))
    assert messages[0]["content"] == "message 0 ```` <b> 🍵"
    assert messages[-1]["parent_id"] == "m1"
    assert messages[-3]["tool_calls"][0]["output"] is None


def test_a_page_to_read_has_everything_in_order(client: httpx2.Client) -> None:
    name = branched(client)
    answer = exported(client, name, "md")
    text = answer.text
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.startswith("# Tea # and more\n")
    headings = [line.split(" · ")[:2] for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        ["## 1", "User"],
        ["## 2", "User"],
        ["## 3", "User"],
        ["## 4", "Assistant"],
        ["## 5", "Tool"],
        ["## 6", "User"],
    ]
    assert "*After `m1`, on another branch.*" in text
    assert text.count("on another branch") == 1
    assert "````\nsnow ``` snow\n````" in text
    assert "Called `weather`:\n\n```json\n{" in text


def test_an_export_goes_back_in_under_another_user(client: httpx2.Client) -> None:
    name = branched(client)
    lines = exported(client, name, "jsonl").content
    before = page(client, name)
    again = client.post("/api/import", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert again.status_code == 200, again.text
    assert (again.json()["messages"], again.json()["conversations"]) == (0, 0)
    assert page(client, name) == before
    renamed = new_name()
    taken = client.post(
        "/api/import",
        content=lines.replace(name.encode(), renamed.encode()),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert (taken.json()["conversations"], taken.json()["messages"]) == (1, 6)
    assert ids(page(client, renamed)["items"]) == ids(before["items"])


def test_an_export_needs_a_conversation_and_a_form(client: httpx2.Client) -> None:
    missing = client.get(f"/api/conversations/{new_name()}/export")
    assert problem(missing) == (404, "conversation_not_found")
    name = conversation(client)
    assert problem(client.get(f"/api/conversations/{name}/export?format=pdf")) == (422, "invalid_input")
    assert [record["kind"] for record in exported(client, name, "json").json()] == ["conversation"]
