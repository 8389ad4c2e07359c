"""The API is what its document says: schemathesis calls every operation with data that fits and data that does not."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.chat_client import STREAM, events_of
from tests.support.listener import listening
from tests.support.server_process import Served, clean_environ, new_service_key, served

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
)
#: A stream that ends only with its client; `test_streams_are_as_documented` looks at it.
ENDLESS = "/api/events"
#: A request with two faults may be refused for either: 412 is a stale If-Match, 413 a body that is too large.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422"]
"""
ROOT = Path(__file__).parents[2]


def examined(server: Served, folder: Path, *options: str) -> str:
    """Let schemathesis call the server, and return its report; what fails is told at its end."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    program = str(Path(sys.executable).with_name("schemathesis"))
    fixed = ("--generation-deterministic", "--no-color", "--warnings", "off", "--request-timeout", "20")
    chosen = ("--checks", ",".join(CHECKS), "--exclude-path", ENDLESS)
    run = subprocess.run(
        [program, "run", f"{server.client.base_url}/openapi.json", *fixed, *chosen, *options],
        cwd=folder,
        env=clean_environ() | {"PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.support.schemathesis_hooks"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def operations(server: Served) -> int:
    """Count the operations of the document."""
    paths: dict[str, dict[str, Any]] = server.client.get("/openapi.json").json()["paths"]
    return sum(len(methods) for methods in paths.values())


def check_all_were_called(server: Served, report: str) -> None:
    """Check that no operation was left out but the endless one, and that nothing went wrong inside."""
    found = re.search(r"Tested: (\d+)", report)
    assert found is not None, report
    assert int(found[1]) == operations(server) - 1
    assert [line for line in server.logged() if line["level"] in ("error", "critical")] == []


@pytest.mark.spec("R20")
@pytest.mark.timeout(600)
def test_every_answer_to_the_local_user_is_documented(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as server:
        report = examined(server, tmp_path, "--phases", "examples,coverage,fuzzing", "-n", str(count(3, 200)))
        check_all_were_called(server, report)


@pytest.mark.spec("R20")
@pytest.mark.timeout(600)
def test_every_answer_to_a_key_is_documented(
    tmp_path: Path, postgres_url: str, count: Callable[[int, int], int]
) -> None:
    # A service's key: erasing a user, which is an operation like any other, erases the keys of that user.
    headers = ("-H", f"Authorization: Bearer {new_service_key(postgres_url, tmp_path)}", "-H", "Recollect-User: schema")
    phases = "examples,fuzzing" if count(1, 2) == 1 else "examples,coverage,fuzzing"
    environ = {"RECOLLECT_AUTH_MODE": "token", "RECOLLECT_SERVER_REQUESTS_PER_MINUTE": "0"}
    with served(postgres_url, tmp_path, environ) as server:
        report = examined(server, tmp_path, "--phases", phases, "-n", str(count(3, 200)), *headers)
        check_all_were_called(server, report)


def test_streams_are_as_documented(client: httpx2.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    with listening(client) as heard:
        kind = heard.response.headers["content-type"].partition(";")[0]
        assert (heard.response.status_code, kind) == (200, "text/event-stream")
        assert kind in paths[ENDLESS]["get"]["responses"]["200"]["content"]
        made = client.post("/api/conversations", json={}).json()["id"]
        heard.hear_until(("conversation.created", {"id": made}))
    with client.stream("POST", "/api/chat", json={"message": "hi"}, headers=STREAM) as answer:
        kinds = paths["/api/chat"]["post"]["responses"]["200"]["content"]
        assert answer.headers["content-type"].partition(";")[0] in kinds
        begun, *_ = events_of(answer.iter_lines())
    with client.stream("GET", f"/api/chat/{begun.data['message_id']}/stream") as answer:
        kinds = paths["/api/chat/{message_id}/stream"]["get"]["responses"]["200"]["content"]
        assert answer.headers["content-type"].partition(";")[0] in kinds
        assert [event.name for event in events_of(answer.iter_lines())][-1] == "done"


# What it found once


@pytest.mark.parametrize("policy", ["turn", "ahead"])
def test_a_question_under_an_erased_id_is_refused_with_its_reply(client: httpx2.Client, policy: str) -> None:
    session = f"s-{uuid.uuid4()}"
    said = {"id": "m-1", "text": "I moved to Oslo.", "sender": "user"}
    turn = {"session_id": session, "new_messages": [said], "write_policy": policy}
    client.post("/api/chat", json=turn).raise_for_status()
    client.post("/api/chat/clear", json={"session_id": session}).raise_for_status()
    again = client.post("/api/chat", json=turn)
    assert (again.status_code, again.json()["code"]) == (409, "erased")
    assert client.get(f"/api/conversations/{session}/messages").json()["items"] == []
    other = {**turn, "new_messages": [said, {**said, "id": "m-2", "text": "Where do I live?"}]}
    client.post("/api/chat", json=other).raise_for_status()
    kept = client.get(f"/api/conversations/{session}/messages").json()["items"]
    assert [(one["role"], one["seq"]) for one in kept] == [("user", 1), ("assistant", 2)]


@pytest.mark.parametrize("moment", ["0.5", "1789000000", "1789000000000", "2026-05-17", "2026-05-17T09:30:00"])
def test_a_time_is_written_out_with_its_zone(client: httpx2.Client, moment: str) -> None:
    for path, name in (("/api/memories", "as_of"), ("/api/usage", "since"), ("/api/usage", "until")):
        assert client.get(path, params={name: moment}).status_code == 422
        assert client.get(path, params={name: "2026-05-17T09:30:00+02:00"}).status_code == 200
    session = f"s-{uuid.uuid4()}"
    for one in (moment, float(moment) if "-" not in moment else moment):
        batch = [{"text": "hi", "sender": "user", "timestamp": one}]
        answer = client.post(
            "/api/chat/session/archive_messages", json={"session_id": session, "messages_batch": batch}
        )
        assert answer.status_code == 422
