"""Requests with an idempotency key: one caller does the work, every retry gets its answer."""

from __future__ import annotations

from datetime import timedelta

from recollect.errors import ErasedError, IdempotencyMismatchError, RequestInFlightError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, answer, append, erasure, request, start

#: A body that no text column keeps as it is.
BODY = bytes(range(256)) * 4


class RequestConformance:
    """Check what a store promises about requests that carry a key."""

    async def test_the_first_caller_does_the_work_and_others_wait(self, store: Store) -> None:
        assert await store.begin_request(ALICE, start()) is None
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start(at=after(1)))
        assert await store.begin_request(ALICE, start("another key")) is None

    async def test_every_retry_gets_the_first_answer_byte_for_byte(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        await store.finish_request(ALICE, answer(body=BODY, status=201), after(1))
        for seconds in (2, 86_400):
            again = await store.begin_request(ALICE, start(at=after(seconds)))
            assert again == answer(body=BODY, status=201)

    async def test_the_first_answer_stays(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        await store.finish_request(ALICE, answer(body=b"first"), after(1))
        await store.finish_request(ALICE, answer(body=b"second"), after(2))
        assert await store.begin_request(ALICE, start()) == answer(body=b"first")

    async def test_an_answer_may_be_kept_without_a_begin(self, store: Store) -> None:
        await store.finish_request(ALICE, answer(body=b""), START)
        assert await store.begin_request(ALICE, start()) == answer(body=b"")

    async def test_a_key_with_other_content_is_refused(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        with raises(IdempotencyMismatchError):
            await store.begin_request(ALICE, start(digest="other"))
        await store.finish_request(ALICE, answer(), after(1))
        with raises(IdempotencyMismatchError):
            await store.begin_request(ALICE, start(digest="other"))
        assert await store.begin_request(ALICE, start()) == answer()

    async def test_a_request_that_outlives_its_lease_may_be_taken_over(self, store: Store) -> None:
        lease = timedelta(seconds=10)
        await store.begin_request(ALICE, start(lease=lease))
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start(at=after(9)))
        assert await store.begin_request(ALICE, start(at=after(10), lease=lease)) is None
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start(at=after(19)))

    async def test_an_abandoned_request_may_be_tried_again(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        await store.abandon_request(ALICE, request())
        assert await store.begin_request(ALICE, start(digest="other")) is None
        await store.abandon_request(ALICE, request("never begun"))

    async def test_a_request_with_other_content_abandons_nothing(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        await store.abandon_request(ALICE, request(digest="other"))
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start())

    async def test_an_answered_request_cannot_be_abandoned(self, store: Store) -> None:
        await store.begin_request(ALICE, start())
        await store.finish_request(ALICE, answer(), after(1))
        await store.abandon_request(ALICE, request())
        assert await store.begin_request(ALICE, start()) == answer()

    async def test_requests_begun_before_a_time_are_forgotten_and_counted(self, store: Store) -> None:
        for number in range(4):
            await store.begin_request(ALICE, start(f"key {number}", at=after(number)))
        await store.finish_request(ALICE, answer("key 0"), after(60))
        assert await store.forget_requests(ALICE, after(2)) == 2
        assert await store.forget_requests(ALICE, after(2)) == 0
        assert await store.begin_request(ALICE, start("key 0")) is None
        with raises(RequestInFlightError):
            await store.begin_request(ALICE, start("key 2"))

    async def test_an_erased_answer_is_gone_and_the_work_is_not_done_again(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.begin_request(ALICE, start())
        await store.finish_request(ALICE, answer(body=b"words of m1"), after(1))
        await store.erase_conversation(ALICE, "c1", erasure())
        with raises(ErasedError):
            await store.begin_request(ALICE, start(at=after(9999)))
