"""With a model over real HTTP: replies, summaries and titles are its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from recollect.domain.job import Job, JobQuery
from recollect.service.chat_request import ChatRequest
from recollect.service.recollect import Recollect
from recollect.service.titles import Titles
from recollect.testing.clock import FakeClock
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from recollect.testing.samples import ALICE, message


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as opened:
        yield opened
        assert opened.errors == []


@pytest.fixture
def service(make: Callable[..., Recollect], server: ScriptedModelServer) -> Recollect:
    return make(model__url=server.url, model__kind="openai", model__max_retries=0)


async def job_of(service: Recollect, kind: str) -> Job:
    (job,) = [job for job in await service.store.list_jobs(ALICE, JobQuery()) if job.kind == kind]
    return job


def asked(server: ScriptedModelServer) -> str:
    return str(server.seen[-1].body)


async def test_the_model_answers_with_the_conversation_in_sight(
    service: Recollect, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(text=("Her name is Miso.",)))
    await service.conversations.add_messages(ALICE, "c1", [message("m1", "My cat is called Miso.")])
    reply = await service.chat.turn(ALICE, ChatRequest(text="What is her name?", conversation_id="c1"))
    assert (reply.message.content, reply.message.status) == ("Her name is Miso.", "complete")
    assert "My cat is called Miso." in asked(server)


async def test_the_model_finds_a_better_title_once(
    service: Recollect, server: ScriptedModelServer, clock: FakeClock
) -> None:
    server.script(ScriptedReply(text=("Sure.",)), ScriptedReply(text=('"Cats and their names"',)))
    turn = await service.chat.turn(ALICE, ChatRequest(text="My cat is called Miso, what do you think of that?"))
    assert (await service.conversations.get(ALICE, turn.conversation_id)).title_source == "auto"
    await titles(service, clock).title_job(ALICE, await job_of(service, "title"))
    named = await service.conversations.get(ALICE, turn.conversation_id)
    assert (named.title, named.title_source) == ("Cats and their names", "auto")
    await service.chat.turn(ALICE, ChatRequest(text="More", conversation_id=turn.conversation_id))
    await job_of(service, "title")


async def test_a_title_is_told_without_markdown_and_line_breaks(
    service: Recollect, server: ScriptedModelServer, clock: FakeClock
) -> None:
    server.script(ScriptedReply(text=("Sure.",)), ScriptedReply(text=('# **"Cats`\' names"**\n',)))
    turn = await service.chat.turn(ALICE, ChatRequest(text="# My *cat*\n\nis [Miso](https://example.com)"))
    assert (await service.conversations.get(ALICE, turn.conversation_id)).title == "My cat is Miso"
    await titles(service, clock).title_job(ALICE, await job_of(service, "title"))
    assert (await service.conversations.get(ALICE, turn.conversation_id)).title == "Cats`' names"


def titles(service: Recollect, clock: FakeClock) -> Titles:
    assert service.model is not None
    return Titles(service.store, service.model, clock=clock)


async def test_a_title_of_a_person_stays_and_nobody_is_asked(
    service: Recollect, server: ScriptedModelServer, clock: FakeClock
) -> None:
    turn = await service.chat.turn(ALICE, ChatRequest(text="Hello"))
    await service.conversations.update(ALICE, turn.conversation_id, title="Mine")
    seen = len(server.seen)
    await titles(service, clock).title_job(ALICE, await job_of(service, "title"))
    assert (await service.conversations.get(ALICE, turn.conversation_id)).title == "Mine"
    assert len(server.seen) == seen


@pytest.mark.parametrize("reply", [ScriptedReply(text=("  \n ",)), ScriptedReply(fault=Fault.REFUSAL)])
async def test_a_useless_title_changes_nothing(
    service: Recollect, server: ScriptedModelServer, clock: FakeClock, reply: ScriptedReply
) -> None:
    turn = await service.chat.turn(ALICE, ChatRequest(text="Hello"))
    server.script(reply)
    await titles(service, clock).title_job(ALICE, await job_of(service, "title"))
    assert (await service.conversations.get(ALICE, turn.conversation_id)).title == "Hello"
