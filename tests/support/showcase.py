"""A believable past to look at: conversations over days, what was learned from them, notes, and work that failed.

It is told relative to a moment, so that "today" and "yesterday" look the same whenever it is made.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from recollect.domain.job import ClaimRequest, JobFailure, NewJob
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.ports.chat_model import ToolCallRequest
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Statement
from recollect.service.notes import NoteRequest
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.models import ScriptedModelServer, ScriptedReply
from recollect.testing.samples import memory
from tests.support.seeding import past
from tests.support.showcase_texts import MEMORIES, NOTES, OLDER, PENDING, SUGGESTIONS, SUMMARY, TRIP

ME = Scope()
#: The conversation that is looked at.
TRIP_ID = "lofoten"
DINNER_ID = "dinner"
_SETTINGS = {
    "model.name": "small",
    "model.kind": "openai",
    "history.when": "inline",
    "jobs.inside": False,
}


async def seed_showcase(database: Path, now: datetime) -> None:
    """Write all of it into a new database."""
    clock = FakeClock(now)
    async with (
        ScriptedModelServer() as model,
        past(database, clock, **_SETTINGS, **{"model.url": model.url}) as opened,
    ):
        await _memories(opened, clock, now)
        await _older(opened, clock, now)
        await _notes(opened, clock, now)
        await _failed(opened, now - timedelta(hours=5))
        await _dinner(opened, now - timedelta(hours=3))
        await _trip(opened, model, clock, now - timedelta(minutes=50))


def _go(clock: FakeClock, to: datetime) -> None:
    clock.advance(seconds=(to - clock()).total_seconds())


async def _memories(opened: Recollect, clock: FakeClock, now: datetime) -> None:
    for days, statement in MEMORIES:
        _go(clock, now - timedelta(days=days))
        await opened.memories.add(ME, Statement(**statement))
    waiting = [
        memory(f"pending-{number}", content, origin=origin, trust="pending", at=now - timedelta(hours=number + 2))
        for number, (origin, content) in enumerate(PENDING)
    ]
    await opened.store.add_memories(ME, tuple(waiting))


async def _older(opened: Recollect, clock: FakeClock, now: datetime) -> None:
    for number, (days, title, said, answer) in enumerate(OLDER):
        at = now - timedelta(days=days, minutes=7 * number)
        _go(clock, at)
        made = await opened.conversations.create(ME, title=title)
        messages = [
            NewMessage(id=f"older-{number}-said", role="user", content=said, created_at=at),
            NewMessage(id=f"older-{number}-answer", role="assistant", content=answer, created_at=at),
        ]
        await opened.conversations.add_messages(ME, made.id, messages)
        if number == 2:
            await opened.conversations.update(ME, made.id, is_pinned=True)
        if title.startswith("Archived: "):
            await opened.conversations.update(ME, made.id, title=title[len("Archived: ") :], is_archived=True)


async def _notes(opened: Recollect, clock: FakeClock, now: datetime) -> None:
    for days, text in NOTES:
        _go(clock, now - timedelta(days=days))
        await opened.notes.apply(ME, NoteRequest(operation="overwrite", content=text))


async def _failed(opened: Recollect, at: datetime) -> None:
    """Leave two jobs that nobody will try again by themselves."""
    why = {"extract": "the model answered with status 503 eight times", "summarise": "the model refused the request"}
    for kind in why:
        job = NewJob(id=f"failed-{kind}", kind=kind, run_at=at, conversation_id="none", max_attempts=1)
        await opened.store.enqueue_job(ME, job, at)
    lease = timedelta(minutes=1)
    for held in await opened.store.claim_jobs(ClaimRequest(worker="gone", now=at, lease=lease, limit=100)):
        if held.job.id.startswith("failed-"):
            failure = JobFailure(at=at, error=why[held.job.kind], retry_at=None)
            await opened.store.fail_job(held.scope, held.claim, failure)
        else:
            await opened.store.complete_job(held.scope, held.claim, at)


async def _dinner(opened: Recollect, at: datetime) -> None:
    await opened.conversations.create(ME, conversation_id=DINNER_ID, title="Dinner on Friday")
    said = NewMessage(id="dinner-said", role="user", content="Ideas for Friday, six people?", created_at=at)
    answer = NewMessage(id="dinner-answer", role="assistant", created_at=at, **SUGGESTIONS)
    await opened.conversations.add_messages(ME, DINNER_ID, [said, answer])


async def _trip(opened: Recollect, model: ScriptedModelServer, clock: FakeClock, at: datetime) -> None:
    _go(clock, at)
    await opened.conversations.create(ME, conversation_id=TRIP_ID, title="A week in Lofoten")
    summary = ScriptedReply(text=(SUMMARY,), whole=True)
    for said, answer, search in TRIP:
        clock.advance(minutes=4)
        call = ToolCallRequest(id=f"call-{search}", tool_name="search_memory", input={"query": search})
        looking = [ScriptedReply(text=(), tool_calls=(call,))] if search else []
        model.script(*looking, ScriptedReply(text=(answer,)), summary)
        await opened.chat.turn(ME, ChatRequest(text=said, conversation_id=TRIP_ID))
