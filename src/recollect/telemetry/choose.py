"""Choose by the settings whether work is traced, so that nothing of OpenTelemetry is loaded where it is not."""

from __future__ import annotations

from recollect.ports.tracer import NoTracer, Tracer
from recollect.settings import TelemetrySettings


def open_tracer(settings: TelemetrySettings) -> Tracer:
    """Return what traces, or what does nothing; raise `MissingExtraError` if the packages are not installed."""
    if not settings.traces:
        return NoTracer()
    from recollect.telemetry.tracing import OpenTelemetryTracer

    return OpenTelemetryTracer()
