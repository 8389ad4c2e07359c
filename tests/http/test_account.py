"""All that is a user's through a real socket: exported, taken in elsewhere, and erased with a receipt (B5, B6)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.support.server_process import Served, new_service_key, served

LINES = {"Content-Type": "application/x-ndjson"}
ENVIRON = {"RECOLLECT_AUTH_MODE": "token", "RECOLLECT_SERVER_MAX_BODY_BYTES": "2000000"}
ODD = "\u202eאב 👩‍👩‍👧 e\u0301 \u2028 \x7f \U0010ffff\t'; DROP TABLE messages; --\r\n"


@pytest.fixture(scope="module")
def server(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(served_database, tmp_path_factory.mktemp("server"), ENVIRON) as opened:
        yield opened


@pytest.fixture(scope="module")
def key(served_database: str, server: Served, tmp_path_factory: pytest.TempPathFactory) -> str:
    return new_service_key(served_database, tmp_path_factory.mktemp("keys"))


@pytest.fixture
def make_user(server: Served, key: str) -> Iterator[Callable[[], httpx2.Client]]:
    made: list[httpx2.Client] = []

    def make() -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key}", "Recollect-User": f"user-{uuid.uuid4()}"}
        made.append(httpx2.Client(base_url=server.client.base_url, timeout=30, headers=headers))
        return made[-1]

    yield make
    for user in made:
        user.close()


@pytest.fixture
def ada(make_user: Callable[[], httpx2.Client]) -> httpx2.Client:
    """Give a user who has one of everything."""
    user = make_user()
    done(user.post("/api/conversations", json={"id": "c1", "title": "Trees", "metadata": {"colour": "blue"}}))
    said = [
        {"id": "m1", "role": "user", "content": "Which tree?"},
        {"id": "m2", "role": "assistant", "content": ODD, "custom_payload": {"shown": [1, 2.5, None]}},
        {"id": "m3", "role": "assistant", "content": "An oak.", "parent_id": "m1"},
    ]
    done(user.post("/api/conversations/c1/messages", json={"messages": said}))
    done(user.patch("/api/conversations/c1", json={"head_id": "m2", "is_pinned": True}))
    memory = {"content": "Plays the cello", "memory_type": "preference", "is_pinned": True, "category": "music"}
    done(user.post("/api/memories", json=memory))
    for content in ("tea", "coffee"):
        done(user.post("/api/notes/operations", json={"operation": "append", "content": content, "agent": "guide"}))
    return user


def done(answer: httpx2.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


def exported(user: httpx2.Client) -> bytes:
    answer = user.get("/api/me/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert answer.content.endswith(b"\n")
    return answer.content


def kinds(text: bytes) -> list[str]:
    return [json.loads(line)["kind"] for line in text.splitlines()]


def take_in(user: httpx2.Client, text: bytes, **params: Any) -> dict[str, Any]:
    told: dict[str, Any] = done(user.post("/api/import", content=text, params=params, headers=LINES))
    return {name: count for name, count in told.items() if count}


def test_an_export_is_a_file_of_json_lines_with_all_that_is_the_users(ada: httpx2.Client) -> None:
    answer = ada.get("/api/me/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="recollect-export.jsonl"'
    assert kinds(answer.content) == ["export", "conversation", *["message"] * 3, "memory", "note", "note", "end"]
    records = [json.loads(line) for line in answer.content.splitlines()]
    assert (records[0]["format"], records[0]["version"]) == ("recollect", 1)
    assert [one["content"] for one in records if one["kind"] == "message"] == ["Which tree?", ODD, "An oak."]
    assert [one["notes"] for one in records if one["kind"] == "note"] == ["tea", "tea\ncoffee"]
    counts = {"conversations": 1, "messages": 3, "summaries": 0, "memories": 1, "notes": 2, "damaged": 0}
    assert records[-1] == {"kind": "end", **counts, "preferences": 0}


def test_an_export_is_of_nobody_else(ada: httpx2.Client, make_user: Callable[[], httpx2.Client]) -> None:
    assert kinds(exported(make_user())) == ["export", "end"]
    assert len(kinds(exported(ada))) == 9


def test_a_trusted_export_comes_back_in_another_user(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client]
) -> None:
    text, bob = exported(ada), make_user()
    assert take_in(bob, text, trusted=True) == {"conversations": 1, "messages": 3, "memories": 1, "notes": 2}
    opened = done(bob.get("/api/conversations/c1"))
    assert (opened["title"], opened["is_pinned"], opened["metadata"]) == ("Trees", True, {"colour": "blue"})
    assert [(one["id"], one["content"]) for one in opened["messages"]] == [("m1", "Which tree?"), ("m2", ODD)]
    assert opened["messages"][1]["custom_payload"] == {"shown": [1, 2.5, None]}
    (memory,) = done(bob.get("/api/memories"))["items"]
    assert (memory["content"], memory["is_pinned"], memory["origin"]) == ("Plays the cello", True, "import")
    note = done(bob.get("/api/notes", params={"agent": "guide"}))
    assert (note["notes"], note["version"]) == ("tea\ncoffee", 2)
    found = done(bob.post("/api/memories/search", json={"query": "tree", "messages": True}))["items"]
    assert "Which tree?" in str(found)
    assert take_in(bob, text, trusted=True) == {"skipped": 7}
    assert done(ada.get("/api/memories"))["items"][0]["origin"] == "manual"


def test_memories_of_a_file_wait_for_review_unless_it_is_trusted(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client]
) -> None:
    bob = make_user()
    told = done(bob.post("/api/import", content=exported(ada), headers=LINES))
    assert (told["memories"], told["notes"], told["refused"]) == (1, 0, 2)
    assert told["refusals"] == [
        {"line": line, "why": "notes are taken over only from a trusted file"} for line in (7, 8)
    ]
    assert done(bob.get("/api/memories"))["items"] == []
    (waiting,) = done(bob.get("/api/memories", params={"trust": "pending"}))["items"]
    assert (waiting["origin"], waiting["is_pinned"]) == ("import", False)
    done(bob.post(f"/api/memories/{waiting['id']}/review", json={"decision": "approve"}))
    assert len(done(bob.get("/api/memories"))["items"]) == 1


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_exported_conversation_can_be_taken_in_too(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client], form: str
) -> None:
    text = ada.get("/api/conversations/c1/export", params={"format": form}).content
    bob = make_user()
    assert take_in(bob, text) == {"conversations": 1, "messages": 3}
    assert take_in(bob, text) == {"skipped": 4}


def test_a_bad_line_is_422_and_names_itself_and_what_was_stored_before_it(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client]
) -> None:
    bob, lines = make_user(), exported(ada).splitlines()
    spoilt = b"\n".join([*lines[:4], lines[4].replace(b'"seq":3', b'"seq":"Geheimnis"'), *lines[5:]])
    answer = bob.post("/api/import", content=spoilt, headers=LINES)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    told = answer.json()
    assert told["code"] == "invalid_input"
    assert told["detail"].startswith(
        "line 5: Expected int, got str - at $.seq; stored before it: conversations 1, messages 2,"
    )
    assert "Geheimnis" not in answer.text
    assert take_in(bob, b"\n".join(lines[:6])) == {"messages": 1, "memories": 1, "skipped": 3}


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[1, 2]", b"null", b'{"kind": NaN}', b"\0", b"{" * 100_000])
def test_what_is_no_export_is_422(make_user: Callable[[], httpx2.Client], body: bytes) -> None:
    assert make_user().post("/api/import", content=body, headers=LINES).status_code == 422


def test_an_empty_file_stores_nothing(make_user: Callable[[], httpx2.Client]) -> None:
    bob = make_user()
    assert take_in(bob, b"") == {}
    assert take_in(bob, b"\n\n\r\n") == {}
    assert bob.post("/api/import", content=b"x" * 2_000_001, headers=LINES).status_code == 413


def test_a_user_in_the_file_is_nobodys_business(ada: httpx2.Client, make_user: Callable[[], httpx2.Client]) -> None:
    bob = make_user()
    forged = b'{"kind":"conversation","user":"%b","tenant":"t","user_id":"x",' % ada.headers["recollect-user"].encode()
    text = exported(ada).replace(b'{"kind":"conversation",', forged).replace(b'"c1"', b'"c9"')
    assert take_in(bob, text)["conversations"] == 1
    assert done(bob.get("/api/conversations/c9"))["message_count"] == 3
    assert ada.get("/api/conversations/c9").status_code == 404


def test_the_same_idempotency_key_gets_the_same_answer(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client]
) -> None:
    text, bob = exported(ada), make_user()
    headers = {**LINES, "Idempotency-Key": str(uuid.uuid4())}
    first, again = (bob.post("/api/import", content=text, headers=headers) for _ in range(2))
    assert (first.status_code, again.content) == (200, first.content)
    assert first.json()["messages"] == 3
    other = bob.post("/api/import", content=text + b"\n", headers=headers)
    assert other.status_code == 422


def test_a_long_conversation_is_streamed_and_taken_in_by_parts(
    make_user: Callable[[], httpx2.Client], count: Callable[[int, int], int]
) -> None:
    user, bob = make_user(), make_user()
    total = count(400, 20_000)
    done(user.post("/api/conversations", json={"id": "long"}))
    for start in range(0, total, 200):
        said = [
            {"id": f"m{n:05}", "role": "user", "content": f"{n} " + "plain words " * 100}
            for n in range(start, start + 200)
        ]
        done(user.post("/api/conversations/long/messages", json={"messages": said}))
    with user.stream("GET", "/api/me/export") as answer:
        assert "content-length" not in answer.headers
        lines = list(answer.iter_lines())
    assert sum(json.loads(line)["kind"] == "message" for line in lines) == total
    stored = [
        take_in(bob, "\n".join(lines[start : start + 250]).encode()).get("messages", 0)
        for start in range(0, len(lines), 250)
    ]
    assert sum(stored) == total
    page = done(bob.get("/api/conversations/long/messages", params={"limit": 3}))["items"]
    assert [(one["seq"], one["id"]) for one in page] == [(n + 1, f"m{n:05}") for n in range(total - 3, total)]


@pytest.mark.spec("B5")
@pytest.mark.spec("B6")
def test_erasing_a_user_gives_a_receipt_and_an_import_does_not_bring_it_back(
    ada: httpx2.Client, make_user: Callable[[], httpx2.Client]
) -> None:
    text, bob = exported(ada), make_user()
    take_in(bob, text, trusted=True)
    answer = ada.delete("/api/me")
    receipt = answer.json()
    assert answer.status_code == 200
    assert uuid.UUID(receipt["receipt_id"]).version == 7
    erased = receipt["erased"]
    assert (erased["conversations"], erased["messages"], erased["memories"], erased["notes"]) == (1, 3, 1, 1)
    assert erased["note_versions"] == 2
    assert kinds(exported(ada)) == ["export", "end"]
    assert done(ada.post("/api/memories/search", json={"query": "tree cello", "messages": True}))["items"] == []
    again = take_in(ada, text)
    assert (again["refused"], "messages" in again, "memories" in again) == (7, False, False)
    assert len(kinds(exported(bob))) == 9
    assert not any(ada.delete("/api/me").json()["erased"].values())


def test_only_who_may_write_may_import_and_erase(server: Served) -> None:
    for method, path in (("GET", "/api/me/export"), ("POST", "/api/import"), ("DELETE", "/api/me")):
        refused = server.client.request(method, path)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
