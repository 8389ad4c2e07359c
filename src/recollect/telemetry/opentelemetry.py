"""Counts for OpenTelemetry, under their dotted names.

What becomes of them is decided by the provider that the application sets up; without one nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from recollect.ports.meter import CounterName, GaugeName, TimerName
from recollect.telemetry.catalogue import BUCKETS, COUNTERS, GAUGES, TIMERS, Labels
from recollect.telemetry.opentelemetry_packages import metrics


class OpenTelemetryMeter:
    """Count with a meter of the given provider, or of the one that the process has."""

    def __init__(self, provider: metrics.MeterProvider | None = None) -> None:
        meter = (provider or metrics.get_meter_provider()).get_meter("recollect")
        self._meter = meter
        self._labels = Labels()
        self._counters = {
            name: meter.create_counter(name, unit="1", description=about.help) for name, about in COUNTERS.items()
        }
        self._timers = {
            name: meter.create_histogram(
                name, unit="s", description=about.help, explicit_bucket_boundaries_advisory=BUCKETS
            )
            for name, about in TIMERS.items()
        }
        self._readers: dict[GaugeName, Callable[[], float]] = {}

    def add(
        self,
        name: CounterName,
        amount: int = 1,
        *,
        reason: str | None = None,
        kind: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """Let a counter grow."""
        labels = self._labels.of(name, COUNTERS[name], {"reason": reason, "kind": kind, "outcome": outcome})
        self._counters[name].add(max(amount, 0), labels)

    def observe(self, name: TimerName, seconds: float, *, kind: str | None = None) -> None:
        """Note how long something took."""
        labels = self._labels.of(name, TIMERS[name], {"kind": kind})
        self._timers[name].record(seconds, labels)

    def gauge(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Let a value be read by every collection."""
        if name not in self._readers:

            def observed(options: metrics.CallbackOptions) -> Iterator[metrics.Observation]:
                yield metrics.Observation(self._readers[name]())

            self._meter.create_observable_gauge(name, [observed], description=GAUGES[name].help)
        self._readers[name] = read
