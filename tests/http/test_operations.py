"""What those who run a server are told: whether it can work, what it counts, and what it logs."""

from __future__ import annotations

import io
import json
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from recollect.errors import StorageError
from recollect.http.logs import JsonLines, TextLines, write_logs
from recollect.http.request_id import RequestIds, request_id
from recollect.http.traffic import Traffic
from recollect.settings import LoggingSettings
from tests.support.server_process import Served, served
from tests.support.servers import PostgresServer, RedisServer

WORDS = "the zebra's birthday is a secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with served(f"sqlite:///{folder / 'a.db'}", folder) as opened:
        yield opened


def counted(client: httpx2.Client, name: str) -> dict[tuple[str, ...], float]:
    found = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sample.labels[label] for label in sorted(sample.labels))] = sample.value
    return found


# Readiness


def test_a_server_that_can_work_says_so_and_tells_nothing_else(server: Served) -> None:
    answer = server.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "store": "ok", "cache": "ok", "model": "none", "jobs": "ok"}


def test_without_its_store_a_server_is_not_ready_but_alive_and_then_ready_again(
    start_postgres: Callable[..., PostgresServer], tmp_path: Path
) -> None:
    postgres = start_postgres(durable=False)
    with served(postgres.address.url(), tmp_path) as opened:
        assert opened.client.get("/readyz").status_code == 200
        postgres.kill()
        away = opened.client.get("/readyz")
        assert (away.status_code, away.json()["status"], away.json()["store"]) == (503, "unavailable", "away")
        assert away.headers["retry-after"] == "1"
        assert opened.client.get("/healthz").status_code == 200
        postgres.start()
        assert until_ready(opened.client)


def until_ready(client: httpx2.Client) -> bool:
    return any(client.get("/readyz").status_code == 200 for _ in range(200))


def test_without_its_redis_a_server_is_ready_and_says_that_the_cache_is_away(
    start_redis: Callable[[], RedisServer], tmp_path: Path
) -> None:
    redis = start_redis()
    environ = {"RECOLLECT_REDIS": redis.url, "RECOLLECT_JOBS_INSIDE": "false"}
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, environ) as opened:
        before = opened.client.get("/readyz").json()
        assert (before["cache"], before["jobs"]) == ("ok", "elsewhere")
        redis.kill()
        assert opened.client.post("/api/chat", json={"message": "hello"}).status_code == 200
        after = opened.client.get("/readyz")
        assert (after.status_code, after.json()["cache"]) == (200, "away")


# Counts


def test_requests_are_counted_by_route_and_status(server: Served) -> None:
    before = counted(server.client, "recollect_http_requests_total")
    for _ in range(3):
        server.client.get("/api/conversations")
    server.client.get("/api/conversations/nowhere")
    server.client.get("/no/such/route")
    after = counted(server.client, "recollect_http_requests_total")
    grown = {labels: value - before.get(labels, 0) for labels, value in after.items()}
    assert grown["list_conversations", "200"] == 3
    assert grown["open_conversation", "404"] == 1
    assert grown["none", "404"] == 1
    assert counted(server.client, "recollect_http_duration_seconds_count")["list_conversations",] >= 3


# Logs


def test_each_request_is_one_line_of_json_with_its_id_and_its_route(server: Served) -> None:
    path = f"/api/conversations/{WORDS.split()[1]}"
    answer = server.client.get(path, params={"q": WORDS}, headers={"X-Request-Id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    # The line is written after the answer, and before the next request is taken.
    server.client.get("/healthz")
    line = next(line for line in server.logged() if line.get("request_id") == "mine-1")
    assert line["level"] == "info"
    assert line["logger"] == "recollect.http.access"
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/conversations/{conversation_id}", 404)
    assert line["duration_ms"] >= 0
    assert line["time"].endswith("Z")


def test_nothing_that_anybody_said_is_logged(server: Served) -> None:
    chat = server.client.post("/api/chat", json={"message": WORDS}).json()
    server.client.post("/api/conversations", json={"title": WORDS, "id": "zebra\0"})
    server.client.post("/api/chat", content=WORDS)
    server.client.get("/api/conversations", params={"q": WORDS})
    server.client.get("/api/memories", params={"q": WORDS, "limit": WORDS})
    server.client.patch(f"/api/conversations/{chat['conversation_id']}", json={"title": WORDS})
    server.client.get(f"/api/conversations/{WORDS}")
    server.client.get(f"/{WORDS}", headers={"X-Request-Id": WORDS, "Authorization": f"Bearer {WORDS}"})
    server.client.get("/healthz")
    logged = server.log.read_text()
    assert len(server.logged()) >= 8
    assert "zebra" not in logged
    assert "birthday" not in logged


def fail_with_words() -> None:
    try:
        int(WORDS)
    except ValueError as exc:
        raise StorageError(WORDS) from exc


def test_an_exception_is_told_by_class_and_place_without_its_words() -> None:
    with pytest.raises(StorageError) as caught:
        fail_with_words()
    exc_info = (caught.type, caught.value, caught.tb)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "it failed", None, exc_info)
    token = request_id.set("r-1")
    try:
        as_json = json.loads(JsonLines().format(record))
    finally:
        request_id.reset(token)
    as_text = TextLines().format(record)
    assert as_json["request_id"] == "r-1"
    for told in (as_json["exception"], as_text):
        assert "recollect.errors.StorageError in fail_with_words" in told
        assert "because of builtins.ValueError" in told
        assert "zebra" not in told
    assert "\n" not in as_text


def test_what_nobody_foresaw_is_a_problem_with_an_id_and_a_line_without_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError(WORDS)

    caplog.set_level(logging.INFO)
    answer = TestClient(RequestIds(Traffic(broken))).get("/anything")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    lines = [JsonLines().format(record) for record in caplog.records if record.name == "recollect.http.access"]
    assert len(lines) == 2
    assert "builtins.ValueError in broken" in lines[0]
    assert "zebra" not in "".join(lines)


@pytest.mark.parametrize(("form", "is_json"), [("auto", True), ("json", True), ("text", False)])
def test_the_form_of_lines_is_a_setting(form: str, is_json: bool) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        write_logs(LoggingSettings(format=form, level="info"), stream)  # type: ignore[arg-type]  # one of its words
        logging.getLogger("recollect.x").info("two\nlines")
        logging.getLogger("recollect.x").debug("unheard")
        logging.getLogger("uvicorn.error").info("unheard")
    finally:
        root.handlers[:], root.level = handlers, level
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("{") is is_json


def test_a_server_that_ends_says_goodbye_with_exit_code_0(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        opened.process.send_signal(signal.SIGINT)
        assert opened.process.wait(20) == 0
