"""The four endpoints of session memories, to the letter of their documents (S1.9, S1.10)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.memory_client import ONLY_WHEN_ASKED, forget_all, problem
from tests.support.server_process import served

DOCUMENT = {"content": "User prefers detailed explanations", "type": "preference", "importance": 0.7}
FIELDS = ["id", "sessionId", "memoryContent", "memoryType", "importance", "createdAt", "lastAccessedAt"]
PLAIN = ("Prefers green tea", "Runs marathons", "Owns a telescope", "Speaks Portuguese", "Collects stamps")


@pytest.fixture(scope="module")
def client(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that learns only when it is asked to."""
    with served(served_database, tmp_path_factory.mktemp("server"), ONLY_WHEN_ASKED) as opened:
        yield opened.client


@pytest.fixture(autouse=True)
def _nothing_remembered(client: httpx2.Client) -> None:
    forget_all(client)


@pytest.fixture
def session(client: httpx2.Client) -> str:
    return new_session(client)


def new_session(client: httpx2.Client, name: str = "s") -> str:
    answer = client.post("/api/conversations", json={"id": f"{name}-{uuid.uuid4()}"})
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["id"]
    return made


def place(session: str, memory_id: str = "") -> str:
    return f"/api/sessions/{session}/memories" + (f"/{memory_id}" if memory_id else "")


def add(client: httpx2.Client, session: str, content: str) -> dict[str, Any]:
    answer = client.post(place(session), json={"content": content, "type": "fact", "importance": 0.5})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()
    return memory


@pytest.mark.spec("S1.5")
@pytest.mark.spec("S1.9")
def test_the_four_endpoints_speak_the_documented_json(client: httpx2.Client, session: str) -> None:
    answer = client.get(place(session))
    assert (answer.status_code, answer.json(), answer.headers.get("link")) == (200, [], None)
    answer = client.post(place(session), json=DOCUMENT)
    made = answer.json()
    assert (answer.status_code, list(made)) == (201, FIELDS)
    assert (made["sessionId"], made["memoryContent"]) == (session, DOCUMENT["content"])
    assert (made["memoryType"], made["importance"]) == ("preference", 0.7)
    assert made["createdAt"] == made["lastAccessedAt"]
    assert made["createdAt"].endswith("Z")
    assert datetime.fromisoformat(made["createdAt"]).utcoffset() == timedelta(0)
    assert answer.headers["location"] == place(session, made["id"])
    assert client.get(place(session)).json() == [made]
    assert client.get(place(session, made["id"])).json() == made
    answer = client.delete(place(session, made["id"]))
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(place(session)).json() == []
    assert problem(client.get(place(session, made["id"]))) == (404, "memory_not_found")


@pytest.mark.spec("S1.9")
def test_both_ways_to_a_memory_show_the_same(client: httpx2.Client, session: str) -> None:
    made = client.post(place(session), json=DOCUMENT).json()
    memory = client.get(f"/api/memories/{made['id']}").json()
    assert (memory["content"], memory["memory_type"], memory["importance"], memory["source_conversation_id"]) == (
        made["memoryContent"],
        made["memoryType"],
        made["importance"],
        session,
    )
    client.delete(place(session, made["id"]))
    assert client.post(f"/api/memories/{made['id']}/undo").status_code == 200
    assert client.get(place(session)).json() == [made]
    client.patch(f"/api/memories/{made['id']}", json={"is_archived": True})
    assert client.get(place(session)).json() == []
    assert client.get(place(session, made["id"])).json() == made


@pytest.mark.spec("S1.9")
def test_what_was_learned_in_a_session_is_listed_there_alone(client: httpx2.Client, session: str) -> None:
    other = new_session(client)
    said = {"messages": [{"role": "user", "content": "I work as a cartographer."}]}
    assert client.post(f"/api/conversations/{session}/messages", json=said).is_success
    assert client.post("/api/memories/extract?wait=true", json={"conversation_id": session}).status_code == 200
    (found,) = client.get(place(session)).json()
    assert (found["sessionId"], "cartographer" in found["memoryContent"]) == (session, True)
    assert client.get(place(other)).json() == []


@pytest.mark.spec("S1.9")
@pytest.mark.parametrize("name", ["plain", "a space & <odd>;\"'", "日本語", "100%25"])
def test_links_lead_to_the_last_page(client: httpx2.Client, name: str) -> None:
    session = new_session(client, name)
    quoted = quote(session, safe="")
    made = [add(client, quoted, content) for content in PLAIN]
    assert {one["sessionId"] for one in made} == {session}
    answer = client.post(place(quoted), json={"content": "Plays the harp", "type": "fact"})
    made.append(answer.json())
    assert client.get(answer.headers["location"]).json() == made[-1]
    found, following = [], f"{place(quoted)}?limit=4"
    while following:
        answer = client.get(following)
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        link = answer.headers.get("link", "")
        following = "".join(re.findall(r'^<([^>]+)>; rel="next"$', link))
        assert bool(link) == bool(following)
    assert found == [made[:1:-1], made[1::-1]]


@pytest.mark.spec("S1.9")
def test_what_another_session_says_already_is_not_stored_twice(client: httpx2.Client, session: str) -> None:
    first = add(client, session, "Prefers green tea")
    answer = client.post(place(new_session(client)), json={"content": "Prefers green tea.", "type": "fact"})
    assert (answer.status_code, answer.json(), answer.headers["location"]) == (200, first, place(session, first["id"]))
    free = client.post("/api/memories", json={"content": "Owns a telescope", "memory_type": "fact"}).json()
    answer = client.post(place(session), json={"content": "Owns a telescope", "type": "fact"})
    assert (answer.status_code, answer.json()["sessionId"]) == (200, None)
    assert answer.headers["location"] == f"/api/memories/{free['id']}"
    assert client.get(place(session)).json() == [first]


@pytest.mark.spec("S1.10")
def test_a_session_that_is_not_there_is_said_so_by_name(client: httpx2.Client, session: str) -> None:
    memory = add(client, session, "Prefers green tea")
    for method, path in (
        ("GET", place("nowhere")),
        ("POST", place("nowhere")),
        ("GET", place("nowhere", memory["id"])),
        ("DELETE", place("nowhere", memory["id"])),
    ):
        sent = DOCUMENT if method == "POST" else None
        assert problem(client.request(method, path, json=sent)) == (404, "conversation_not_found"), path
    assert client.get(place(session)).json() == [memory]


@pytest.mark.spec("S1.10")
def test_a_memory_that_is_not_in_the_session_is_said_so_by_name(client: httpx2.Client, session: str) -> None:
    elsewhere = add(client, new_session(client), "Runs marathons")
    deleted = add(client, session, "Prefers green tea")
    assert client.delete(place(session, deleted["id"])).status_code == 204
    for memory_id in ("nobody", elsewhere["id"], deleted["id"]):
        for method in ("GET", "DELETE"):
            answer = client.request(method, place(session, memory_id))
            assert problem(answer) == (404, "memory_not_found"), (method, memory_id)
    assert client.get(f"/api/memories/{elsewhere['id']}").status_code == 200


def test_a_retried_request_adds_one_memory(client: httpx2.Client, session: str) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first, second = (client.post(place(session), json=DOCUMENT, headers=key) for _ in range(2))
    assert (first.status_code, first.json()) == (second.status_code, second.json()) == (201, first.json())
    other = client.post(place(session), json={**DOCUMENT, "importance": 0.8}, headers=key)
    assert problem(other) == (422, "idempotency_mismatch")
    assert client.get(place(session)).json() == [first.json()]


def test_a_memory_that_cannot_be_kept_is_refused(client: httpx2.Client, session: str) -> None:
    for sent in (
        {},
        {"content": "x"},
        {"type": "fact"},
        {"content": "x", "type": "FACT"},
        {"content": "", "type": "fact"},
        {"content": "a\0b", "type": "fact"},
        {"content": "x" * 10_001, "type": "fact"},
        {"content": "x", "type": "fact", "importance": 2},
        {"content": "x", "type": "fact", "importance": "0.7"},
    ):
        assert problem(client.post(place(session), json=sent)) == (422, "invalid_input"), sent
    assert client.get(place(session)).json() == []


def test_a_page_that_makes_no_sense_is_refused(client: httpx2.Client, session: str) -> None:
    for query, code in (("limit=0", "invalid_input"), ("limit=201", "invalid_input"), ("cursor=%21", "invalid_cursor")):
        assert problem(client.get(f"{place(session)}?{query}")) == (422, code)
