"""What is learned, reviewed and recalled through a real socket (S4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.memory_client import (
    COLUMNS,
    ONLY_WHEN_ASKED,
    add,
    contents,
    conversation,
    extract,
    forget_all,
    listed,
    problem,
    waiting,
)
from tests.support.server_process import served

JOB = [
    *("id", "kind", "state", "attempts", "max_attempts", "conversation_id", "error", "run_at"),
    *("created_at", "updated_at"),
]


@pytest.fixture(scope="module")
def client(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that learns only when it is asked to."""
    with served(served_database, tmp_path_factory.mktemp("server"), ONLY_WHEN_ASKED) as opened:
        yield opened.client


@pytest.fixture(autouse=True)
def _nothing_remembered(client: httpx2.Client) -> None:
    forget_all(client)


def towns(memories: list[dict[str, Any]]) -> list[str]:
    return [content.split()[-1].strip(".") for content in contents(memories)]


@pytest.mark.spec("S4.3")
def test_as_of_shows_what_was_true_then(client: httpx2.Client) -> None:
    for year, town in (("2019", "Tromsø"), ("2023", "Stavanger")):
        (found,) = extract(client, conversation(client, f"I live in {town}.", created_at=f"{year}-03-01T12:00:00Z"))
        assert found["valid_from"] == f"{year}-03-01T12:00:00Z"
    now, then, before = "2024-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00", "2018-01-01T00:00:00Z"
    ask = {"query": "Where do I live?", "filters": {"type": "fact"}}
    for as_of, expected in ((now, ["Stavanger"]), (then, ["Tromsø"]), (before, [])):
        assert towns(listed(client, as_of=as_of)) == expected
        hits = client.post("/api/memories/search", json={**ask, "as_of": as_of}).json()["items"]
        assert towns([hit["memory"] for hit in hits]) == expected
    (past,) = listed(client, as_of=then)
    (current,) = listed(client)
    assert (past["superseded_by"], past["valid_to"]) == (current["id"], "2023-03-01T12:00:00Z")
    assert client.get(f"/api/memories/{past['id']}").json() == past


def test_what_waits_for_review_is_approved_in_better_words_or_rejected(client: httpx2.Client) -> None:
    good, bad = waiting(client, "I work as a carpenter.", "My favourite colour is green.")
    assert listed(client) == []
    assert problem(client.patch(f"/api/memories/{good['id']}", json={"is_pinned": True})) == (409, "conflict")
    words = {"decision": "approve", "content": "Works as a carpenter in Lom"}
    answer = client.post(f"/api/memories/{good['id']}/review", json=words)
    approved = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (200, f'"{approved["version"]}"')
    assert (approved["trust"], approved["content"]) == ("active", words["content"])
    rejected = client.post(f"/api/memories/{bad['id']}/review", json={"decision": "reject"}).json()
    assert rejected["trust"] == "rejected"
    assert (listed(client), listed(client, trust="rejected")) == ([approved], [rejected])
    assert listed(client, trust="pending") == []
    again = client.post(f"/api/memories/{good['id']}/review", json={"decision": "reject"})
    assert problem(again) == (409, "conflict")


def test_several_are_reviewed_at_once_or_none(client: httpx2.Client) -> None:
    found = waiting(client, "I work as a baker.", "My favourite colour is red.", "I am allergic to peanuts.")
    ids = [memory["id"] for memory in found]
    answer = client.post("/api/memories/review", json={"ids": [*ids, "nobody"], "decision": "approve"})
    assert problem(answer) == (404, "memory_not_found")
    assert len(listed(client, trust="pending")) == 3
    answer = client.post("/api/memories/review", json={"ids": ids, "decision": "approve"})
    assert (answer.status_code, list(answer.json())) == (200, ["items"])
    assert [(memory["id"], memory["trust"]) for memory in answer.json()["items"]] == [(one, "active") for one in ids]
    assert {memory["id"] for memory in listed(client)} == set(ids)


def test_search_finds_memories_and_messages_and_says_why(client: httpx2.Client) -> None:
    tea = add(client, "Prefers sencha from Shizuoka", "preference")
    add(client, "Owns a telescope")
    # Nothing is learned from what an assistant says, so only the test decides what is remembered.
    home = conversation(client, "The sencha from Shizuoka has arrived.", role="assistant")
    ask = {"query": "sencha from Shizuoka", "limit": 5}
    (hit,) = (one for one in client.post("/api/memories/search", json=ask).json()["items"] if "sencha" in one["why"])
    assert list(hit) == ["memory", "score", "why"]
    assert (hit["memory"], hit["score"] > 0) == (tea, True)
    both = client.post("/api/memories/search", json={**ask, "messages": True}).json()["items"]
    assert [one["score"] for one in both] == sorted((one["score"] for one in both), reverse=True)
    (message,) = (one for one in both if "sencha" in one.get("message", {}).get("content", ""))
    assert list(message) == ["message", "score", "why"]
    assert (message["message"]["conversation_id"], message["message"]["role"]) == (home, "assistant")
    for filters, kinds in (
        ({"type": "preference", "conversation_id": home}, ["message"]),
        ({"type": "preference", "role": "tool"}, ["memory"]),
        ({"type": "preference", "until": "2001-01-01T00:00:00Z"}, []),
        ({"trust": None, "archived": None, "pinned": True, "role": "tool"}, []),
        ({"since": "2100-01-01T00:00:00Z"}, []),
    ):
        asked = client.post("/api/memories/search", json={**ask, "messages": True, "filters": filters})
        assert [next(iter(one)) for one in asked.json()["items"]] == kinds, filters
    one = client.post("/api/memories/search", json={**ask, "limit": 1, "messages": True}).json()["items"]
    assert one == both[:1]


@pytest.mark.spec("S4.3")
def test_extraction_is_queued_or_waited_for_and_happens_once(client: httpx2.Client) -> None:
    home = conversation(client, "I work as a lighthouse keeper.")
    answer = client.post("/api/memories/extract", json={"conversation_id": home})
    job = answer.json()["job"]
    assert (answer.status_code, list(answer.json()), list(job)) == (202, ["job"], JOB)
    assert (job["kind"], job["conversation_id"]) == ("extract", home)
    extract(client, home)  # whoever was first, it is learned when this returns
    (memory,) = listed(client)
    assert (memory["origin"], memory["trust"], memory["source_conversation_id"]) == ("user", "active", home)
    assert "lighthouse keeper" in memory["content"]
    assert memory["quote"] in "I work as a lighthouse keeper."
    (said,) = client.get(f"/api/conversations/{home}").json()["messages"]
    assert (memory["source_message_id"], memory["source_message_ids"]) == (said["id"], [said["id"]])
    assert extract(client, home) == []
    assert listed(client) == [memory]


@pytest.mark.spec("S4.3")
def test_what_was_waited_for_comes_with_the_answer(client: httpx2.Client) -> None:
    found = extract(client, conversation(client, "I work as a glassblower.", "My favourite colour is teal."))
    assert [list(memory) for memory in found] == [COLUMNS, COLUMNS]
    assert sorted(contents(found)) == sorted(contents(listed(client)))


def test_requests_that_make_no_sense_are_refused(client: httpx2.Client) -> None:
    for path, sent in (
        ("search", {}),
        ("search", {"query": ""}),
        ("search", {"query": "a\0b"}),
        ("search", {"query": "x", "limit": 0}),
        ("search", {"query": "x", "limit": 201}),
        ("search", {"query": "x", "messages": "no"}),
        ("search", {"query": "x", "as_of": "2020-01-01"}),
        ("search", {"query": "x", "filters": {"typ": "fact"}}),
        ("search", {"query": "x", "filters": {"role": "robot"}}),
        ("review", {"ids": [], "decision": "approve"}),
        ("review", {"ids": ["x"] * 201, "decision": "approve"}),
        ("review", {"ids": ["x"], "decision": "perhaps"}),
        ("x/review", {"decision": "perhaps"}),
        ("x/review", {}),
        ("extract", {}),
        ("extract?wait=perhaps", {"conversation_id": "x"}),
        ("extract", {"conversation_id": "x" * 129}),
    ):
        assert problem(client.post(f"/api/memories/{path}", json=sent)) == (422, "invalid_input"), (path, sent)
