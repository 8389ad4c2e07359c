"""Messages through a real socket: adding, paging, tool calls, branches, summaries and erasing (S4.2, S0.1, B9)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.http_conversations import add, conversation, ids, new_name, page, problem
from tests.support.server_process import served

FIELDS = {
    *("id", "conversation_id", "seq", "parent_id", "role", "name", "content", "status", "created_at", "tool_calls"),
    *("tool_call_id", "suggested_values", "suggested_actions", "custom_payload", "metadata", "siblings"),
    "sibling_heads",
}


@pytest.fixture(scope="module")
def summarising(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that summarises before it answers."""
    environ = {"RECOLLECT_HISTORY_WHEN": "inline", "RECOLLECT_JOBS_INSIDE": "false"}
    with served(served_database, tmp_path_factory.mktemp("summarising"), environ) as opened:
        yield opened.client


def said(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "role": "user", "content": f"Message number {number} is about tea.", **more}


def called(number: int, *calls: str, **more: Any) -> dict[str, Any]:
    asked = [{"id": call, "tool_name": "weather", "input": {"city": call}} for call in calls]
    return {"id": f"m{number}", "role": "assistant", "tool_calls": asked, **more}


def result(number: int, call: str, content: str) -> dict[str, Any]:
    return {"id": f"m{number}", "role": "tool", "tool_call_id": call, "content": content}


def outputs(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {call["id"]: call["output"] for item in items for call in item["tool_calls"]}


# Memories told


def test_replies_come_with_the_memories_that_the_model_was_told(client: httpx2.Client) -> None:
    word = uuid.uuid4().hex
    name = conversation(client, "Good morning.")
    contents = [f"The {word} boat is {colour}" for colour in ("red", "blue")]
    new = [{"content": content, "memory_type": "fact"} for content in contents]
    known = [client.post("/api/memories", json=body).json()["id"] for body in new]
    body = {"conversation_id": name, "message": f"Which colour has the {word} boat?"}
    taken = client.post("/api/chat", json=body).json()
    used = [one for one in taken["memories_used"] if one["id"] in known]
    assert {one["id"] for one in used} == set(known)
    plain = page(client, name)
    told = page(client, name, memories=True)
    *before, reply = told["items"]
    assert [one for one in reply["memories"] if one["id"] in known] == used
    assert [item for item in before if "memories" in item] == []
    del reply["memories"]
    assert told == plain
    client.patch(f"/api/memories/{known[0]}", json={"content": f"The {word} boat is green"})
    client.delete(f"/api/memories/{known[1]}")
    kept = [one for one in page(client, name, memories=True)["items"][-1]["memories"] if one["id"] in known]
    assert [(one["id"], one["content"]) for one in kept] == [(known[0], f"The {word} boat is green")]
    assert page(client, conversation(client, "one"), memories=True)["items"][0].get("memories") is None
    assert problem(client.get(f"/api/conversations/{name}/messages?memories=maybe")) == (422, "invalid_input")


# Adding


@pytest.mark.spec("S4.2")
def test_a_message_comes_back_with_all_that_was_sent(client: httpx2.Client) -> None:
    name = conversation(client)
    sent: dict[str, Any] = {
        "id": "m1",
        "role": "assistant",
        "name": "Zoë",
        "content": "Ünïcödé 🧑‍🚀 \u202eRTL\u202c\r\n\ttab",
        "status": "interrupted",
        "created_at": "2026-05-17T09:30:00.123456Z",
        "tool_calls": [
            {"id": "k1", "tool_name": "weather", "input": {"city": ["Oslo", None]}, "output": {"deg": -3.5}}
        ],
        "suggested_values": ["yes", "no"],
        "suggested_actions": [{"label": "Go", "do": {"n": 1}}],
        "custom_payload": {"deep": [[[]]], "big": 2**62},
        "metadata": {"k": True},
    }
    answer = client.post(f"/api/conversations/{name}/messages", json={"messages": [sent]})
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/conversations/{name}/messages"
    (stored,) = answer.json()["items"]
    assert set(stored) == FIELDS
    assert {field: stored[field] for field in sent} == sent
    assert (stored["seq"], stored["parent_id"], stored["conversation_id"], stored["siblings"]) == (1, None, name, [])
    assert page(client, name)["items"] == [stored]


@pytest.mark.spec("S4.2")
@pytest.mark.spec("S0.1")
def test_messages_are_added_in_order_in_either_shape(client: httpx2.Client) -> None:
    name = conversation(client)
    seed = {"id": "s1", "text": "Hello", "sender": "user", "timestamp": "2026-05-17T11:30:00+02:00"}
    added = add(client, name, seed, {"text": "Hi", "sender": "ai"}, {"role": "system", "content": "Be kind."})
    items = added["items"]
    assert [(item["seq"], item["role"], item["content"]) for item in items] == [
        (1, "user", "Hello"),
        (2, "assistant", "Hi"),
        (3, "system", "Be kind."),
    ]
    assert items[0]["created_at"] == "2026-05-17T09:30:00Z"
    assert [item["parent_id"] for item in items] == [None, "s1", items[1]["id"]]
    assert page(client, name)["items"] == items


def test_what_is_stored_is_a_duplicate_and_what_was_erased_is_refused(client: httpx2.Client) -> None:
    name = conversation(client, "one", "two")
    assert client.delete(f"/api/conversations/{name}/messages/m2").status_code == 204
    added = add(client, name, said(1), said(2), said(3))
    assert (ids(added["items"]), added["duplicates"], added["refused"]) == (["m3"], ["m1"], ["m2"])
    again = client.post(f"/api/conversations/{name}/messages", json={"messages": [said(1), said(3)]})
    assert (again.status_code, again.json()["items"], again.json()["duplicates"]) == (200, [], ["m1", "m3"])


def test_a_key_makes_a_repeated_addition_one(client: httpx2.Client) -> None:
    name = conversation(client)
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"messages": [{"role": "user", "content": "no id"}, {"text": "nor here", "sender": "ai"}]}
    address = f"/api/conversations/{name}/messages"
    first, again = (client.post(address, json=body, headers=headers) for _ in range(2))
    assert first.json() == again.json()
    assert page(client, name)["items"] == first.json()["items"]
    other = {"messages": [{"role": "user", "content": "other"}]}
    assert problem(client.post(address, json=other, headers=headers)) == (422, "idempotency_mismatch")
    elsewhere = f"/api/conversations/{conversation(client)}/messages"
    assert problem(client.post(elsewhere, json=body, headers=headers)) == (422, "idempotency_mismatch")


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "user"},
        {"role": "user", "content": ""},
        {"role": "user", "content": None},
        {"role": "user", "content": 7},
        {"role": "user", "content": "nul \0"},
        {"role": "summary", "content": "I decide what is left"},
        {"role": "robot", "content": "x"},
        {"role": "user", "content": "x", "id": ""},
        {"role": "user", "content": "x", "id": "x" * 129},
        {"role": "user", "content": "x", "id": "\x7f"},
        {"role": "user", "content": "x", "created_at": "2026-05-17T09:30:00"},
        {"role": "user", "content": "x", "created_at": "yesterday"},
        {"role": "user", "content": "x", "parent_id": "nobody"},
        {"role": "user", "content": "x", "tool_call_id": "k1"},
        {"role": "user", "content": "x", "tool_calls": [{"id": "k", "tool_name": "t"}]},
        {"role": "assistant", "tool_calls": [{"id": "k", "tool_name": ""}]},
        {"role": "assistant", "tool_calls": [{"id": "k", "tool_name": "t"}] * 101},
        {"role": "tool", "content": "x"},
        {"role": "user", "content": "x", "status": "fine"},
        {"role": "user", "content": "x", "metadata": []},
        {"role": "user", "content": "x", "custom_payload": 2**70},
        {"text": "x", "sender": "robot"},
        {"text": "", "sender": "user"},
        {"text": "x", "sender": "user", "timestamp": "2026-05-17T09:30:00"},
    ],
)
def test_what_is_no_message_is_refused_and_nothing_of_its_batch_is_stored(
    client: httpx2.Client, message: dict[str, Any]
) -> None:
    name = conversation(client)
    answer = client.post(f"/api/conversations/{name}/messages", json={"messages": [said(1), message]})
    status, code = problem(answer)
    assert (status, code in ("invalid_input", "invalid_message")) == (422, True)
    assert page(client, name)["items"] == []


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": {}}, {"messages": [said(1)] * 1_001}, [said(1)]])
def test_a_batch_is_a_list_of_some_messages(client: httpx2.Client, body: object) -> None:
    answer = client.post(f"/api/conversations/{conversation(client)}/messages", json=body)
    assert problem(answer) == (422, "invalid_input")


def test_half_characters_and_numbers_that_are_none_are_refused(client: httpx2.Client) -> None:
    address = f"/api/conversations/{conversation(client)}/messages"
    for content in (r'"\ud800"', "NaN", "[" * 100_000):
        body = f'{{"messages": [{{"role": "user", "content": {content}}}]}}'.encode()
        answer = client.post(address, content=body, headers={"Content-Type": "application/json"})
        assert problem(answer) == (422, "invalid_input")


def test_a_long_message_comes_back_whole(client: httpx2.Client) -> None:
    name = conversation(client)
    content = "茶🍵 \u200d" * 50_000
    add(client, name, {"role": "user", "content": content})
    assert page(client, name)["items"][0]["content"] == content


def test_messages_need_a_conversation(client: httpx2.Client) -> None:
    address = f"/api/conversations/{new_name()}/messages"
    assert problem(client.get(address)) == (404, "conversation_not_found")
    assert problem(client.post(address, json={"messages": [said(1)]})) == (404, "conversation_not_found")
    assert problem(client.get(address)) == (404, "conversation_not_found")
    assert page(client, conversation(client)) == {"items": [], "next": None, "corrupt": []}


# Paging


@pytest.mark.spec("S4.2")
@pytest.mark.parametrize("limit", [1, 2, 3, 10, 11])
def test_pages_meet_without_gap_or_overlap_in_both_directions(client: httpx2.Client, limit: int) -> None:
    name = conversation(client, *(f"message {n}" for n in range(10)))
    whole = [f"m{n}" for n in range(1, 11)]
    backwards: list[str] = []
    one = page(client, name, limit=limit)
    while True:
        backwards = ids(one["items"]) + backwards
        if one["next"] is None:
            break
        one = page(client, name, limit=limit, before=one["next"])
    assert backwards == whole
    forwards = ["m1"]
    one = page(client, name, limit=limit, after="m1")
    while True:
        forwards += ids(one["items"])
        if one["next"] is None:
            break
        one = page(client, name, limit=limit, after=one["next"])
    assert forwards == whole


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"limit": 0}, (422, "invalid_input")),
        ({"limit": 201}, (422, "invalid_input")),
        ({"before": "m1", "after": "m1"}, (422, "invalid_input")),
        ({"before": ""}, (422, "invalid_input")),
        ({"before": "nobody"}, (404, "message_not_found")),
        ({"after": "' OR 1=1 --"}, (404, "message_not_found")),
        ({"after": "nul\0"}, (422, "invalid_input")),
        ({"expand": "nothing"}, (404, "not_found")),
        ({"expand": "nothing", "before": "m1"}, (422, "invalid_input")),
    ],
)
def test_a_page_that_cannot_be_given_is_refused(
    client: httpx2.Client, query: dict[str, Any], expected: tuple[int, str]
) -> None:
    name = conversation(client, "one")
    assert problem(client.get(f"/api/conversations/{name}/messages", params=query)) == expected


# Tool calls


@pytest.mark.spec("S4.2")
def test_a_tool_result_is_joined_into_its_call(client: httpx2.Client) -> None:
    name = conversation(client)
    add(client, name, said(1), called(2, "Oslo", "Rome"), result(3, "Rome", "sunny"), result(4, "Oslo", "snow"))
    items = page(client, name)["items"]
    assert outputs(items) == {"Oslo": "snow", "Rome": "sunny"}
    assert [item["role"] for item in items] == ["user", "assistant", "tool", "tool"]
    opened = client.get(f"/api/conversations/{name}").json()["messages"]
    assert outputs(opened) == outputs(items)
    context = client.get(f"/api/sessions/{name}/context").json()["recentMessages"]
    assert outputs(context) == outputs(items)


@pytest.mark.parametrize("query", [{"before": "m3"}, {"after": "m1"}])
def test_a_result_on_the_next_page_is_joined_too(client: httpx2.Client, query: dict[str, str]) -> None:
    name = conversation(client)
    between = [said(n) for n in range(3, 6)]
    add(client, name, said(1), called(2, "Oslo"), *between, result(6, "Oslo", "snow"), said(7))
    read = page(client, name, limit=1, **query)
    assert (ids(read["items"]), outputs(read["items"])) == (["m2"], {"Oslo": "snow"})


def test_ids_of_calls_may_come_again_and_each_result_is_of_the_call_before_it(client: httpx2.Client) -> None:
    name = conversation(client)
    add(client, name, called(1, "k"), result(2, "k", "first"), called(3, "k"), result(4, "k", "second"))
    answers = [call["output"] for item in page(client, name)["items"] for call in item["tool_calls"]]
    assert answers == ["first", "second"]
    add(client, name, called(5, "k"), result(6, "other", "of nothing"))
    newest = page(client, name, limit=2)["items"]
    assert [call["output"] for call in newest[0]["tool_calls"]] == [None]


def test_a_result_longer_than_an_output_may_be_is_joined_whole(client: httpx2.Client) -> None:
    name = conversation(client)
    content = "\n" * 600_000
    add(client, name, called(1, "k"), result(2, "k", content))
    assert outputs(page(client, name)["items"]) == {"k": content}


# Branches


@pytest.mark.spec("S4.2")
def test_each_message_tells_its_siblings(client: httpx2.Client) -> None:
    name = conversation(client, "one", "two", "three")
    assert [item["siblings"] for item in page(client, name)["items"]] == [[], [], []]
    add(client, name, {"id": "m4", "role": "user", "content": "two again", "parent_id": "m1"})
    add(client, name, {"id": "m5", "role": "user", "content": "one again", "parent_id": None})
    told = {item["id"]: item["siblings"] for item in page(client, name)["items"]}
    assert told == {"m5": ["m1", "m5"]}
    client.patch(f"/api/conversations/{name}", json={"head_id": "m3"})
    told = {item["id"]: item["siblings"] for item in page(client, name)["items"]}
    assert told == {"m1": ["m1", "m5"], "m2": ["m2", "m4"], "m3": []}


@pytest.mark.spec("S4.2")
def test_a_branch_is_read_to_its_end_from_any_of_its_siblings(client: httpx2.Client) -> None:
    name = conversation(client, "one", "two", "three")
    add(client, name, {"id": "m4", "role": "user", "content": "two again", "parent_id": "m1"})
    add(client, name, {"id": "m5", "role": "user", "content": "and more"})
    add(client, name, {"id": "m6", "role": "user", "content": "two at last", "parent_id": "m1"})
    for at, branch in ((1, ["m1", "m4", "m5"]), (0, ["m1", "m2", "m3"]), (2, ["m1", "m6"]), (1, ["m1", "m4", "m5"])):
        opened = client.get(f"/api/conversations/{name}").json()["messages"]
        assert (opened[1]["siblings"], opened[1]["sibling_heads"]) == (["m2", "m4", "m6"], ["m3", "m5", "m6"])
        assert all(item["sibling_heads"] == [] for item in (opened[0], *opened[2:]))
        client.patch(f"/api/conversations/{name}", json={"head_id": opened[1]["sibling_heads"][at]}).raise_for_status()
        assert [item["id"] for item in page(client, name)["items"]] == branch


# Summaries


@pytest.mark.spec("B9")
@pytest.mark.spec("S0.2")
def test_a_summary_stands_in_its_place_and_expands_to_the_originals(summarising: httpx2.Client) -> None:
    name = conversation(summarising)
    add(summarising, name, *(said(n) for n in range(1, 10)))
    add(summarising, name, *(said(n) for n in range(10, 14)))
    items = page(summarising, name)["items"]
    (summary,) = [item for item in items if item["role"] == "summary"]
    at = items.index(summary)
    covered = ids(items[:at])
    assert covered == [f"m{n}" for n in range(1, at + 1)]
    assert (summary["seq"], summary["parent_id"]) == (at, covered[-1])
    assert [item["id"] for item in items if item["role"] == "user"] == [f"m{n}" for n in range(1, 14)]
    assert summarising.get(f"/api/conversations/{name}").json()["message_count"] == 13

    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"expand": summary["metadata"]["summary_metadata_id"], "limit": 2}
    while True:
        one = page(summarising, name, **query)
        found += one["items"]
        if one["next"] is None:
            break
        query["after"] = one["next"]
    assert ids(found) == covered
    assert [item["content"] for item in found] == [said(n)["content"] for n in range(1, at + 1)]
    outside = summarising.get(f"/api/conversations/{name}/messages", params={"expand": query["expand"], "after": "m13"})
    assert problem(outside) == (404, "message_not_found")


@pytest.mark.spec("B9")
def test_a_fold_expands_to_all_originals_with_its_parts_among_them(summarising: httpx2.Client) -> None:
    name = conversation(summarising)
    for start in range(1, 145, 8):
        add(summarising, name, *(said(n) for n in range(start, start + 8)))
    shown = page(summarising, name, limit=200)["items"]
    originals = [item["id"] for item in shown if item["role"] == "user"]
    assert originals == [f"m{n}" for n in range(1, 145)]
    covered: list[str] = []
    parts = 0
    for summary in (item for item in shown if item["role"] == "summary"):
        expanded = page(summarising, name, expand=summary["metadata"]["summary_metadata_id"], limit=200)["items"]
        covered += [item["id"] for item in expanded if item["role"] == "user"]
        parts += sum(item["role"] == "summary" for item in expanded)
    assert covered == originals[: len(covered)]
    assert len(covered) >= 130
    assert parts > 0


# Erasing


def test_an_erased_message_is_gone_and_its_answers_move_up(client: httpx2.Client) -> None:
    name = conversation(client, "one", "two", "three")
    answer = client.delete(f"/api/conversations/{name}/messages/m2")
    assert (answer.status_code, answer.content) == (204, b"")
    items = page(client, name)["items"]
    assert [(item["id"], item["seq"], item["parent_id"]) for item in items] == [("m1", 1, None), ("m3", 3, "m1")]
    for message_id in ("m2", "nobody"):
        missing = client.delete(f"/api/conversations/{name}/messages/{message_id}")
        assert problem(missing) == (404, "message_not_found")
    missing = client.delete(f"/api/conversations/{new_name()}/messages/m1")
    assert problem(missing) == (404, "conversation_not_found")
    add(client, name, {"role": "user", "content": "four"})
    assert [item["seq"] for item in page(client, name)["items"]] == [1, 3, 4]
