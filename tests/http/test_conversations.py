"""Conversations through a real socket: every endpoint, its errors and what a retry does (S4.1)."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.http.conftest import AsUser
from tests.support.http_conversations import add, conversation, ids, new_name, page, problem

COLUMNS = {
    *("id", "agent", "title", "title_source", "is_archived", "is_pinned", "metadata", "head_id", "message_count"),
    *("summary", "created_at", "updated_at", "last_activity_at", "is_active", "version"),
}
READ_ONLY = frozenset(("read",))


def new_agent() -> str:
    return f"agent-{uuid.uuid4().hex}"


def listed(client: httpx2.Client, **query: Any) -> dict[str, Any]:
    answer = client.get("/api/conversations", params=query)
    assert answer.status_code == 200, answer.text
    read: dict[str, Any] = answer.json()
    return read


# Creating


@pytest.mark.spec("S4.1")
def test_a_conversation_is_created_with_all_its_columns(client: httpx2.Client) -> None:
    body = {"id": new_name(), "title": "Oslo 🏔", "agent": "guide", "metadata": {"colour": ["blue", None, 1.5]}}
    answer = client.post("/api/conversations", json=body)
    made = answer.json()
    assert answer.status_code == 201
    assert (answer.headers["location"], answer.headers["etag"]) == (f"/api/conversations/{body['id']}", '"1"')
    assert set(made) == COLUMNS
    assert {name: made[name] for name in body} == body
    assert (made["title_source"], made["is_archived"], made["is_active"], made["message_count"]) == (
        *("user", False, True),
        0,
    )
    for name in ("created_at", "updated_at", "last_activity_at"):
        assert made[name].endswith("Z")
        assert datetime.fromisoformat(made[name]).utcoffset() == timedelta(0)
    opened = client.get(answer.headers["location"]).json()
    assert {name: opened[name] for name in COLUMNS} == made


def test_the_same_id_again_is_the_same_conversation(client: httpx2.Client) -> None:
    name = conversation(client, title="first")
    again = client.post("/api/conversations", json={"id": name, "title": "second"}).json()
    assert (again["title"], again["version"]) == ("first", 1)


def test_an_id_with_odd_signs_is_reached_by_its_location(client: httpx2.Client) -> None:
    name = f"a b?c#d%é‽{uuid.uuid4().hex}"
    answer = client.post("/api/conversations", json={"id": name})
    assert client.get(answer.headers["location"]).json()["id"] == name


@pytest.mark.parametrize(
    "body",
    [
        {"id": ""},
        {"id": "x" * 129},
        {"id": "line\nbreak"},
        {"id": 7},
        {"title": ""},
        {"title": "   "},
        {"title": "x" * 256},
        {"title": "nul \0"},
        {"metadata": []},
        {"metadata": "text"},
        {"agent": ""},
        [],
        "text",
        None,
    ],
)
def test_what_is_no_conversation_is_refused(client: httpx2.Client, body: object) -> None:
    before = len(listed(client, limit=200)["items"])
    assert problem(client.post("/api/conversations", json=body)) == (422, "invalid_input")
    assert len(listed(client, limit=200)["items"]) == before


def test_a_key_makes_a_repeated_creation_one(client: httpx2.Client) -> None:
    agent = new_agent()
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"title": "once", "agent": agent}
    first, again = (client.post("/api/conversations", json=body, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (again.headers["idempotent-replayed"], again.headers["location"]) == ("true", first.headers["location"])
    other = client.post("/api/conversations", json=body | {"title": "twice"}, headers=headers)
    assert problem(other) == (422, "idempotency_mismatch")
    assert ids(listed(client, agent=agent)["items"]) == [first.json()["id"]]


# The current one


@pytest.mark.spec("S4.1")
def test_the_current_conversation_is_the_newest_that_is_not_archived(client: httpx2.Client) -> None:
    agent = new_agent()
    made = client.get("/api/conversations/current", params={"agent": agent}).json()
    assert (made["agent"], made["messages"], made["next"], made["message_count"]) == (agent, [], None, 0)
    assert client.get("/api/conversations/current", params={"agent": agent}).json()["id"] == made["id"]
    newer = conversation(client, "hello", agent=agent)
    current = client.get("/api/conversations/current", params={"agent": agent}).json()
    assert (current["id"], ids(current["messages"])) == (newer, ["m1"])
    client.patch(f"/api/conversations/{newer}", json={"is_archived": True})
    assert client.get("/api/conversations/current", params={"agent": agent}).json()["id"] == made["id"]


def test_callers_at_the_same_moment_get_the_same_current_conversation(client: httpx2.Client) -> None:
    agent = new_agent()
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: client.get("/api/conversations/current", params={"agent": agent}), range(32)))
    assert [answer.status_code for answer in got] == [200] * 32
    assert len({answer.json()["id"] for answer in got}) == 1
    assert len(listed(client, agent=agent)["items"]) == 1


def test_a_key_that_only_reads_creates_no_current_conversation(as_user: AsUser) -> None:
    user = new_name()
    reader, writer = as_user(user, rights=READ_ONLY), as_user(user)
    assert problem(reader.get("/api/conversations/current")) == (403, "permission_denied")
    made = writer.get("/api/conversations/current").json()["id"]
    assert reader.get("/api/conversations/current").json()["id"] == made


# Listing and searching


@pytest.mark.spec("S4.1")
def test_pages_list_each_conversation_once_newest_activity_first(client: httpx2.Client) -> None:
    agent = new_agent()
    made = [conversation(client, agent=agent) for _ in range(7)]
    add(client, made[2], {"role": "user", "content": "again"})
    expected = [made[2], *(name for name in reversed(made) if name != made[2])]
    for limit in (1, 2, 3, 7, 8):
        found: list[str] = []
        query: dict[str, Any] = {"agent": agent, "limit": limit}
        while True:
            one = listed(client, **query)
            found += ids(one["items"])
            assert len(one["items"]) <= limit
            if one["next"] is None:
                break
            query["cursor"] = one["next"]
        assert found == expected


@pytest.mark.spec("S4.1")
def test_pinned_conversations_are_listed_apart_in_pages(client: httpx2.Client) -> None:
    agent, word = new_agent(), f"word{uuid.uuid4().hex}"
    names = [conversation(client, agent=agent, title=f"{word} {number}") for number in range(6)]
    for name in names[1:4]:
        client.patch(f"/api/conversations/{name}", json={"is_pinned": True}).raise_for_status()
    for pinned, expected in (("true", names[3:0:-1]), ("false", [names[5], names[4], names[0]])):
        first = listed(client, agent=agent, pinned=pinned, limit=2)
        second = listed(client, agent=agent, pinned=pinned, limit=2, cursor=first["next"])
        assert (ids(first["items"]) + ids(second["items"]), second["next"]) == (expected, None)
        assert ids(listed(client, q=word, pinned=pinned)["items"]) == expected
    assert len(listed(client, agent=agent)["items"]) == 6
    assert client.get("/api/conversations", params={"pinned": "perhaps"}).status_code == 422


def test_archived_conversations_are_listed_apart(client: httpx2.Client) -> None:
    agent = new_agent()
    kept, set_aside = conversation(client, agent=agent), conversation(client, agent=agent)
    client.put(f"/api/conversations/{set_aside}", json={"is_archived": True})
    assert ids(listed(client, agent=agent, archived=True)["items"]) == [set_aside]
    assert ids(listed(client, agent=agent, archived=False)["items"]) == [kept]
    assert ids(listed(client, agent=agent)["items"]) == [set_aside, kept]


@pytest.mark.spec("S4.1")
@pytest.mark.parametrize("word", ["zeppelin", "цепелін", "飞艇", "منطاد"])
def test_words_are_found_in_titles_and_messages_with_a_snippet(client: httpx2.Client, word: str) -> None:
    agent = new_agent()
    titled = conversation(client, agent=agent, title=f"About {word}")
    said = conversation(client, f"We saw a {word} over the lake", agent=agent)
    conversation(client, "nothing of the kind", agent=agent)
    found = listed(client, q=word, agent=agent)["items"]
    assert [(one["id"], one["snippet"] is None) for one in found] == [(said, False), (titled, True)]
    assert word in found[0]["snippet"]
    first = listed(client, q=word, agent=agent, limit=1)
    rest = listed(client, q=word, agent=agent, limit=1, cursor=first["next"])
    assert (ids(first["items"]), ids(rest["items"]), rest["next"]) == ([said], [titled], None)


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": "many"},
        {"cursor": "abc"},
        {"cursor": "%"},
        {"cursor": "bnVsbA"},
        {"archived": "perhaps"},
        {"agent": ""},
        {"agent": "x" * 129},
        {"q": "x" * 1001},
        {"q": "nul \0"},
    ],
)
def test_a_list_that_cannot_be_given_is_refused(client: httpx2.Client, query: dict[str, Any]) -> None:
    status, code = problem(client.get("/api/conversations", params=query))
    assert (status, code) in ((422, "invalid_input"), (422, "invalid_cursor"))


# Changing


@pytest.mark.spec("S4.1")
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_is_sent_is_changed_and_the_rest_stays(client: httpx2.Client, method: str) -> None:
    name = conversation(client, "The first words become a title", metadata={"k": 1})
    assert client.get(f"/api/conversations/{name}").json()["title_source"] == "auto"
    answer = client.request(method, f"/api/conversations/{name}", json={"title": "Mine", "is_pinned": True})
    changed = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (200, f'"{changed["version"]}"')
    assert (changed["title"], changed["title_source"], changed["is_pinned"]) == ("Mine", "user", True)
    assert (changed["metadata"], changed["is_archived"], changed["version"]) == ({"k": 1}, False, 2)
    again = client.request(method, f"/api/conversations/{name}", json={"metadata": {}}).json()
    assert (again["metadata"], again["title"], again["version"]) == ({}, "Mine", 3)
    same = client.request(method, f"/api/conversations/{name}", json={}).json()
    assert same == again


def test_a_change_of_another_version_is_refused(client: httpx2.Client) -> None:
    name = conversation(client, title="old")
    tag = client.get(f"/api/conversations/{name}").headers["etag"]
    assert (
        client.patch(f"/api/conversations/{name}", json={"title": "new"}, headers={"If-Match": tag}).status_code == 200
    )
    for stale in (tag, '"99"', "nonsense", '"-1"', "3"):
        answer = client.patch(f"/api/conversations/{name}", json={"title": "lost"}, headers={"If-Match": stale})
        assert problem(answer) == (412, "stale_version")
    anyway = client.patch(f"/api/conversations/{name}", json={"title": "newer"}, headers={"If-Match": "*"})
    assert anyway.json()["title"] == "newer"


def test_one_of_many_changes_of_one_version_takes_effect(client: httpx2.Client) -> None:
    name = conversation(client, title="old")

    def change(number: int) -> int:
        body = {"title": f"title {number}"}
        return client.patch(f"/api/conversations/{name}", json=body, headers={"If-Match": '"1"'}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(change, range(8))) == [200, *[412] * 7]


@pytest.mark.parametrize(
    "body",
    [
        {"title": None},
        {"title": " "},
        {"title": "x" * 256},
        {"is_pinned": None},
        {"is_archived": "perhaps"},
        {"metadata": None},
        {"metadata": [1]},
        {"head_id": ""},
        {"head_id": 3},
    ],
)
def test_a_change_that_makes_no_sense_is_refused(client: httpx2.Client, body: dict[str, Any]) -> None:
    name = conversation(client, title="old")
    assert problem(client.patch(f"/api/conversations/{name}", json=body)) == (422, "invalid_input")
    assert client.get(f"/api/conversations/{name}").json()["version"] == 1


def test_a_head_selects_the_branch_that_is_read(client: httpx2.Client) -> None:
    name = conversation(client, "one", "two", "three")
    add(client, name, {"id": "m4", "role": "user", "content": "two, but different", "parent_id": "m1"})
    assert ids(page(client, name)["items"]) == ["m1", "m4"]
    back = client.patch(f"/api/conversations/{name}", json={"head_id": "m3"}).json()
    assert (back["head_id"], back["message_count"]) == ("m3", 4)
    assert ids(page(client, name)["items"]) == ["m1", "m2", "m3"]
    answer = client.patch(f"/api/conversations/{name}", json={"head_id": "elsewhere"})
    assert problem(answer) == (404, "message_not_found")
    assert client.patch(f"/api/conversations/{name}", json={"head_id": None}).json()["head_id"] is None
    assert page(client, name)["items"] == []


# Opening


def test_a_conversation_opens_with_its_newest_messages(client: httpx2.Client) -> None:
    name = conversation(client, *(f"message {n}" for n in range(60)))
    answer = client.get(f"/api/conversations/{name}")
    opened = answer.json()
    assert answer.headers["etag"] == f'"{opened["version"]}"'
    assert ids(opened["messages"]) == [f"m{n}" for n in range(11, 61)]
    assert opened["next"] == "m11"
    assert ids(page(client, name, before=opened["next"])["items"]) == [f"m{n}" for n in range(1, 11)]


# Erasing


@pytest.mark.spec("S4.1")
@pytest.mark.parametrize(("query", "kept"), [({}, 0), ({"memories": "erase"}, 0), ({"memories": "keep"}, 1)])
def test_an_erased_conversation_is_gone_with_or_without_what_was_learned(
    client: httpx2.Client, query: dict[str, str], kept: int
) -> None:
    town = f"Town{uuid.uuid4().hex[:8]}"
    name = conversation(client, f"I live in {town}.")
    learned = client.post("/api/memories/extract", json={"conversation_id": name}, params={"wait": True})
    assert learned.status_code == 200, learned.text
    assert any(town in memory["content"] for memory in learned.json()["items"])
    answer = client.delete(f"/api/conversations/{name}", params=query)
    assert (answer.status_code, answer.content) == (204, b"")
    missing = problem(client.get(f"/api/conversations/{name}"))
    assert missing == problem(client.delete(f"/api/conversations/{name}")) == (404, "conversation_not_found")
    found = client.get("/api/memories", params={"q": town}).json()["items"]
    assert len(found) == kept
    assert problem(client.post("/api/conversations", json={"id": name})) == (409, "erased")
    client.delete("/api/memories/" + found[0]["id"], params={"now": True}) if found else None


def test_only_two_words_say_what_becomes_of_memories(client: httpx2.Client) -> None:
    name = conversation(client, "hello")
    answer = client.delete(f"/api/conversations/{name}", params={"memories": "burn"})
    assert problem(answer) == (422, "invalid_input")
    assert client.get(f"/api/conversations/{name}").status_code == 200


# Others


def test_what_belongs_to_another_looks_like_what_is_not_there(as_user: AsUser) -> None:
    ada, bob, stranger = as_user(new_name()), as_user(new_name()), as_user(new_name(), tenant="elsewhere")
    name = conversation(ada, "mine", title="Mine")
    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("GET", "/messages", None),
        ("GET", "/context", None),
        ("GET", "/export", None),
        ("PATCH", "", {"title": "Yours"}),
        ("PUT", "", {"title": "Yours"}),
        ("POST", "/messages", {"messages": [{"role": "user", "content": "x"}]}),
        ("DELETE", "/messages/m1", None),
        ("DELETE", "", None),
    ]
    for other in (bob, stranger):
        for method, path, body in calls:
            answers = [other.request(method, f"/api/conversations/{one}{path}", json=body) for one in (name, "nowhere")]
            told = [{**answer.json(), "request_id": ""} for answer in answers]
            assert problem(answers[0]) == (404, "conversation_not_found"), (method, path)
            assert told[0] == told[1]
        assert listed(other)["items"] == listed(other, q="mine")["items"] == []
    assert page(ada, name)["items"][0]["content"] == "mine"


def test_a_key_that_only_reads_changes_nothing(as_user: AsUser) -> None:
    user = new_name()
    name = conversation(as_user(user), "mine")
    reader = as_user(user, rights=READ_ONLY)
    assert reader.get(f"/api/conversations/{name}").status_code == 200
    for method, path, body in (
        ("POST", "", {}),
        ("PATCH", f"/{name}", {"title": "x"}),
        ("DELETE", f"/{name}", None),
        ("DELETE", f"/{name}/messages/m1", None),
    ):
        assert problem(reader.request(method, f"/api/conversations{path}", json=body)) == (403, "permission_denied")
