"""What a process would send of its traces, caught in memory and read as trees."""

from __future__ import annotations

from functools import cache
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

#: A span by its name, with its parts.
Tree = tuple[str, list[Any]]


def provider_of(exporter: InMemorySpanExporter) -> TracerProvider:
    """Return a provider that tells this exporter at once."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


@cache
def caught() -> InMemorySpanExporter:
    """Return what catches the spans of this process; a process has one provider, and sets it once."""
    exporter = InMemorySpanExporter()
    trace.set_tracer_provider(provider_of(exporter))
    return exporter


def ended(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """Return the spans that ended, in the order in which they began."""
    return sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def trees(exporter: InMemorySpanExporter) -> list[Tree]:
    """Return the spans that are part of no other, each with its parts."""
    spans = ended(exporter)

    def parts(parent_id: int | None) -> list[Tree]:
        mine = [span for span in spans if (span.parent.span_id if span.parent else None) == parent_id]
        return [(span.name, parts(span.context.span_id)) for span in mine if span.context is not None]

    return parts(None)


def named(exporter: InMemorySpanExporter, name: str) -> list[dict[str, Any]]:
    """Return the attributes of each span of this name."""
    return [dict(span.attributes or {}) for span in ended(exporter) if span.name == name]


def told(exporter: InMemorySpanExporter) -> str:
    """Return everything that is told of the spans, as one text."""
    return "\n".join(span.to_json() for span in ended(exporter))
