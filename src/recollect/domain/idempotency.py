"""One request, one effect: what is kept so that a retry gets the first answer."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime, timedelta

import msgspec

from recollect.domain.checks import check_count, check_duration, check_id, check_time, check_type
from recollect.errors import ErasedError, IdempotencyMismatchError, RequestInFlightError


class RequestKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key a caller chose and a digest of what it asked."""

    key: str
    digest: str

    def __post_init__(self) -> None:
        check_id(self.key, "idempotency key")
        check_id(self.digest, "request digest")


def id_from(request: RequestKey, what: str) -> str:
    """Return the id that this thing has in every attempt of a request, so that none stores it twice."""
    text = msgspec.json.encode((what, request.key, request.digest))
    raw = bytearray(hashlib.blake2b(text, digest_size=16).digest())
    raw[6], raw[8] = raw[6] & 0x0F | 0x80, raw[8] & 0x3F | 0x80  # version 8: made by a rule of one's own
    return str(uuid.UUID(bytes=bytes(raw)))


class RequestStart(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a request; if it is not finished within the lease, another may take it over."""

    request: RequestKey
    at: datetime
    lease: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        check_type(self.request, RequestKey, "request")
        check_time(self.at, "at")
        check_duration(self.lease, "lease")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a finished request, byte for byte."""

    request: RequestKey
    status: int
    body: bytes

    def __post_init__(self) -> None:
        check_type(self.request, RequestKey, "request")
        check_count(self.status, "status", at_least=100, at_most=599)
        check_type(self.body, bytes, "body")


class IdempotencyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a request; a status without a body is an answer that was erased."""

    request: RequestKey
    started_at: datetime
    lease_until: datetime
    status: int | None = None
    body: bytes | None = None


def first_answer(record: IdempotencyRecord | None, start: RequestStart) -> Answer | None:
    """Return the stored answer of a finished request, or None if this caller may do the work.

    Raise when the key was used with other content, or while its first request still runs.
    """
    if record is None:
        return None
    if record.request.digest != start.request.digest:
        raise IdempotencyMismatchError("this idempotency key was used with other content; use a new key")
    if record.status is not None:
        if record.body is None:
            raise ErasedError("the request was done, and its answer was erased since")
        return Answer(request=record.request, status=record.status, body=record.body)
    if record.lease_until > start.at:
        raise RequestInFlightError("the first request with this idempotency key still runs; retry later")
    return None
