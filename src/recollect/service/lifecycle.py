"""What happens to conversations that nobody uses: they are marked inactive, and erased only if a retention is set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from recollect.domain.checks import MAX_LIMIT
from recollect.domain.conversation import ConversationQuery
from recollect.domain.erasure import Erased, Erasure
from recollect.domain.job import Job, NewJob
from recollect.domain.scope import Scope
from recollect.errors import NotFoundError, SettingsError
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.service.keeping import TIDY

_log = logging.getLogger(__name__)
#: Answers to requests are kept this long for a retry.
KEEP_ANSWERS = timedelta(days=1)
#: A conversation is erased by its age only if two looks this far apart both find it too old.
SECOND_LOOK = timedelta(hours=1)


class LifecycleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """When a conversation counts as unused."""

    #: Mark a conversation inactive after this time.
    timeout: timedelta = timedelta(hours=24)
    #: Erase a conversation after this time; None keeps it for ever.
    retention: timedelta | None = None


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations that were erased because of their age, or would be."""

    conversation_ids: tuple[str, ...]
    #: What went with them; nothing in a dry run.
    erased: Erased = Erased()
    #: Whether a dry run found more than it tells.
    more: bool = False


class Lifecycle:
    """Look after conversations by the time of their last activity, which only the server's clock sets."""

    def __init__(self, store: Store, options: LifecycleOptions, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._new_id = new_id

    async def cleanup_inactive(self, scope: Scope) -> tuple[str, ...]:
        """Mark the user's conversations inactive that had no activity for the timeout; return their ids.

        They leave the cache and nothing else: the next message makes a conversation active again.
        """
        idle_since = self._clock() - self._options.timeout
        marked: list[str] = []
        while True:
            some = await self._store.mark_inactive(scope, idle_since, MAX_LIMIT)
            marked += some
            if len(some) < MAX_LIMIT:
                return tuple(marked)

    async def prune(self, scope: Scope, *, dry_run: bool = False) -> Pruned:
        """Erase the user's conversations that had no activity for the retention; memories learned from them stay.

        With `dry_run` only tell which.
        """
        if self._options.retention is None:
            raise SettingsError("nothing is erased by its age: archive.retention_days is not set")
        return await self._prune(scope, self._clock() - self._options.retention, dry_run=dry_run)

    async def tidy_job(self, scope: Scope, job: Job) -> None:
        """Look after the conversations of a user, and say when to look again."""
        now = self._clock()
        await self.cleanup_inactive(scope)
        await self._store.forget_requests(scope, now - KEEP_ANSWERS)
        cutoff = None if self._options.retention is None else now - self._options.retention
        seen = _seen(job.payload)
        if cutoff is not None and seen is not None:
            # A clock that was wrong at one of two looks erases nothing.
            await self._prune(scope, min(cutoff, seen), dry_run=False)
        run_at = await self._next_look(scope, now)
        if run_at is not None:
            payload = {} if cutoff is None else {"cutoff": cutoff.isoformat()}
            again = NewJob(id=self._new_id(), kind=TIDY, key=TIDY, run_at=run_at, payload=payload)
            await self._store.enqueue_job(scope, again, now)

    async def _prune(self, scope: Scope, idle_since: datetime, *, dry_run: bool) -> Pruned:
        pruned: list[str] = []
        erased = Erased()
        while True:
            some = await self._store.list_idle(scope, idle_since, MAX_LIMIT)
            if dry_run:
                found = tuple(conversation.id for conversation in some)
                return Pruned(conversation_ids=found, more=len(found) == MAX_LIMIT)
            for conversation in some:
                erasure = Erasure(receipt_id=self._new_id(), at=self._clock(), memories=False)
                try:
                    receipt = await self._store.erase_conversation(scope, conversation.id, erasure)
                except NotFoundError:
                    continue  # somebody else erased it meanwhile
                pruned.append(conversation.id)
                erased = erased.plus(receipt.erased)
            if len(some) < MAX_LIMIT:
                _log.info("erased %d conversations because of their age", len(pruned))
                return Pruned(conversation_ids=tuple(pruned), erased=erased)

    async def _next_look(self, scope: Scope, now: datetime) -> datetime | None:
        """Return when something may be due again, or None if nothing ever is until the user comes back."""
        newest = (await self._store.list_conversations(scope, ConversationQuery(limit=1))).items
        looks = [now + self._options.timeout / 4] if newest and newest[0].is_active else []
        if newest and self._options.retention is not None:
            oldest = await self._store.list_idle(scope, now, 1)
            due = oldest[0].last_activity_at + self._options.retention if oldest else now
            looks.append(max(due, now + SECOND_LOOK))
        return min(looks, default=None)


def _seen(payload: Mapping[str, Any]) -> datetime | None:
    """Return what the look before took for too old."""
    cutoff = payload.get("cutoff")
    return None if cutoff is None else datetime.fromisoformat(cutoff)
