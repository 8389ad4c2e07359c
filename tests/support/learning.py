"""Have a service learn what a scripted model finds, and look at what came of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.domain.job import Job
from recollect.domain.memory import Memory, MemoryQuery
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.extraction.prompting import extraction_prompt
from recollect.ports.chat_model import ModelRequest
from recollect.service.learning import Learned, Learner
from recollect.service.recollect import Recollect
from recollect.testing.models import ScriptedReply
from recollect.testing.samples import ALICE, message
from tests.support.model_service import Played


class Counts:
    """A meter that can be read."""

    def __init__(self) -> None:
        self.counted: Counter[tuple[str, str | None]] = Counter()

    def add(self, name: str, amount: int = 1, *, reason: str | None = None, **_words: str | None) -> None:
        """Let a counter grow."""
        self.counted[name, reason] += amount

    def observe(self, name: str, seconds: float, *, kind: str | None = None) -> None:
        """Take no time down."""

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """Read nothing."""


def counted_learner(service: Recollect, counts: Counts) -> Learner:
    """Return the learner of a service, but for its meter."""
    own = service.learner
    means = msgspec.structs.replace(own._means, meter=counts)
    return Learner(own._store, own._writer, own._extractors, means, own._options)


def item(content: str, quote: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one memory as a model writes it; it quotes its own words unless more is given."""
    return {"type": "fact", "content": content, "importance": 0.6, "quote": quote or content, **more}


def found(*items: dict[str, Any]) -> ScriptedReply:
    """Return the answer of a model that found these."""
    return ScriptedReply(text=(json.dumps({"memories": items}, ensure_ascii=False),))


async def tell(service: Recollect, scope: Scope, text: str, **more: Any) -> str:
    """Add a message that nobody answers, and return its id."""
    message_id, conversation_id = service.chat._parts.means.new_id(), more.pop("conversation_id", "c1")
    said = message(message_id, text, **{"created_at": service.chat._parts.means.clock(), **more})
    await service.conversations.add_messages(scope, conversation_id, [said])
    return message_id


async def learn(played: Played, text: str, *items: dict[str, Any], scope: Scope = ALICE, **more: Any) -> Learned:
    """Have something said, and learn what the model finds in it a minute later."""
    await tell(played.service, scope, text, **more)
    played.clock.advance(minutes=1)
    played.server.script(found(*items))
    return await played.service.learner.learn(scope, "c1")


async def memories(service: Recollect, scope: Scope = ALICE, **query: Any) -> list[Memory]:
    """Return the memories by filter, up to a hundred, oldest first."""
    page = await service.memories.list(scope, MemoryQuery(limit=100, **query))
    assert page.next is None
    return list(reversed(page.items))


async def contents(service: Recollect, scope: Scope = ALICE, **query: Any) -> list[str]:
    """Return what the memories say."""
    return [memory.content for memory in await memories(service, scope, **query)]


async def remembered(service: Recollect, question: str, scope: Scope = ALICE) -> list[str]:
    """Return the memories that recall and a prompt give for a question, all of them."""
    request = RecallRequest(text=question, limit=100, messages=False)
    hits = await service.recall.search(scope, request)
    recalled = [hit.memory.content for hit in hits if hit.memory is not None]
    context = await service.contexts.preview(scope, "c1", query=question)
    told = [item.text for block in context.blocks if block.kind in ("pinned", "memories") for item in block.items]
    return recalled + told


async def attempted(played: Played) -> Job:
    """Wait until the one job to learn was tried, and return it."""
    while True:
        (job,) = await played.jobs(["extract"])
        if not played.service.worker.state.running and (job.state in {"done", "dead"} or job.error):
            return job
        await asyncio.sleep(0.005)


async def drained(played: Played) -> list[Job]:
    """Let time pass until no job to learn waits, and return them all."""
    while True:
        jobs = await played.jobs(["extract"])
        if not any(job.state in {"queued", "running"} for job in jobs):
            return jobs
        await played.pass_time(seconds=30)


def asked(played: Played) -> list[ModelRequest]:
    """Return the requests for memories that the model got."""
    requests = [one.request for one in played.server.seen if one.request is not None]
    return [one for one in requests if one.system == extraction_prompt().system]


async def mark(service: Recollect, conversation_id: str = "c1", scope: Scope = ALICE) -> int:
    """Return up to where a conversation was learned from."""
    return (await service.store.get_conversation(scope, conversation_id)).extracted_seq
