"""What a user sets for themselves, through a real socket: told with the settings, changed, and obeyed."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2
import pytest

from tests.http.conftest import AsUser

SETTINGS = "/api/settings"


@pytest.fixture
def user(as_user: AsUser) -> httpx2.Client:
    """Give a client of a user whom nobody knows yet."""
    return as_user(f"user-{uuid.uuid4().hex}")


def changed(client: httpx2.Client, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    """Change what the user set, and return it as the answer tells it."""
    answer = client.patch(SETTINGS, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()["user"]
    assert answer.headers["ETag"] == f'"{told["version"]}"'
    return told


def test_what_is_sent_is_changed_and_the_rest_stays(user: httpx2.Client) -> None:
    before = user.get(SETTINGS)
    assert (before.status_code, before.headers["ETag"]) == (200, '"0"')
    assert before.json()["user"] == {"memory_enabled": True, "instructions": "", "version": 0}
    odd = "Answer in 日本語 😀, briefly.\n\t'; DROP TABLE preferences; --"
    assert changed(user, {"instructions": odd}) == {"memory_enabled": True, "instructions": odd, "version": 1}
    assert changed(user, {"memory_enabled": False}) == {"memory_enabled": False, "instructions": odd, "version": 2}
    assert changed(user, {})["version"] == 2
    assert changed(user, {"instructions": odd, "memory_enabled": False})["version"] == 2
    after = user.get(SETTINGS).json()
    assert after.pop("user") == {"memory_enabled": False, "instructions": odd, "version": 2}
    told = before.json()
    del told["user"]
    assert after == told
    assert changed(user, {"instructions": ""})["instructions"] == ""


def test_a_stale_version_changes_nothing(user: httpx2.Client) -> None:
    assert changed(user, {"memory_enabled": False}, **{"If-Match": '"0"'})["version"] == 1
    for stale in ('"0"', '"7"', "what"):
        answer = user.patch(SETTINGS, json={"memory_enabled": True}, headers={"If-Match": stale})
        assert (answer.status_code, answer.json()["code"]) == (412, "stale_version")
    assert user.get(SETTINGS).json()["user"] == {"memory_enabled": False, "instructions": "", "version": 1}
    assert changed(user, {"memory_enabled": True}, **{"If-Match": "*"})["version"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"memory_enabled": "false"},
        {"memory_enabled": 0},
        {"memory_enabled": None},
        {"instructions": None},
        {"instructions": 7},
        {"instructions": ["Be brief."]},
        {"instructions": "x" * 4_001},
        {"instructions": "a\0b"},
        {"instructions": "half \ud800 of a pair"},
        [],
        "brief",
    ],
)
def test_what_is_no_preference_is_refused_and_changes_nothing(user: httpx2.Client, body: Any) -> None:
    raw = json.dumps(body)
    answer = user.patch(SETTINGS, content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert user.get(SETTINGS).json()["user"]["version"] == 0


def test_instructions_may_be_4000_characters_of_any_width(user: httpx2.Client) -> None:
    long = "😀" * 4_000
    assert changed(user, {"instructions": long})["instructions"] == long


def test_secrets_in_instructions_are_redacted(user: httpx2.Client) -> None:
    assert "4111" not in changed(user, {"instructions": "My card is 4111 1111 1111 1111."})["instructions"]


def test_memory_that_is_switched_off_is_not_told_and_stays_in_the_users_hands(user: httpx2.Client) -> None:
    pinned = {"content": "Is called Ada", "memory_type": "fact", "is_pinned": True}
    assert user.post("/api/memories", json=pinned).status_code == 201
    made = user.post("/api/memories", json={"content": "Likes green tea", "memory_type": "preference"})
    assert made.status_code == 201
    asked = {"message": "Which tea do I like?"}
    first = user.post("/api/chat", json=asked).json()
    assert "green tea" in first["message"]["content"]
    assert {one["content"] for one in first["memories_used"]} >= {"Is called Ada", "Likes green tea"}
    changed(user, {"memory_enabled": False, "instructions": "Be brief."})
    second = user.post("/api/chat", json=asked).json()
    assert "green tea" not in second["message"]["content"]
    assert second["memories_used"] == []
    place = f"/api/conversations/{second['conversation_id']}/context"
    context = user.get(place, params={"query": "Which tea do I like?"}).json()
    assert "Be brief." in json.dumps(context)
    assert "Likes green tea" not in json.dumps(context)
    assert "Is called Ada" not in json.dumps(context)
    memory = f"/api/memories/{made.json()['id']}"
    listed = [one["content"] for one in user.get("/api/memories").json()["items"]]
    assert sorted(listed) == ["Is called Ada", "Likes green tea"]
    assert user.patch(memory, json={"content": "Likes black tea"}).status_code == 200
    changed(user, {"memory_enabled": True})
    assert "black tea" in user.post("/api/chat", json=asked).json()["message"]["content"]


def test_preferences_are_the_users_own_and_a_reader_changes_nothing(as_user: AsUser) -> None:
    ada, same, other = (f"{name}-{uuid.uuid4().hex}" for name in ("ada", "acme", "other"))
    first = as_user(ada, tenant=same)
    changed(first, {"instructions": "Be brief."})
    for client in (as_user(ada, tenant=other), as_user("bob", tenant=same)):
        assert client.get(SETTINGS).json()["user"]["version"] == 0
    reader = as_user(ada, tenant=same, rights=frozenset(("read",)))
    assert reader.get(SETTINGS).json()["user"]["instructions"] == "Be brief."
    assert reader.patch(SETTINGS, json={"instructions": ""}).status_code == 403
    assert first.get(SETTINGS).json()["user"]["version"] == 1


def test_preferences_leave_with_the_export_and_go_with_the_user(user: httpx2.Client, as_user: AsUser) -> None:
    changed(user, {"memory_enabled": False, "instructions": "Be brief."})
    file = user.get("/api/me/export").content
    kept = [json.loads(line) for line in file.splitlines() if b'"preferences",' in line]
    assert [(one["memory_enabled"], one["instructions"]) for one in kept] == [(False, "Be brief.")]
    heir = as_user(f"heir-{uuid.uuid4().hex}")
    headers = {"Content-Type": "application/x-ndjson"}
    untrusted = heir.post("/api/import", content=file, headers=headers).json()
    assert (untrusted["preferences"], untrusted["refused"]) == (0, 1)
    trusted = heir.post("/api/import", params={"trusted": "true"}, content=file, headers=headers).json()
    assert (trusted["preferences"], trusted["refused"]) == (1, 0)
    assert heir.get(SETTINGS).json()["user"] == {"memory_enabled": False, "instructions": "Be brief.", "version": 1}
    assert user.delete("/api/me").json()["erased"]["preferences"] == 1


def test_a_change_is_told_to_the_users_other_sessions(user: httpx2.Client) -> None:
    with user.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        changed(user, {"memory_enabled": False})
        for line in lines:
            if line.startswith("event: settings"):
                assert line == "event: settings.updated"
                assert "user-" in next(lines)
                return
    raise AssertionError("nothing was told")
