"""What happens to conversations that nobody uses: they are marked inactive, and erased only if a retention is set."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from recollect.domain.checks import MAX_LIMIT
from recollect.domain.conversation import ConversationQuery
from recollect.domain.erasure import Erased, Erasure
from recollect.domain.job import Job, NewJob
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, NotFoundError, SettingsError
from recollect.ports.clock import Clock
from recollect.ports.events import Event, Events
from recollect.ports.store import Store
from recollect.service.conversations import CONVERSATION_DELETED
from recollect.service.keeping import TIDY

_log = logging.getLogger(__name__)
#: The kinds of the jobs that look for conversations which are too old, and that erase them after a second look.
EXPIRE, PRUNE = "expire", "prune"
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

    def __init__(
        self,
        store: Store,
        options: LifecycleOptions,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        events: Events | None = None,
    ) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._new_id = new_id
        self._events = events

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
        """Look for conversations of a user that became idle, and look again while one is active."""
        now = self._clock()
        await self.cleanup_inactive(scope)
        # A clock that was wrong when the job was queued or is wrong now forgets nothing too early.
        await self._store.forget_requests(scope, min(now, job.created_at) - KEEP_ANSWERS)
        if (await self._store.list_conversations(scope, ConversationQuery(limit=1, active=True))).items:
            await self._queue(scope, TIDY, now, now + self._options.timeout / 4)
        if self._options.retention is not None and await self._store.list_idle(scope, now, 1):
            await self._queue(scope, EXPIRE, now, await self._next_expiry(scope, now, self._options.retention))

    async def expire_job(self, scope: Scope, job: Job) -> None:
        """Look for conversations that are too old; if there are any, have a second look before they are erased."""
        retention = self._options.retention
        if retention is None:
            return
        now = self._clock()
        cutoff = now - retention
        if await self._store.list_idle(scope, cutoff, 1):
            await self._queue(scope, PRUNE, now, now + SECOND_LOOK, cutoff=cutoff.isoformat())
        if await self._store.list_idle(scope, now, 1):
            soonest = now + 2 * SECOND_LOOK
            await self._queue(scope, EXPIRE, now, max(soonest, await self._next_expiry(scope, now, retention)))

    async def prune_job(self, scope: Scope, job: Job) -> None:
        """Erase what was too old at the first look and is at this one: a clock that was wrong once erases nothing."""
        if self._options.retention is not None:
            seen = datetime.fromisoformat(job.payload["cutoff"])
            await self._prune(scope, min(self._clock() - self._options.retention, seen), dry_run=False)

    async def _queue(self, scope: Scope, kind: str, now: datetime, run_at: datetime, **payload: str) -> None:
        """Queue the next look, unless one waits already, which then keeps its time."""
        job = NewJob(id=self._new_id(), kind=kind, key=kind, run_at=run_at, payload=payload, max_delay=timedelta(0))
        await self._store.enqueue_job(scope, job, now)

    async def _next_expiry(self, scope: Scope, now: datetime, retention: timedelta) -> datetime:
        oldest = await self._store.list_idle(scope, now, 1)
        return oldest[0].last_activity_at + retention if oldest else now + retention

    async def _prune(self, scope: Scope, idle_since: datetime, *, dry_run: bool) -> Pruned:
        pruned: list[str] = []
        erased = Erased()
        while True:
            some = await self._store.list_idle(scope, idle_since, MAX_LIMIT)
            if dry_run:
                found = tuple(conversation.id for conversation in some)
                return Pruned(conversation_ids=found, more=len(found) == MAX_LIMIT)
            for conversation in some:
                receipt_id, at = self._new_id(), self._clock()
                erasure = Erasure(receipt_id=receipt_id, at=at, memories=False, idle_since=idle_since)
                try:
                    receipt = await self._store.erase_conversation(scope, conversation.id, erasure)
                except (NotFoundError, ConflictError):
                    continue  # somebody erased or used it meanwhile
                pruned.append(conversation.id)
                if self._events is not None:
                    self._events.publish([Event(kind=CONVERSATION_DELETED, scope=scope, entity_id=conversation.id)])
                erased = erased.plus(receipt.erased)
            if len(some) < MAX_LIMIT:
                _log.info("erased %d conversations because of their age", len(pruned))
                return Pruned(conversation_ids=tuple(pruned), erased=erased)
