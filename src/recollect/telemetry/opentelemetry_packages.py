"""The packages of the `otel` extra, imported in one place, so that their absence says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

MISSING = (
    "OpenTelemetry needs packages that are not installed; install recollect[otel], "
    "for example with: pip install 'recollect[otel]'"
)

try:
    from opentelemetry import context, metrics, propagate, trace
except ModuleNotFoundError as exc:
    raise MissingExtraError(MISSING) from exc

__all__ = ["MISSING", "context", "metrics", "propagate", "trace"]
