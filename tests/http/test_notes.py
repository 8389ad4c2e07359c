"""Notes through a real socket: read, changed, looked back on, undone, and the tool's schema (S2.5-S2.7)."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from recollect.domain.note import MAX_NOTE


@pytest.fixture
def agent() -> str:
    """Give an agent that nobody else asks."""
    return f"agent-{uuid.uuid4()}"


def read(client: httpx2.Client, agent: str) -> dict[str, Any]:
    answer = client.get("/api/notes", params={"agent": agent})
    assert answer.status_code == 200, answer.text
    note: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{note["version"]}"'
    return note


def operate(client: httpx2.Client, agent: str, operation: str, **more: Any) -> httpx2.Response:
    return client.post("/api/notes/operations", json={"operation": operation, "agent": agent, **more})


def changed(client: httpx2.Client, agent: str, operation: str, **more: Any) -> str:
    answer = operate(client, agent, operation, **more)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["notes"])


def problem(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


@pytest.mark.spec("S2.5")
def test_a_note_that_nobody_wrote_is_empty_and_each_agent_has_its_own(client: httpx2.Client, agent: str) -> None:
    empty = {"agent": agent, "notes": "", "version": 0, "created_at": None, "updated_at": None}
    assert read(client, agent) == empty
    written = operate(client, agent, "append", content="Drinks tea.")
    note = written.json()
    assert (note["agent"], note["notes"], note["version"]) == (agent, "Drinks tea.", 1)
    assert note["created_at"] == note["updated_at"]
    assert note["created_at"].endswith("Z")
    assert written.headers["etag"] == '"1"'
    assert read(client, agent) == note
    assert read(client, f"{agent}-other")["version"] == 0


@pytest.mark.spec("S2.6")
def test_all_seven_operations_work_over_http(client: httpx2.Client, agent: str) -> None:
    assert changed(client, agent, "overwrite", content="# Tea\ngreen\n") == "# Tea\ngreen\n"
    assert changed(client, agent, "append", content="# Coffee\nnone") == "# Tea\ngreen\n# Coffee\nnone"
    assert changed(client, agent, "prepend", content="About Ada") == "About Ada\n# Tea\ngreen\n# Coffee\nnone"
    replaced = changed(client, agent, "replace_section_by_header", section_header="tea", content="black")
    assert replaced == "About Ada\n# Tea\nblack\n# Coffee\nnone"
    left = changed(client, agent, "delete_section_by_header", section_header="# COFFEE")
    assert left == "About Ada\n# Tea\nblack\n"
    assert changed(client, agent, "read") == left
    assert changed(client, agent, "delete_all_notes") == ""
    default = client.post("/api/notes/operations", json={"agent": agent})
    assert (default.json()["notes"], default.json()["version"]) == ("", 6)


@pytest.mark.parametrize(
    "body",
    [
        {"operation": "shout"},
        {"operation": "append"},
        {"operation": "overwrite", "content": None},
        {"operation": "delete_section_by_header"},
        {"operation": "delete_section_by_header", "section_header": " # "},
        {"operation": "replace_section_by_header", "section_header": "Nowhere", "content": "x"},
        {"operation": "append", "content": "a\0b"},
        {"operation": "append", "content": 7},
        {"operation": "append", "content": "x" * (MAX_NOTE + 1)},
        {"operation": "append", "content": "x", "expected_version": -1},
        {"operation": "append", "content": "x", "agent": ""},
        {"operation": "append", "content": "x", "agent": "line\nbreak"},
        {"operation": "append", "content": "x", "section_header": "h" * 501},
        ["append"],
    ],
)
def test_what_cannot_be_done_is_422_and_changes_nothing(client: httpx2.Client, agent: str, body: Any) -> None:
    sent = {"agent": agent, **body} if isinstance(body, dict) else body
    status, code = problem(client.post("/api/notes/operations", json=sent))
    assert (status, code in ("invalid_input", "invalid_note_operation")) == (422, True)
    assert read(client, agent)["version"] == 0


def test_a_missing_section_is_told_without_a_word_of_the_note(client: httpx2.Client, agent: str) -> None:
    operate(client, agent, "overwrite", content="# Zugvogel\nnistet")
    answer = operate(client, agent, "delete_section_by_header", section_header="Ozelot")
    assert problem(answer) == (422, "invalid_note_operation")
    assert "Zugvogel" not in answer.text
    assert "Ozelot" not in answer.text


def test_a_stale_version_is_412_whether_in_the_body_or_in_if_match(client: httpx2.Client, agent: str) -> None:
    operate(client, agent, "append", content="one")
    assert problem(operate(client, agent, "append", content="no", expected_version=0)) == (412, "stale_version")
    body = {"operation": "append", "content": "no", "agent": agent}
    for header in ('"0"', '"nonsense"', "1"):
        stale = client.post("/api/notes/operations", json=body, headers={"If-Match": header})
        assert problem(stale) == (412, "stale_version")
    both = client.post("/api/notes/operations", json={**body, "expected_version": 1}, headers={"If-Match": '"2"'})
    assert problem(both) == (422, "invalid_input")
    assert read(client, agent)["notes"] == "one"
    for header in ('"1"', 'W/"2"', "*"):
        fresh = client.post("/api/notes/operations", json={**body, "content": "yes"}, headers={"If-Match": header})
        assert fresh.status_code == 200
    assert operate(client, agent, "append", content="last", expected_version=4).json()["version"] == 5


def test_history_is_paged_to_the_end_and_says_what_each_change_left(client: httpx2.Client, agent: str) -> None:
    for number in range(1, 6):
        operate(client, agent, "append", content=str(number))
    seen: list[tuple[int, str]] = []
    cursor: str | None = None
    for expected in (2, 2, 1):
        params: dict[str, Any] = {"agent": agent, "limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/api/notes/history", params=params).json()
        assert len(page["items"]) == expected
        seen += [(one["version"], one["notes"]) for one in page["items"]]
        cursor = page["next"]
    assert cursor is None
    assert seen == [(n, "\n".join(map(str, range(1, n + 1)))) for n in (5, 4, 3, 2, 1)]
    first = client.get("/api/notes/history", params={"agent": agent}).json()["items"][-1]
    assert (first["operation"], first["conversation_id"], first["agent"]) == ("append", None, agent)
    for bad in ("nonsense", "IngiOg", "LTE"):
        answer = client.get("/api/notes/history", params={"agent": agent, "cursor": bad})
        assert answer.status_code == 422
    for limit in (0, 201, "x"):
        assert client.get("/api/notes/history", params={"agent": agent, "limit": limit}).status_code == 422


def test_undo_brings_the_text_before_back_as_a_new_version(client: httpx2.Client, agent: str) -> None:
    assert problem(client.post("/api/notes/undo", params={"agent": agent})) == (404, "note_not_found")
    operate(client, agent, "append", content="kept")
    operate(client, agent, "delete_all_notes")
    undone = client.post("/api/notes/undo", params={"agent": agent})
    assert (undone.json()["notes"], undone.json()["version"], undone.headers["etag"]) == ("kept", 3, '"3"')


def test_the_same_idempotency_key_changes_the_note_once(client: httpx2.Client, agent: str) -> None:
    body = {"operation": "append", "content": "once", "agent": agent}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (client.post("/api/notes/operations", json=body, headers=headers) for _ in range(2))
    assert (again.status_code, again.content, again.headers["etag"]) == (200, first.content, '"1"')
    assert read(client, agent)["notes"] == "once"
    other = client.post("/api/notes/operations", json={**body, "content": "other"}, headers=headers)
    assert problem(other)[0] == 422
    assert read(client, agent)["notes"] == "once"


def test_concurrent_appends_all_survive(client: httpx2.Client, agent: str) -> None:
    words = [f"w{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda word: operate(client, agent, "append", content=word), words))
    assert {answer.status_code for answer in answers} == {200}
    assert sorted(answer.json()["version"] for answer in answers) == list(range(1, 13))
    assert sorted(read(client, agent)["notes"].split("\n")) == sorted(words)


def test_any_text_comes_back_as_it_was(client: httpx2.Client, agent: str) -> None:
    odd = "\ufeff# עברית\r\n\u202e👩‍👩‍👧 e\u0301 \u2028 \x7f \U0010ffff\t'; DROP TABLE notes; --\n"
    assert changed(client, agent, "overwrite", content=odd) == odd
    assert read(client, agent)["notes"] == odd
    long = "ß" * MAX_NOTE
    assert changed(client, agent, "overwrite", content=long) == long


def test_secrets_are_not_noted(client: httpx2.Client, agent: str) -> None:
    text = changed(client, agent, "append", content="My card is 4111 1111 1111 1111.")
    assert "4111" not in text


@pytest.mark.spec("S2.6")
@pytest.mark.parametrize(
    ("protocol", "place"),
    [("openai", ("function", "parameters")), ("anthropic", ("input_schema",)), ("mcp", ("inputSchema",))],
)
def test_the_tool_is_described_for_each_protocol(client: httpx2.Client, protocol: str, place: tuple[str, ...]) -> None:
    tool = client.get("/api/notes/tool", params={"protocol": protocol}).json()
    schema = tool
    for key in place:
        schema = schema[key]
    assert (tool["function"] if protocol == "openai" else tool)["name"] == "manage_long_term_memory"
    assert set(schema["properties"]) == {"operation", "content", "section_header"}
    assert len(schema["properties"]["operation"]["enum"]) == 7
    assert client.get("/api/notes/tool", params={"protocol": "smtp"}).status_code == 422
