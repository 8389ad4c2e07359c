"""Chat, store, recall and reply through a real socket and a real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.server_process import serving


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'recollect.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def client(database: str, tmp_path: Path) -> Iterator[httpx2.Client]:
    with serving(database, tmp_path) as opened:
        yield opened


def test_what_was_said_in_one_conversation_is_recalled_in_another(client: httpx2.Client) -> None:
    first = client.post("/api/chat", json={"message": "My cat Miso lives in Bergen."}).json()
    second = client.post("/api/chat", json={"message": "Where does my cat live?"}).json()
    assert second["conversation_id"] != first["conversation_id"]
    assert "Bergen" in second["message"]["content"]
    assert second["durability"] == "durable"


def test_a_turn_outlives_the_server(database: str, tmp_path: Path) -> None:
    with serving(database, tmp_path) as client:
        turn = client.post("/api/chat", json={"message": "Remember the blue door."}).json()
    with serving(database, tmp_path) as client:
        page = client.get(f"/api/conversations/{turn['conversation_id']}/messages").json()
        listed = client.get("/api/conversations").json()["items"]
    assert [(m["seq"], m["role"]) for m in page["items"]] == [(1, "user"), (2, "assistant")]
    assert [(c["title"], c["message_count"]) for c in listed] == [("Remember the blue door.", 2)]


def test_the_pages_ask_nothing_of_the_outside(client: httpx2.Client) -> None:
    for path in ("/docs", "/pages/api.js", "/pages/page.css"):
        page = client.get(path)
        assert page.status_code == 200
        assert "default-src 'self'" in page.headers["content-security-policy"]
        assert "http://" not in page.text
        assert "https://" not in page.text
    assert "/api/chat" in client.get("/openapi.json").json()["paths"]


def test_a_missing_conversation_is_a_problem(client: httpx2.Client) -> None:
    answer = client.get("/api/conversations/nowhere/messages")
    assert (answer.status_code, answer.json()["code"]) == (404, "conversation_not_found")
