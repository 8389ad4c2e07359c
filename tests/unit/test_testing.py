"""The public tools for tests do what they say, without a test framework."""

from __future__ import annotations

import doctest
import subprocess
import sys
from datetime import timedelta
from itertools import islice

import pytest

from recollect.ports.clock import Clock
from recollect.testing import START, FakeClock, clock, ids, raises


def test_a_fake_clock_moves_only_when_it_is_told() -> None:
    told: Clock = FakeClock()
    assert told() == told() == START
    fake = FakeClock()
    assert fake.advance(days=365, seconds=1) == fake() == START + timedelta(days=365, seconds=1)
    assert fake.advance(hours=-2) < START + timedelta(days=365)


def test_ids_are_distinct_and_in_order() -> None:
    made = list(islice(ids("message"), 2000))
    assert made[:2] == ["message-0001", "message-0002"]
    assert len(set(made)) == 2000


def test_raises_fails_unless_one_of_the_errors_is_raised() -> None:
    with raises(ValueError, KeyError):
        raise KeyError
    with pytest.raises(AssertionError, match="ValueError or KeyError"), raises(ValueError, KeyError):
        pass
    with pytest.raises(ZeroDivisionError), raises(ValueError):
        raise ZeroDivisionError


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(clock).failed == 0


def test_the_suites_can_be_imported_where_pytest_is_not() -> None:
    script = "import sys, recollect.testing; print(sorted({'pytest', '_pytest'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
