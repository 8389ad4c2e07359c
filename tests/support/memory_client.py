"""A person with memories, as a client of the server sees them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx2

#: Settings of a server that learns only when it is asked to, however slowly the test runs.
ONLY_WHEN_ASKED = {"RECOLLECT_JOBS_DEBOUNCE_SECONDS": "600"}
COLUMNS = [
    *("id", "agent", "memory_type", "category", "content", "importance", "confidence", "is_pinned", "is_archived"),
    *("origin", "trust", "quote", "source_conversation_id", "source_message_id", "source_message_ids", "subject"),
    *("attribute", "valid_from", "valid_to", "superseded_by", "created_at", "updated_at", "last_accessed_at"),
    *("access_count", "version"),
]


def listed(client: httpx2.Client, **filters: Any) -> list[dict[str, Any]]:
    """Return a page of memories by filter."""
    answer = client.get("/api/memories", params=filters)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def contents(memories: list[dict[str, Any]]) -> list[str]:
    """Return what memories say."""
    return [memory["content"] for memory in memories]


def add(client: httpx2.Client, content: str, memory_type: str = "fact", **more: object) -> dict[str, Any]:
    """Add a memory by hand that is new."""
    answer = client.post("/api/memories", json={"content": content, "memory_type": memory_type, **more})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()
    return memory


def conversation(client: httpx2.Client, *said: str, **more: object) -> str:
    """Store what a user said in a new conversation and return its id."""
    made: str = client.post("/api/conversations", json={"id": f"c-{uuid.uuid4()}"}).json()["id"]
    if said:
        messages = [{"role": "user", "content": text, **more} for text in said]
        answer = client.post(f"/api/conversations/{made}/messages", json={"messages": messages})
        assert answer.is_success, answer.text
    return made


def extract(client: httpx2.Client, conversation_id: str) -> list[dict[str, Any]]:
    """Learn from a conversation now and return what was learned."""
    answer = client.post("/api/memories/extract?wait=true", json={"conversation_id": conversation_id})
    assert answer.status_code == 200, answer.text
    assert list(answer.json()) == ["items"]
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def waiting(client: httpx2.Client, *said: str) -> list[dict[str, Any]]:
    """Learn from what somebody else wrote, so that it waits for review."""
    found = extract(client, conversation(client, *said, metadata={"origin": "import"}))
    assert [memory["trust"] for memory in found] == ["pending"] * len(said)
    return found


def pages(client: httpx2.Client, path: str, **asked: Any) -> Iterator[list[dict[str, Any]]]:
    """Read a list page by page to its end."""
    cursor: str | None = None
    while True:
        answer = client.get(path, params={**asked, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        yield answer.json()["items"]
        cursor = answer.json()["next"]
        if cursor is None:
            return


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Return the status and the code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == answer.status_code
    return answer.status_code, found["code"]


def forget_all(client: httpx2.Client) -> None:
    """Erase every memory, whatever became of it."""
    for trust in ("active", "pending", "rejected"):
        for archived in (False, True):
            for memory in listed(client, trust=trust, archived=archived, limit=200):
                assert client.delete(f"/api/memories/{memory['id']}?now=true").status_code == 204
