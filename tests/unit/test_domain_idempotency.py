"""One request, one effect."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recollect.domain.idempotency import IdempotencyRecord, first_answer
from recollect.errors import ErasedError, IdempotencyMismatchError, InvalidInputError, RequestInFlightError
from recollect.testing.clock import START
from recollect.testing.samples import after, answer, request, start


def record(status: int | None = None, body: bytes | None = None) -> IdempotencyRecord:
    return IdempotencyRecord(request=request(), started_at=START, lease_until=after(10), status=status, body=body)


def test_a_new_key_lets_the_caller_do_the_work() -> None:
    assert first_answer(None, start()) is None


def test_a_finished_request_is_answered_as_the_first_time() -> None:
    assert first_answer(record(201, b"\x00\xff"), start()) == answer(status=201, body=b"\x00\xff")
    assert first_answer(record(204, b""), start(at=after(99))) == answer(status=204, body=b"")


def test_a_running_request_is_refused_until_its_lease_ends() -> None:
    for seconds in (-5, 0, 9.999):
        with pytest.raises(RequestInFlightError):
            first_answer(record(), start(at=after(seconds)))
    assert first_answer(record(), start(at=after(10))) is None


def test_the_same_key_with_other_content_is_refused_whatever_became_of_the_first() -> None:
    for stored in (record(), record(200, b"{}"), record(200, None)):
        with pytest.raises(IdempotencyMismatchError):
            first_answer(stored, start(digest="other", at=after(99)))


def test_an_answer_that_was_erased_is_not_made_up() -> None:
    with pytest.raises(ErasedError):
        first_answer(record(200, None), start())


@pytest.mark.parametrize("wrong", [{"lease": 5}, {"lease": timedelta(seconds=-1)}, {"at": None}, {"request": "key"}])
def test_a_start_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        start(**wrong)


@pytest.mark.parametrize("wrong", [{"status": 2**70}, {"status": 99}, {"status": True}, {"body": "{}"}])
def test_an_answer_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        answer(**wrong)
