"""Let old, idle and unimportant memories fade: they are archived, never deleted, and a person can bring them back."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from recollect.domain.forgetting import has_faded
from recollect.domain.job import Job, NewJob
from recollect.domain.memory import Memory, MemoryChanges, MemoryEdit
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from recollect.service.job_attempts import Handler
from recollect.service.means import Means
from recollect.service.memories import MEMORY_UPDATED
from recollect.service.memory_writer import MemoryWriter

if TYPE_CHECKING:
    from recollect.service.knowledge import UserKnowledge

_log = logging.getLogger(__name__)
#: The kind of the job that archives what has faded, after a second look.
FADE = "fade"
#: A memory fades only if two looks this far apart both find it faded, so that a clock that was wrong once changes none.
SECOND_LOOK = timedelta(hours=1)
#: Memories that are archived in one transaction.
AT_ONCE = 200


class Forgetting:
    """Archive what has faded."""

    def __init__(self, store: Store, writer: MemoryWriter, means: Means, half_life: timedelta | None) -> None:
        self._store = store
        self._writer = writer
        self._means = means
        self._half_life = half_life

    async def fade(self, scope: Scope, at: datetime | None = None) -> tuple[Memory, ...]:
        """Archive the memories that have faded by this time, and return them."""
        half_life = self._half_life
        if half_life is None:
            return ()
        now = self._means.clock()
        archived: list[Memory] = []
        while True:
            # Uses of a memory change no revision, so what is held may not know of them.
            some = await self._writer.apply(scope, lambda known: _edits(known, at or now, now, half_life), afresh=True)
            archived += some
            self._means.tell(scope, MEMORY_UPDATED, (memory.id for memory in some))
            if len(some) < AT_ONCE:
                return tuple(archived)

    def looking(self, tidy: Handler) -> Handler:
        """Return a handler that also takes a first look at the memories of the user."""

        async def both(scope: Scope, job: Job) -> None:
            await tidy(scope, job)
            await self._look(scope)

        return both

    async def _look(self, scope: Scope) -> None:
        if self._half_life is None:
            return
        now = self._means.clock()
        run_at = now + SECOND_LOOK
        job = NewJob(
            id=self._means.new_id(),
            kind=FADE,
            key=FADE,
            run_at=run_at,
            payload={"first_look": now.isoformat()},
            max_delay=timedelta(0),
        )
        await self._store.enqueue_job(scope, job, now)

    async def fade_job(self, scope: Scope, job: Job) -> None:
        """Archive what had faded at the first look and has at this one."""
        first = datetime.fromisoformat(job.payload["first_look"])
        faded = await self.fade(scope, min(first, self._means.clock()))
        if faded:
            _log.info("archived %d memories that nobody used", len(faded))


def _edits(known: UserKnowledge, at: datetime, now: datetime, half_life: timedelta) -> list[MemoryEdit]:
    faded = [memory for memory in known.memories.values() if has_faded(memory, at, half_life)]
    changes = MemoryChanges(at=now, is_archived=True)
    return [MemoryEdit(memory_id=memory.id, changes=changes) for memory in faded[:AT_ONCE]]
