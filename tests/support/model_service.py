"""The whole service with a scripted server as its model, on a clock that a test holds in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec

from recollect.bootstrap import assemble
from recollect.domain.job import ClaimedJob, ClaimRequest, Job, JobQuery
from recollect.domain.message import Message
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.history.model_generator import summary_prompt
from recollect.ports.store import Store
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.testing.clock import FakeClock
from recollect.testing.models import ScriptedModelServer, ScriptedReply, WireProtocol
from recollect.testing.samples import ALICE, ids_of
from tests.support.services import open_patiently

#: Limits for a server that answers at once or not at all, so that a fault takes no time.
HURRIED = {
    "model.connect_timeout_seconds": 0.3,
    "model.first_token_timeout_seconds": 0.3,
    "model.idle_timeout_seconds": 0.3,
    "model.total_timeout_seconds": 0.8,
}
#: What a server that works says to everything.
SUMMARY = "They talked about tea."
GOOD = ScriptedReply(text=(SUMMARY,))
#: How exactly the end of a wait is seen.
STEP = timedelta(seconds=10)
#: The kinds of jobs that ask the model.
ASKING = ("summarise", "title")


class WatchedStore:
    """A store that knows when a worker looked for jobs, and whether it took all that were due."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looking = 0
        self._looked_at: datetime | None = None
        self._took_all = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        """Note the look."""
        self._looking += 1
        taken = await self._store.claim_jobs(request)
        self._looking -= 1
        self._looked_at = request.now
        self._took_all = len(taken) < request.limit
        return taken

    def has_given_all(self, at: datetime) -> bool:
        """Tell whether a worker has what was due at this time."""
        return self._took_all and not self._looking and self._looked_at is not None and self._looked_at >= at


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A service, the server that plays its model, and their clock."""

    service: Recollect
    server: ScriptedModelServer
    clock: FakeClock
    watched: WatchedStore

    def answer(self, reply: ScriptedReply) -> None:
        """Answer everything in the same way from now on."""
        self.server.script(*[reply] * 10_000)

    @property
    def summaries_asked(self) -> int:
        """Count the requests for a summary."""
        system = summary_prompt().system
        return sum(one.request is not None and one.request.system == system for one in self.server.seen)

    async def messages(self, conversation_id: str = "c1", scope: Scope = ALICE) -> tuple[Message, ...]:
        """Return what is stored of a conversation, up to a hundred messages."""
        page = await self.service.store.list_messages(scope, MessageQuery(conversation_id=conversation_id, limit=100))
        assert (page.more, page.corrupt) == (False, ())
        return page.messages

    async def jobs(self, kinds: Sequence[str] = ASKING) -> list[Job]:
        """Return the jobs of these kinds."""
        return [job for job in await self.service.store.list_jobs(ALICE, JobQuery(limit=500)) if job.kind in kinds]

    async def tried(self) -> list[Job]:
        """Wait until each job was tried, and return them."""
        while True:
            jobs = await self.jobs()
            tried = all(job.state in {"done", "dead"} or (job.state == "queued" and job.error) for job in jobs)
            if tried and not self.service.worker.state.running:
                return jobs
            await asyncio.sleep(0.005)

    async def drained(self) -> list[Job]:
        """Let time pass step by step until no job waits, and return them all."""
        while True:
            jobs = await self.jobs()
            if not any(job.state in {"queued", "running"} for job in jobs):
                return jobs
            await self.pass_time(seconds=STEP.total_seconds())

    async def pass_time(self, **by: float) -> None:
        """Let time pass, and wait until the worker has tried all that is due then."""
        self.clock.advance(**by)
        self.service.worker.wake()
        while True:
            if self.watched.has_given_all(self.clock()) and not self.service.worker.state.running:
                return
            await asyncio.sleep(0.001)

    async def told(self, conversation_id: str = "c1", scope: Scope = ALICE) -> list[str]:
        """List the ids of all messages as a prompt tells them: under a summary, then verbatim."""
        window = await self.service.store.get_window(scope, conversation_id)
        covered = [one for summary in window.summaries for one in summary.message_ids]
        return covered + ids_of(window.uncovered)


@asynccontextmanager
async def play(file: Path, more: Mapping[str, Any], kind: WireProtocol = "openai") -> AsyncIterator[Played]:
    """Open the service with these settings on a new file; its worker is not started yet."""
    async with ScriptedModelServer() as server:
        settings = Settings.load(
            {
                "storage.database": f"sqlite:///{file}",
                "model.kind": kind,
                "model.url": server.url,
                "model.name": "small",
                "model.max_retries": 0,
                "model.max_response_bytes": 300_000,
                "jobs.debounce_seconds": 0,
                "jobs.lease_seconds": 3600,
                **more,
            },
            environ={},
        )
        clock = FakeClock()
        watched = WatchedStore(await open_patiently(settings))
        async with assemble(cast("Store", watched), settings, clock) as service:
            yield Played(service=service, server=server, clock=clock, watched=watched)
    assert server.errors == []
