"""What the error of a handler means for its job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.job import Job, JobFailure, claimed, job_from
from recollect.errors import (
    CircuitOpenError,
    ConflictError,
    ConversationNotFoundError,
    CorruptRecordError,
    ErasedError,
    InvalidMessageError,
    LimitExceededError,
    MemoryNotFoundError,
    MissingExtraError,
    PermissionDeniedError,
    ProviderOutputError,
    ProviderRejectedError,
    ProviderUnavailableError,
    SettingsError,
    StorageError,
    StorageLockedError,
    StorageUnavailableError,
)
from recollect.service.job_failures import Backoff, RetryLater, failure_of, pause_of, text_of
from recollect.testing.clock import START
from recollect.testing.samples import after, claims, job

RUNNING = claimed(job_from(job("j1", conversation_id="c1"), START), claims())
chances = st.floats(0, 1, exclude_max=True)


def meaning(error: BaseException, given_job: Job = RUNNING, **more: Any) -> JobFailure | None:
    return failure_of(error, given_job, **{"now": after(10), "chance": 0.5, "backoff": Backoff(), **more})


@pytest.mark.parametrize("error", [ConversationNotFoundError(), ErasedError()])
def test_work_on_a_conversation_that_is_gone_is_as_good_as_done(error: Exception) -> None:
    assert meaning(error) is None
    nowhere = msgspec.structs.replace(RUNNING, conversation_id=None)
    failure = meaning(error, nowhere)
    assert failure is not None
    assert failure.counts


@pytest.mark.parametrize(
    "error",
    [
        InvalidMessageError(),
        PermissionDeniedError(),
        CorruptRecordError("message", "m1"),
        MissingExtraError(),
        SettingsError(),
    ],
)
def test_what_a_retry_cannot_mend_is_not_tried_again(error: Exception) -> None:
    failure = meaning(error)
    assert failure is not None
    assert failure.retry_at is None


@pytest.mark.parametrize(
    "error", [ProviderUnavailableError(), CircuitOpenError(), StorageUnavailableError(), StorageLockedError()]
)
def test_what_is_away_counts_for_nothing_and_is_waited_for_as_long_again(error: Exception) -> None:
    waits = []
    for waited in (0.0, 10.0, 100.0, 1e6, -1e6):
        failure = meaning(error, now=after(waited))
        assert failure is not None
        assert failure.retry_at is not None
        assert not failure.counts
        waits.append((failure.retry_at - after(waited)).total_seconds())
    assert waits == [1.5, 7.5, 75.0, 450.0, 1.5]


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError(), KeyError("x"), TimeoutError(), ConflictError(), LimitExceededError(), MemoryNotFoundError()),
        *(ProviderRejectedError(), ProviderOutputError(), StorageError()),
    ],
)
def test_any_other_error_counts_and_is_tried_again_later(error: Exception) -> None:
    failure = meaning(error)
    assert failure is not None
    assert failure.counts
    assert failure.retry_at == after(11.5)


@given(chances)
def test_a_handler_may_say_when_to_try_again(chance: float) -> None:
    for at, expected in ((after(60), after(60)), (after(-60), after(10))):
        failure = meaning(RetryLater(at, "not yet"), chance=chance)
        assert failure is not None
        assert failure.retry_at is not None
        assert not failure.counts
        assert expected <= failure.retry_at <= expected + timedelta(seconds=2)


def test_only_an_open_circuit_or_the_handler_itself_pauses_a_whole_kind() -> None:
    def pause(error: BaseException) -> object:
        return pause_of(error, now=after(10), backoff=Backoff())

    assert pause(RetryLater(after(60), "not yet", whole_kind=True)) == after(60)
    assert pause(CircuitOpenError()) == after(12)
    assert pause(RetryLater(after(60), "not yet")) is None
    assert pause(ProviderUnavailableError()) is None


@given(st.integers(1, 1_000_000), chances)
def test_waits_grow_with_the_attempts_and_are_bounded(attempt: int, chance: float) -> None:
    backoff = Backoff(first=timedelta(seconds=2), longest=timedelta(minutes=10))
    wait = backoff.after_attempt(attempt, chance)
    assert timedelta(seconds=1) <= wait <= timedelta(minutes=10)
    assert wait <= backoff.after_attempt(attempt + 1, chance)


@given(st.text(st.characters(), max_size=2_000))
def test_every_error_can_be_kept(message: str) -> None:
    failure = meaning(ValueError(message))
    assert failure is not None
    assert failure.error.startswith("ValueError")
    assert len(failure.error) <= 1_020


def test_an_error_is_kept_by_its_code_or_its_class() -> None:
    assert text_of(ConflictError("moved")) == "conflict: moved"
    assert text_of(ZeroDivisionError("by zero")) == "ZeroDivisionError: by zero"
    assert text_of(TimeoutError()) == "TimeoutError"


def test_an_answer_that_was_no_use_is_kept_with_its_error() -> None:
    assert text_of(ProviderOutputError("no list", raw="Sure!\0\ud83d")) == "provider_output: no list\n\nSure!??"
    assert text_of(ProviderOutputError(raw="Sure!")) == "provider_output\n\nSure!"
    assert text_of(ProviderOutputError("no list")) == "provider_output: no list"
    failure = meaning(ProviderOutputError("x" * 9_000, raw="y" * 90_000))
    assert failure is not None
    assert len(failure.error) < 5_100
