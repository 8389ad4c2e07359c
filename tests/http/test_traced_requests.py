"""Requests in traces: named by their route, part of their caller's trace, and with no word of their address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from starlette.testclient import TestClient

from recollect.http.app import create_app
from recollect.ports.tracer import Origin
from recollect.settings import Settings
from recollect.telemetry.tracing import OpenTelemetryTracer
from tests.support.spans import caught, ended, named, told, trees

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = caught()
    exporter.clear()
    yield exporter
    assert "zebra" not in told(exporter)


@pytest.fixture
def client(tmp_path: Path, spans: InMemorySpanExporter) -> Iterator[TestClient]:
    with serving(tmp_path, traces=True) as opened:
        yield opened


def serving(folder: Path, *, traces: bool) -> TestClient:
    flags = {"storage.database": f"sqlite:///{folder / 'r.db'}", "telemetry.traces": traces, "jobs.inside": False}
    return TestClient(create_app(Settings.load(flags, {})), base_url="http://localhost")


def test_a_request_is_named_by_its_route_and_holds_the_turn(client: TestClient, spans: InMemorySpanExporter) -> None:
    assert client.post("/api/chat?zebra=1", json={"message": "The zebra's birthday"}).status_code == 200
    ((name, parts),) = trees(spans)
    assert (name, [part for part, _ in parts]) == ("POST /api/chat", ["invoke_agent assistant"])
    assert named(spans, name) == [
        {
            "http.request.method": "POST",
            "url.scheme": "http",
            "http.route": "/api/chat",
            "http.response.status_code": 200,
        }
    ]
    assert ended(spans)[0].kind == SpanKind.SERVER


def test_a_caller_who_traces_sees_the_request_as_a_part(client: TestClient, spans: InMemorySpanExporter) -> None:
    client.get("/api/memories/my-zebra", headers={"traceparent": f"00-{TRACE}-{CALLER}-01"})
    (span,) = ended(spans)
    assert span.name == "GET /api/memories/{memory_id}"
    assert span.parent is not None
    assert span.context is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, CALLER)
    assert (dict(span.attributes or {})["http.response.status_code"], span.status.status_code) == (
        404,
        StatusCode.UNSET,
    )


@pytest.mark.parametrize("header", ["zebra", f"00-{'0' * 32}-{CALLER}-01", "\xff\xfe"])
def test_a_header_that_names_no_trace_is_ignored(client: TestClient, spans: InMemorySpanExporter, header: str) -> None:
    assert client.get("/healthz", headers=[(b"traceparent", header.encode("latin-1"))]).status_code == 200
    (span,) = ended(spans)
    assert span.parent is None


@pytest.mark.parametrize(("method", "path", "name"), [("GET", "/the-zebra", "GET"), ("ZEBRA", "/the-zebra", "HTTP")])
def test_what_no_route_takes_has_no_name_of_the_caller_s(
    client: TestClient, spans: InMemorySpanExporter, method: str, path: str, name: str
) -> None:
    client.request(method, path)
    (about,) = named(spans, name)
    assert about["http.request.method"] == ("GET" if method == "GET" else "_OTHER")
    assert "http.route" not in about


def test_a_server_that_failed_says_so_by_the_status(
    client: TestClient, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*given: object) -> None:
        raise ValueError("the zebra's birthday")

    monkeypatch.setattr(client.app.state.recollect.store, "get_memory", broken)  # type: ignore[attr-defined]
    assert client.get("/api/memories/m1").status_code == 500
    (about,) = named(spans, "GET /api/memories/{memory_id}")
    assert (about["http.response.status_code"], about["error.type"]) == (500, "500")
    (span,) = ended(spans)
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


def test_unless_a_setting_says_so_nothing_is_told_not_even_by_the_framework(
    tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    with serving(tmp_path, traces=False) as client:
        assert client.get("/api/memories?q=zebra").status_code == 200
    assert ended(spans) == []


def test_a_request_that_something_around_us_traces_is_a_part_of_that(spans: InMemorySpanExporter) -> None:
    tracer = OpenTelemetryTracer()
    headers = [(b"traceparent", f"00-{TRACE}-{CALLER}-01".encode())]
    with tracer.span("around", Origin("server", headers)), tracer.span("inside", Origin("server", headers)):
        pass
    around, inside = ended(spans)
    assert inside.parent == around.context
