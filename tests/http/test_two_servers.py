"""Two servers on one Postgres and one Redis behave as one, and one of them may be killed at any time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import Served, served


@pytest.fixture
def servers(postgres_url: str, redis_url: str, tmp_path: Path) -> Iterator[list[Served]]:
    """Serve one database twice."""
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("first", "second")]
        for folder in folders:
            folder.mkdir()
        yield [stack.enter_context(served(postgres_url, one, {"RECOLLECT_REDIS": redis_url})) for one in folders]


def say(server: Served, text: str, key: str | None = None) -> dict[str, Any]:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = server.client.post("/api/chat", json={"message": text, "conversation_id": "shared"}, headers=headers)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def said(server: Served) -> list[str]:
    page = server.client.get("/api/conversations/shared/messages", params={"limit": 200}).json()
    messages = [one for one in page["items"] if one["role"] != "summary"]
    assert [one["seq"] for one in messages] == list(range(1, len(messages) + 1))
    return [one["content"] for one in messages if one["role"] == "user"]


@pytest.mark.spec("S2.15")
def test_two_servers_are_one(servers: list[Served]) -> None:
    first, second = servers
    # Each turn goes on from what the other server wrote a moment ago.
    for number in range(10):
        say(servers[number % 2], f"Turn {number}")
    assert said(first) == said(second) == [f"Turn {number}" for number in range(10)]

    # A retry may reach the other server.
    once = say(first, "Only once", key="retried")
    assert say(second, "Only once", key="retried")["message"] == once["message"]

    # What one is told by hand, the other recalls.
    told = first.client.post("/api/memories", json={"content": "The user keeps bees", "memory_type": "fact"})
    assert told.status_code == 201
    found = second.client.post("/api/memories/search", json={"query": "Which animals does the user keep?"}).json()
    assert "The user keeps bees" in str(found)

    # Both at once on one conversation: one order, nothing lost.
    with ThreadPoolExecutor(8) as clients:
        texts = [f"At once {number}" for number in range(16)]
        list(clients.map(lambda pair: say(servers[pair[0] % 2], pair[1]), enumerate(texts)))
    assert sorted(said(first)[11:]) == sorted(texts)
    assert said(first) == said(second)


@pytest.mark.spec("S2.15")
def test_one_that_is_killed_takes_nothing_with_it(servers: list[Served]) -> None:
    first, second = servers
    acknowledged = []
    for number in range(6):
        say(first, f"Turn {number}")
        acknowledged.append(f"Turn {number}")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(10)
    say(second, "After the kill")
    assert said(second) == [*acknowledged, "After the kill"]
