"""Traces: turns, models, tools, memories and jobs under the names of OpenTelemetry, with no word that was said."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from recollect.errors import MemoryNotFoundError
from recollect.ports.chat_model import ToolCallRequest
from recollect.ports.tracer import NoTracer
from recollect.providers.choose import provider_of as provider_name
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Correction, Statement
from recollect.settings import Settings
from recollect.telemetry.tracing import OpenTelemetryTracer
from recollect.testing.models import Fault, ScriptedReply
from recollect.testing.samples import ALICE
from tests.support.learning import found, item
from tests.support.model_service import Played, play
from tests.support.spans import caught, ended, named, provider_of, told, trees

WORDS = "The zebra's birthday is a secret"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = caught()
    exporter.clear()
    yield exporter
    assert "zebra" not in told(exporter)


@pytest.fixture
async def played(tmp_path: Path, spans: InMemorySpanExporter) -> AsyncIterator[Played]:
    settings = {"telemetry.traces": True, "model.name": "small", "model.max_retries": 0}
    async with play(tmp_path / "r.db", settings) as opened:
        yield opened


# A turn


async def test_a_turn_is_a_tree_of_what_was_searched_asked_and_run(played: Played, spans: InMemorySpanExporter) -> None:
    await played.service.memories.add(ALICE, Statement(content=WORDS))
    spans.clear()
    call = ToolCallRequest(id="call-1", tool_name="search_memory", input={"query": "zebra"})
    played.server.script(ScriptedReply(text=(), tool_calls=(call,)), ScriptedReply(text=("The zebra's.",)))
    await played.service.chat.turn(ALICE, ChatRequest(text="Whose zebra is it?", conversation_id="c1"))
    assert trees(spans) == [
        (
            f"invoke_agent {ALICE.agent}",
            [
                ("search_memory", []),
                ("search_memory", []),
                ("chat small", []),
                ("execute_tool search_memory", [("search_memory", [])]),
                ("chat small", []),
            ],
        )
    ]
    assert named(spans, f"invoke_agent {ALICE.agent}") == [
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": ALICE.agent,
            "gen_ai.conversation.id": "c1",
            "gen_ai.usage.input_tokens": 14,
            "gen_ai.usage.output_tokens": 6,
        }
    ]
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.request.max_tokens": 2048,
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    }
    assert named(spans, "chat small") == [asked, asked]
    assert named(spans, "execute_tool search_memory") == [
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search_memory",
            "gen_ai.tool.type": "function",
        }
    ]
    of_memories, _, by_the_model = named(spans, "search_memory")
    assert of_memories["gen_ai.memory.record.count"] == 1
    assert by_the_model == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.record.count": 1,
        "recollect.message.count": 0,
    }
    kinds = {span.name: span.kind for span in ended(spans)}
    assert [name for name, kind in kinds.items() if kind == SpanKind.CLIENT] == ["chat small"]
    assert {kind for name, kind in kinds.items() if name != "chat small"} == {SpanKind.INTERNAL}


async def test_a_turn_that_is_followed_in_another_task_keeps_its_parts(
    played: Played, spans: InMemorySpanExporter
) -> None:
    played.server.script(ScriptedReply(text=("zebra",)))
    await played.service.streams.start(ALICE, ChatRequest(text=WORDS)).result()
    assert trees(spans) == [
        (f"invoke_agent {ALICE.agent}", [("search_memory", []), ("search_memory", []), ("chat small", [])])
    ]


async def test_what_failed_is_told_by_its_class_and_never_by_its_text(
    played: Played, spans: InMemorySpanExporter
) -> None:
    played.server.script(ScriptedReply(fault=Fault.UNAUTHORISED, said=WORDS))
    reply = await played.service.chat.turn(ALICE, ChatRequest(text=WORDS, conversation_id="c1"))
    assert reply.failure is not None
    assert [one["error.type"] for one in named(spans, "chat small")] == ["ProviderRejectedError"]
    assert [one["error.type"] for one in named(spans, f"invoke_agent {ALICE.agent}")] == [reply.failure.code]
    failed = [span for span in ended(spans) if span.status.status_code == StatusCode.ERROR]
    assert [(span.status.description, span.events) for span in failed] == [(None, ()), (None, ())]


# Memories and jobs


async def test_what_is_done_to_a_memory_has_the_name_that_the_conventions_give_it(
    played: Played, spans: InMemorySpanExporter
) -> None:
    memories = played.service.memories
    memory = await memories.add(ALICE, Statement(content=WORDS, id="m1"))
    await memories.change(ALICE, memory.id, Correction(content=f"{WORDS} now"))
    await memories.undo(ALICE, memory.id)
    await memories.delete(ALICE, memory.id)
    await memories.erase(ALICE, memory.id)
    names = ["create_memory", "update_memory", "update_memory", "delete_memory", "delete_memory"]
    assert trees(spans) == [(name, []) for name in names]
    assert [dict(span.attributes or {}) for span in ended(spans)][:4] == [
        {"gen_ai.operation.name": name, "gen_ai.memory.record.id": "m1", "gen_ai.memory.record.count": 1}
        for name in names[:4]
    ]


async def test_an_id_that_no_memory_has_is_not_told(played: Played, spans: InMemorySpanExporter) -> None:
    with pytest.raises(MemoryNotFoundError):
        await played.service.memories.delete(ALICE, "my-zebra")
    assert named(spans, "delete_memory") == [
        {"gen_ai.operation.name": "delete_memory", "error.type": "MemoryNotFoundError"}
    ]


async def test_a_job_is_a_trace_of_its_own_wherever_the_worker_was_started(
    played: Played, spans: InMemorySpanExporter
) -> None:
    played.server.script(ScriptedReply(text=("Oh.",)))
    await played.service.chat.turn(ALICE, ChatRequest(text=WORDS, conversation_id="c1"))
    spans.clear()
    played.answer(found(item("The zebra has a birthday", "zebra's birthday")))
    with OpenTelemetryTracer().span("the start"):
        played.service.worker.start()
    await played.pass_time(seconds=60)
    assert ("the start", []) in trees(spans)
    assert ("job extract", [("upsert_memory", [("chat small", [])])]) in trees(spans)
    (job,) = await played.jobs(("extract",))
    assert named(spans, "job extract") == [
        {
            "recollect.job.id": job.id,
            "recollect.job.kind": "extract",
            "recollect.job.attempt": 1,
            "recollect.job.outcome": "done",
        }
    ]
    (learned,) = named(spans, "upsert_memory")
    assert (learned["gen_ai.conversation.id"], learned["gen_ai.memory.record.count"]) == ("c1", 1)


async def test_an_attempt_that_failed_says_why_by_a_code(played: Played, spans: InMemorySpanExporter) -> None:
    played.server.script(ScriptedReply(text=("Oh.",)))
    await played.service.chat.turn(ALICE, ChatRequest(text=WORDS, conversation_id="c1"))
    played.answer(ScriptedReply(fault=Fault.SERVER_ERROR, said=WORDS))
    played.service.worker.start()
    await played.pass_time(seconds=5)
    attempt = named(spans, "job extract")[0]
    assert (attempt["recollect.job.outcome"], attempt["error.type"]) == ("failed", "provider_unavailable")


# What it costs, and whose it is


def test_where_nothing_is_traced_nothing_is_made() -> None:
    tracer = NoTracer()
    assert tracer.span("one") is tracer.span("another", **{"gen_ai.request.model": "small"})
    with pytest.raises(LookupError), tracer.span("one"):
        raise LookupError


async def test_a_stream_that_another_task_closes_leaves_what_that_task_does_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    exporter = InMemorySpanExporter()
    tracer = OpenTelemetryTracer(provider_of(exporter))

    async def stream() -> AsyncGenerator[int, None]:
        with tracer.span("stream"):
            yield 1
            yield 2

    async def close(left: AsyncGenerator[int, None]) -> None:
        with tracer.span("closing"):
            current = trace.get_current_span()
            await left.aclose()
            assert trace.get_current_span() is current

    left = stream()
    await asyncio.create_task(anext(left))
    await asyncio.create_task(close(left))
    async with aclosing(stream()) as events:
        await anext(events)
    assert not trace.get_current_span().get_span_context().is_valid
    assert trees(exporter) == [("stream", []), ("closing", []), ("stream", [])]
    assert {span.status.status_code for span in ended(exporter)} == {StatusCode.UNSET}
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ({"model.kind": "anthropic"}, "anthropic"),
        ({"model.kind": "gemini"}, "gcp.gemini"),
        ({"model.url": "http://localhost:1"}, "openai"),
        ({"model.name": "of nobody"}, None),
        ({}, None),
    ],
)
def test_a_provider_is_named_by_its_protocol(flags: dict[str, str], name: str | None) -> None:
    assert provider_name(Settings.load(flags, {})) == name


OPEN = """
import asyncio, sys
import recollect
from recollect.domain.scope import Scope
from recollect.errors import MissingExtraError
from recollect.service.chat_request import ChatRequest
from recollect.settings import Settings

async def main(traces):
    flags = {"storage.database": sys.argv[1], "telemetry.traces": traces}
    async with await recollect.open(Settings.load(flags, {})) as service:
        await service.chat.turn(Scope(), ChatRequest(text="Hello"))
"""


def run(script: str, tmp_path: Path) -> str:
    command = [sys.executable, "-c", OPEN + script, f"sqlite:///{tmp_path / 'r.db'}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_nothing_of_opentelemetry_is_loaded_unless_a_setting_says_so(tmp_path: Path) -> None:
    told = "asyncio.run(main({}))\nprint(any(name.split('.')[0] == 'opentelemetry' for name in sys.modules))"
    assert run(told.format(False), tmp_path).split() == ["False"]
    assert run(told.format(True), tmp_path).split() == ["True"]


@pytest.mark.parametrize("package", ["opentelemetry", "opentelemetry.sdk"])
def test_a_setting_without_the_packages_says_what_to_install(package: str, tmp_path: Path) -> None:
    script = (
        f"sys.modules['{package}'] = None\n"
        "try:\n    asyncio.run(main(True))\n"
        "except MissingExtraError as exc:\n    print(exc)"
    )
    assert "install recollect[otel]" in run(script, tmp_path)
