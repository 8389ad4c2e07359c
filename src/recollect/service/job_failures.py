"""Decide what the error of a handler means for its job: done all the same, tried again, or dead.

Pure rules; the worker acts on them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from recollect.domain.checks import as_utc, check_time, later
from recollect.domain.job import Job, JobFailure
from recollect.errors import (
    CircuitOpenError,
    ConversationNotFoundError,
    CorruptRecordError,
    ErasedError,
    InvalidInputError,
    MissingExtraError,
    PermissionDeniedError,
    ProviderOutputError,
    ProviderUnavailableError,
    RecollectError,
    SettingsError,
    StorageLockedError,
    StorageUnavailableError,
)

#: How much is kept of an error's message, and of an answer that could not be used.
MAX_MESSAGE, MAX_RAW = 1_000, 4_000

#: The conversation is gone, and the work on it with it.
MOOT = (ConversationNotFoundError, ErasedError)
#: Something that the job needs is away and comes back by itself, however long it takes.
AWAY = (ProviderUnavailableError, StorageUnavailableError, StorageLockedError)
#: The next attempt would end the same.
HOPELESS = (InvalidInputError, PermissionDeniedError, CorruptRecordError, MissingExtraError, SettingsError)


class RetryLater(Exception):
    """Raised by a handler that cannot do its job before a time; the attempt does not count towards its death.

    With `whole_kind` no job of this kind can be done before, so the worker takes none.
    """

    def __init__(self, at: datetime, reason: str, *, whole_kind: bool = False) -> None:
        super().__init__(reason)
        self.at = as_utc(check_time(at, "at"))
        self.whole_kind = whole_kind


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait before the next attempt."""

    first: timedelta = timedelta(seconds=2)
    longest: timedelta = timedelta(minutes=10)

    def after_attempt(self, attempt: int, chance: float) -> timedelta:
        """Return a time that doubles with each attempt, from the first; `chance` in [0, 1) spreads jobs apart.

        >>> [Backoff().after_attempt(attempt, 0.5).total_seconds() for attempt in (1, 2, 3, 99)]
        [1.5, 3.0, 6.0, 450.0]
        """
        return min(self.first * 2.0 ** min(attempt - 1, 40), self.longest) * (0.5 + chance / 2)

    def after_waiting(self, waited: timedelta, chance: float) -> timedelta:
        """Return about as much time again as was waited so far, which doubles too but needs no count."""
        return min(max(self.first, waited), self.longest) * (0.5 + chance / 2)


def name_of(error: BaseException) -> str:
    """Return the code of our error, or the class of another: what may be logged."""
    return error.code if isinstance(error, RecollectError) else type(error).__name__


def text_of(error: BaseException) -> str:
    """Return what is kept of an error, as text that every store can hold; of an answer that was no use, its words."""
    message = _sound(str(error)[:MAX_MESSAGE])
    told = f"{name_of(error)}: {message}" if message else name_of(error)
    raw = _sound(error.raw[:MAX_RAW]) if isinstance(error, ProviderOutputError) else ""
    return f"{told}\n\n{raw}" if raw else told


def _sound(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\0", "?")


def failure_of(error: BaseException, job: Job, *, now: datetime, chance: float, backoff: Backoff) -> JobFailure | None:
    """Return how the attempt failed, or None if the error ends the job as well as its work would."""
    if isinstance(error, MOOT) and job.conversation_id is not None:
        return None
    if isinstance(error, RetryLater):
        retry_at = later(max(error.at, now), backoff.first * chance)
        return JobFailure(at=now, error=text_of(error), retry_at=retry_at, counts=False)
    if isinstance(error, AWAY):
        waited = backoff.after_waiting(now - job.created_at, chance)
        return JobFailure(at=now, error=text_of(error), retry_at=later(now, waited), counts=False)
    if isinstance(error, HOPELESS):
        return JobFailure(at=now, error=text_of(error), retry_at=None)
    retry_at = later(now, backoff.after_attempt(job.attempts, chance))
    return JobFailure(at=now, error=text_of(error), retry_at=retry_at)


def pause_of(error: BaseException, *, now: datetime, backoff: Backoff) -> datetime | None:
    """Return until when no job of this kind can be done, or None if the error tells only of its own job."""
    if isinstance(error, RetryLater):
        return error.at if error.whole_kind else None
    return later(now, backoff.first) if isinstance(error, CircuitOpenError) else None
