"""Stop calling what keeps failing, and find out cheaply when it works again.

Closed, all calls go. After some failures in a row it opens, and calls are refused at once.
When its time is over it is half open: one call at a time goes, and decides.
It knows nothing of models; a clock tells it the time.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

import msgspec

from recollect.errors import CircuitOpenError
from recollect.ports.chat_model import Circuit
from recollect.ports.clock import Clock

_log = logging.getLogger(__name__)


class BreakerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When to open, and for how long."""

    #: Failures in a row that open the circuit.
    failures: int = 5
    #: How long it stays open.
    pause: timedelta = timedelta(seconds=30)
    #: How long it stays open at the very most, whatever the provider asks for.
    longest_pause: timedelta = timedelta(minutes=10)


class Permit:
    """The right to make one call; whoever got it says how the call went."""

    __slots__ = ("epoch", "probes", "settled")

    def __init__(self, epoch: int, *, probes: bool) -> None:
        self.epoch = epoch
        self.probes = probes
        self.settled = False


class Breaker:
    """Count failures and decide who may call; safe in any thread, and never waits for anything."""

    def __init__(self, name: str, clock: Clock, limits: BreakerLimits = BreakerLimits()) -> None:  # noqa: B008  # frozen
        self._name = name
        self._clock = clock
        self._limits = limits
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_at = clock()
        self._opened_at: datetime | None = None
        self._until: datetime | None = None
        self._probe: Permit | None = None
        # Grows when the circuit opens or closes: what is said of a call that began before says nothing of now.
        self._epoch = 0

    @property
    def circuit(self) -> Circuit:
        """Tell the state of the circuit."""
        with self._lock:
            return self._circuit()

    @property
    def retry_at(self) -> datetime | None:
        """Tell when an open circuit lets a call through."""
        with self._lock:
            return self._until if self._circuit() == "open" else None

    @property
    def since(self) -> datetime:
        """Tell since when the circuit is in this state; one that never opened, since there is one."""
        with self._lock:
            if self._opened_at is None or self._until is None:
                return self._closed_at
            return self._opened_at if self._circuit() == "open" else self._until

    def allows(self) -> bool:
        """Tell whether a call would go."""
        with self._lock:
            return self._goes()

    def enter(self) -> Permit:
        """Return the right to call, or raise `CircuitOpenError`."""
        with self._lock:
            if not self._goes():
                raise CircuitOpenError(f"{self._name}: it failed repeatedly and is not called for now")
            permit = Permit(self._epoch, probes=self._opened_at is not None)
            if permit.probes:
                self._probe = permit
            return permit

    def answered(self, permit: Permit) -> None:
        """Let others call too, since the one that tries got an answer; its next failure still opens the circuit."""
        if not permit.probes:
            return
        with self._lock:
            if self._probe is permit:
                self._close(self._limits.failures - 1)
                permit.probes = False
                permit.epoch = self._epoch

    def succeeded(self, permit: Permit) -> None:
        """Close the circuit and forget the failures."""
        with self._lock:
            if self._settle(permit):
                self._close(0)

    def failed(self, permit: Permit, retry_at: datetime | None = None) -> None:
        """Count a failure, and open the circuit if it is one too many or the provider asks for a pause."""
        with self._lock:
            if self._settle(permit):
                self._failures += 1
                now = self._clock()
                asked = retry_at is not None and retry_at > now
                if permit.probes or asked or self._failures >= self._limits.failures:
                    self._open(now, retry_at if asked else None)

    def abandoned(self, permit: Permit) -> None:
        """Take a right back that was not used up: the call says nothing, and another one may try."""
        with self._lock:
            if self._settle(permit) and permit.probes:
                self._probe = None

    def _settle(self, permit: Permit) -> bool:
        """Tell whether this is the first word on the call, and still of interest."""
        first = not permit.settled
        permit.settled = True
        return first and permit.epoch == self._epoch

    def _goes(self) -> bool:
        circuit = self._circuit()
        return circuit == "ready" or (circuit == "half_open" and self._probe is None)

    def _circuit(self) -> Circuit:
        if self._opened_at is None or self._until is None:
            return "ready"
        # A clock that was set back must not keep the circuit open.
        waiting = self._opened_at <= self._clock() < self._until
        return "open" if waiting and self._probe is None else "half_open"

    def _open(self, now: datetime, retry_at: datetime | None) -> None:
        self._epoch += 1
        self._probe = None
        self._opened_at = now
        until = now + self._limits.pause
        self._until = min(max(until, retry_at or until), now + self._limits.longest_pause)
        _log.warning("%s: not called until %s after %d failures", self._name, self._until, self._failures)

    def _close(self, failures: int) -> None:
        if self._opened_at is not None:
            self._epoch += 1
            self._closed_at = self._clock()
            _log.info("%s: called again", self._name)
        self._probe = None
        self._opened_at = self._until = None
        self._failures = failures
