"""Traces for OpenTelemetry.

What becomes of them is decided by the provider that the process sets up; without one nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import TracebackType
from typing import Self

from recollect.errors import MissingExtraError
from recollect.ports.tracer import INSIDE, Origin, Span, Value
from recollect.telemetry.opentelemetry_packages import MISSING, context, propagate, trace

_KINDS = {
    "internal": trace.SpanKind.INTERNAL,
    "client": trace.SpanKind.CLIENT,
    "server": trace.SpanKind.SERVER,
    "consumer": trace.SpanKind.CONSUMER,
}


class OpenTelemetryTracer:
    """Trace with the given provider, or with the one that the process has or will have.

    Raise `MissingExtraError` if it has none and could have none.
    """

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        if provider is None and not _may_have_provider():
            raise MissingExtraError(MISSING)
        self._tracer = trace.get_tracer("recollect", tracer_provider=provider)

    def span(self, name: str, origin: Origin = INSIDE, /, **attributes: Value) -> AbstractContextManager[Span]:
        """Trace the block."""
        return _Traced(self._tracer, name, origin, attributes)


class _Traced:
    """A span that is current within its block."""

    def __init__(self, tracer: trace.Tracer, name: str, origin: Origin, attributes: Mapping[str, Value]) -> None:
        self._before = context.get_current()
        parent = _parent(origin, self._before)
        # What the package notes of an exception by itself is its text, which may be the user's.
        self._span = tracer.start_span(
            name,
            parent,
            _KINDS[origin.kind],
            attributes,
            record_exception=False,
            set_status_on_exception=False,
        )
        self._within = trace.set_span_in_context(self._span, parent)

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""
        self._span.set_attribute(name, value)

    def rename(self, name: str) -> None:
        """Change the name."""
        self._span.update_name(name)

    def fail(self, error_type: str) -> None:
        """Set the status, without a description."""
        self._span.set_attribute("error.type", error_type)
        self._span.set_status(trace.Status(trace.StatusCode.ERROR))

    def __enter__(self) -> Self:
        context.attach(self._within)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None and kind is not GeneratorExit:
            self.fail(kind.__qualname__)
        # A generator may be closed by another task, which never was in this block.
        if context.get_current() is self._within:
            context.attach(self._before)
        self._span.end()


def _may_have_provider() -> bool:
    """Tell whether spans can come to anything: the names alone are installed with other packages."""
    is_set = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    return is_set or find_spec("opentelemetry.sdk") is not None


def _parent(origin: Origin, current: context.Context) -> context.Context:
    if origin.kind == "consumer":
        return context.Context()
    if origin.kind != "server" or trace.get_current_span(current).get_span_context().is_valid:
        # A request that something around us traces already is a part of that.
        return current
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in origin.headers}
    return propagate.extract(headers, current)
