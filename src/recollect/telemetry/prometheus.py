"""Counts for Prometheus to fetch.

Everything is kept in a registry of its own: two services in one process share no count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric

from recollect.ports.meter import CounterName, GaugeName, TimerName
from recollect.telemetry.catalogue import BUCKETS, COUNTERS, GAUGES, TIMERS, Labels

#: What `render` returns, in the words of HTTP.
CONTENT_TYPE = CONTENT_TYPE_LATEST


class _Counts(CollectorRegistry):
    """A registry that leaves out when each count began, which the client adds to every one."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class PrometheusMeter:
    """Count in memory, and show the counts as Prometheus reads them."""

    def __init__(self) -> None:
        self._registry = _Counts()
        self._labels = Labels()
        self._counters = {
            name: Counter(prometheus_name(name), about.help, about.labels, registry=self._registry)
            for name, about in COUNTERS.items()
        }
        self._timers = {
            name: Histogram(
                f"{prometheus_name(name)}_seconds", about.help, about.labels, registry=self._registry, buckets=BUCKETS
            )
            for name, about in TIMERS.items()
        }
        self._gauges: dict[GaugeName, Gauge] = {}

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
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc(max(amount, 0))

    def observe(self, name: TimerName, seconds: float, *, kind: str | None = None) -> None:
        """Note how long something took."""
        labels = self._labels.of(name, TIMERS[name], {"kind": kind})
        timer = self._timers[name]
        (timer.labels(**labels) if labels else timer).observe(seconds)

    def gauge(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Let a value be read by every `render`."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(prometheus_name(name), GAUGES[name].help, registry=self._registry)
        self._gauges[name].set_function(read)

    def render(self) -> bytes:
        """Return all counts as text of the type `CONTENT_TYPE`."""
        return generate_latest(self._registry)


def prometheus_name(name: str) -> str:
    """Return the name of a meter without the suffix that tells its kind."""
    return name.replace(".", "_")
