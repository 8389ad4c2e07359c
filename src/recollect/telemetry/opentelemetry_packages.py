"""The packages of the `otel` extra, imported in one place, so that their absence says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

try:
    from opentelemetry import metrics
except ModuleNotFoundError as exc:
    raise MissingExtraError(
        "OpenTelemetry needs packages that are not installed; install recollect[otel], "
        "for example with: pip install 'recollect[otel]'"
    ) from exc

__all__ = ["metrics"]
