"""Do the jobs that memories make, when a test says so."""

from __future__ import annotations

from datetime import datetime, timedelta

from recollect.domain.job import ClaimRequest
from recollect.domain.memory import MemoryQuery
from recollect.domain.scope import Scope
from recollect.service.recollect import Recollect


async def do_jobs(service: Recollect, kind: str, now: datetime) -> int:
    """Do all jobs of this kind that are due, as a worker does, and return how many there were."""
    handlers = {
        "erase_memory": service.memories.erase_memory_job,
        "embed": service.embedding.embed_job,
        "fade": service.forgetting.fade_job,
        "tidy": service.forgetting.looking(service.lifecycle.tidy_job),
    }
    request = ClaimRequest(worker="test", now=now, lease=timedelta(minutes=1), limit=100, kinds=(kind,))
    held = await service.store.claim_jobs(request)
    for one in held:
        await handlers[kind](one.scope, one.job)
        await service.store.complete_job(one.scope, one.claim, now)
    return len(held)


async def said_by(service: Recollect, scope: Scope) -> list[str]:
    """Return the statements that are current, the oldest first."""
    page = await service.memories.list(scope, MemoryQuery(limit=200))
    assert page.next is None
    return [memory.content for memory in reversed(page.items)]
