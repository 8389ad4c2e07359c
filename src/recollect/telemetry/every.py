"""Count with several meters at once."""

from __future__ import annotations

from collections.abc import Callable

from recollect.ports.meter import CounterName, GaugeName, Meter, TimerName


class EveryMeter:
    """Tell each of some meters."""

    def __init__(self, *meters: Meter) -> None:
        self._meters = meters

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
        for meter in self._meters:
            meter.add(name, amount, reason=reason, kind=kind, outcome=outcome)

    def observe(self, name: TimerName, seconds: float, *, kind: str | None = None) -> None:
        """Note how long something took."""
        for meter in self._meters:
            meter.observe(name, seconds, kind=kind)

    def gauge(self, name: GaugeName, read: Callable[[], float]) -> None:
        """Let a value be read."""
        for meter in self._meters:
            meter.gauge(name, read)
