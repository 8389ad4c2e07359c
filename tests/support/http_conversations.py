"""Conversations for tests of the API: new ones by name, and what of an answer is looked at."""

from __future__ import annotations

import uuid
from typing import Any

import httpx2


def new_name() -> str:
    """Return an id that no other test uses."""
    return f"c-{uuid.uuid4().hex}"


def conversation(client: httpx2.Client, *contents: str, **fields: Any) -> str:
    """Create a conversation in which a user said these things, under the ids m1, m2, …, and return its id."""
    name = new_name()
    created = client.post("/api/conversations", json={"id": name, **fields})
    assert created.status_code == 201, created.text
    if contents:
        said = [{"id": f"m{n}", "role": "user", "content": text} for n, text in enumerate(contents, 1)]
        add(client, name, *said)
    return name


def add(client: httpx2.Client, conversation_id: str, *messages: dict[str, Any]) -> dict[str, Any]:
    """Add messages and return the answer."""
    answer = client.post(f"/api/conversations/{conversation_id}/messages", json={"messages": list(messages)})
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    return added


def page(client: httpx2.Client, conversation_id: str, **query: Any) -> dict[str, Any]:
    """Read a page of messages."""
    answer = client.get(f"/api/conversations/{conversation_id}/messages", params=query)
    assert answer.status_code == 200, answer.text
    read: dict[str, Any] = answer.json()
    return read


def ids(items: list[dict[str, Any]]) -> list[str]:
    """Return the ids of what was answered."""
    return [item["id"] for item in items]


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Return the status and the code of a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    told: dict[str, Any] = answer.json()
    assert set(told) == {"type", "title", "status", "detail", "code", "request_id"}
    assert told["status"] == answer.status_code
    return answer.status_code, told["code"]
