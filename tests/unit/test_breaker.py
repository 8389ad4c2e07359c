"""The breaker stops calls to what keeps failing, and lets one at a time find out whether it works again."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from recollect.errors import CircuitOpenError
from recollect.providers.breaker import Breaker, BreakerLimits, Permit
from recollect.testing.clock import FakeClock

LIMITS = BreakerLimits(failures=3, pause=timedelta(seconds=30), longest_pause=timedelta(minutes=5))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    return Breaker("small", clock, LIMITS)


def circuit(breaker: Breaker) -> str:
    return breaker.circuit


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        breaker.failed(breaker.enter())


def test_it_opens_after_some_failures_in_a_row(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 2)
    assert circuit(breaker) == "ready"
    fail(breaker)
    assert circuit(breaker) == "open"
    assert breaker.retry_at == clock() + timedelta(seconds=30)
    with pytest.raises(CircuitOpenError):
        breaker.enter()


def test_it_tells_since_when_it_is_in_its_state(breaker: Breaker, clock: FakeClock) -> None:
    made = clock()
    clock.advance(seconds=7)
    fail(breaker, 2)
    assert (circuit(breaker), breaker.since) == ("ready", made)
    fail(breaker)
    opened = clock()
    clock.advance(seconds=10)
    assert (circuit(breaker), breaker.since) == ("open", opened)
    clock.advance(seconds=40)
    assert (circuit(breaker), breaker.since) == ("half_open", opened + LIMITS.pause)
    breaker.succeeded(breaker.enter())
    closed = clock()
    clock.advance(seconds=5)
    breaker.succeeded(breaker.enter())
    assert (circuit(breaker), breaker.since) == ("ready", closed)


def test_a_success_forgets_the_failures(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.succeeded(breaker.enter())
    fail(breaker, 2)
    assert circuit(breaker) == "ready"


def test_when_its_time_is_over_one_call_at_a_time_goes(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 3)
    clock.advance(seconds=29.9)
    assert not breaker.allows()
    clock.advance(seconds=0.1)
    assert (breaker.circuit, breaker.allows(), breaker.retry_at) == ("half_open", True, None)
    probe = breaker.enter()
    assert (breaker.circuit, breaker.allows()) == ("half_open", False)
    with pytest.raises(CircuitOpenError):
        breaker.enter()
    breaker.succeeded(probe)
    assert (breaker.circuit, breaker.allows()) == ("ready", True)


def test_a_call_that_tries_and_fails_opens_it_again(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 3)
    clock.advance(seconds=30)
    fail(breaker)
    assert breaker.retry_at == clock() + timedelta(seconds=30)


def test_a_call_that_tries_and_is_cancelled_lets_another_try(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 3)
    clock.advance(seconds=30)
    breaker.abandoned(breaker.enter())
    assert (breaker.circuit, breaker.allows()) == ("half_open", True)


def test_the_first_token_lets_others_in_but_one_failure_opens_it_again(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 3)
    clock.advance(seconds=30)
    probe = breaker.enter()
    breaker.answered(probe)
    other = breaker.enter()
    assert circuit(breaker) == "ready"
    breaker.failed(probe)
    assert circuit(breaker) == "open"
    breaker.succeeded(other)
    assert circuit(breaker) == "open"


def test_calls_from_before_it_opened_say_nothing_of_now(breaker: Breaker, clock: FakeClock) -> None:
    old = [breaker.enter() for _ in range(100)]
    for permit in old[:3]:
        breaker.failed(permit)
    opened_until = breaker.retry_at
    clock.advance(seconds=10)
    for permit in old[3:50]:
        breaker.failed(permit)
    assert breaker.retry_at == opened_until
    breaker.succeeded(old[50])
    assert circuit(breaker) == "open"
    clock.advance(seconds=20)
    breaker.succeeded(breaker.enter())
    for permit in old[51:]:
        breaker.failed(permit)
    assert circuit(breaker) == "ready"


def test_a_provider_that_asks_for_a_pause_gets_it_within_reason(breaker: Breaker, clock: FakeClock) -> None:
    breaker.failed(breaker.enter(), clock() + timedelta(seconds=90))
    assert breaker.retry_at == clock() + timedelta(seconds=90)
    clock.advance(seconds=90)
    breaker.failed(breaker.enter(), clock() + timedelta(days=400))
    assert breaker.retry_at == clock() + timedelta(minutes=5)


def test_a_pause_that_is_over_counts_as_a_plain_failure(breaker: Breaker, clock: FakeClock) -> None:
    breaker.failed(breaker.enter(), clock() - timedelta(seconds=1))
    assert circuit(breaker) == "ready"


@pytest.mark.parametrize("jump", [{"hours": -2.0}, {"days": 365.0}])
def test_a_clock_that_jumps_never_keeps_it_open(breaker: Breaker, clock: FakeClock, jump: dict[str, float]) -> None:
    fail(breaker, 3)
    clock.advance(**jump)
    breaker.succeeded(breaker.enter())
    assert circuit(breaker) == "ready"


def test_the_first_word_on_a_call_counts(breaker: Breaker) -> None:
    permit = breaker.enter()
    breaker.succeeded(permit)
    for _ in range(10):
        breaker.failed(permit)
    assert circuit(breaker) == "ready"


def test_of_many_threads_exactly_one_tries(breaker: Breaker, clock: FakeClock) -> None:
    for _ in range(20):
        fail(breaker, 3)
        clock.advance(seconds=30)
        together = threading.Barrier(8)
        entered: list[Permit] = []

        def enter(together: threading.Barrier = together, entered: list[Permit] = entered) -> None:
            together.wait()
            try:
                entered.append(breaker.enter())
            except CircuitOpenError:
                return

        threads = [threading.Thread(target=enter) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(entered) == 1
        breaker.succeeded(entered[0])


def test_an_open_circuit_takes_no_time(breaker: Breaker) -> None:
    fail(breaker, 3)
    began = time.perf_counter()
    for _ in range(1000):
        with pytest.raises(CircuitOpenError):
            breaker.enter()
    assert (time.perf_counter() - began) / 1000 < 0.005


class BreakerMachine(RuleBasedStateMachine):
    """Any order of calls, words on them and jumps of the clock, beside the rules written down as a table."""

    permits = Bundle("permits")

    @initialize(failures=st.integers(1, 4))
    def start(self, failures: int) -> None:
        self.clock = FakeClock()
        limits = BreakerLimits(failures=failures, pause=timedelta(seconds=30), longest_pause=timedelta(minutes=2))
        self.breaker = Breaker("small", self.clock, limits)
        self.most = failures
        self.failures = 0
        self.opened: tuple[datetime, datetime] | None = None
        self.trying: Permit | None = None
        #: The calls whose outcome still counts.
        self.live: list[Permit] = []

    @rule(target=permits)
    def enter(self) -> Permit | None:
        expected = self.circuit()
        goes = expected == "ready" or (expected == "half_open" and self.trying is None)
        assert self.breaker.allows() == goes
        try:
            permit = self.breaker.enter()
        except CircuitOpenError:
            assert not goes
            return None
        assert goes
        self.live.append(permit)
        if expected == "half_open":
            self.trying = permit
        return permit

    @rule(permit=permits)
    def answer(self, permit: Permit | None) -> None:
        if permit is not None:
            self.breaker.answered(permit)
            if permit is self.trying:
                self.close(self.most - 1)
                self.live = [permit]

    @rule(permit=permits)
    def succeed(self, permit: Permit | None) -> None:
        if permit is not None:
            self.breaker.succeeded(permit)
            if self.take(permit):
                self.close(0)

    @rule(permit=permits, pause=st.none() | st.integers(-10, 10_000))
    def fail(self, permit: Permit | None, pause: int | None) -> None:
        if permit is not None:
            now = self.clock()
            self.breaker.failed(permit, None if pause is None else now + timedelta(seconds=pause))
            if self.take(permit):
                self.failures += 1
                if permit is self.trying or (pause or 0) > 0 or self.failures >= self.most:
                    self.opened = (now, now + timedelta(seconds=min(max(30, pause or 0), 120)))
                    self.trying, self.live = None, []

    @rule(permit=permits)
    def abandon(self, permit: Permit | None) -> None:
        if permit is not None:
            self.breaker.abandoned(permit)
            if self.take(permit) and permit is self.trying:
                self.trying = None

    @rule(seconds=st.sampled_from([-7200, -1, 1, 29, 30, 31, 120, 7200]))
    def jump(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def the_circuit_is_that_of_the_table(self) -> None:
        if hasattr(self, "breaker"):
            assert circuit(self.breaker) == self.circuit()
            until = self.opened[1] if self.opened and self.circuit() == "open" else None
            assert self.breaker.retry_at == until

    def circuit(self) -> str:
        if self.opened is None:
            return "ready"
        return "open" if self.opened[0] <= self.clock() < self.opened[1] and self.trying is None else "half_open"

    def take(self, permit: Permit) -> bool:
        if permit not in self.live:
            return False
        self.live.remove(permit)
        return True

    def close(self, failures: int) -> None:
        if self.opened is not None:
            self.live = []
        self.failures = failures
        self.opened = self.trying = None


TestBreakerMachine = BreakerMachine.TestCase
