"""Whoever read something before it was erased writes afterwards, and does not bring it back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any, cast

import apsw
import pytest

import recollect
from recollect.bootstrap import new_id
from recollect.domain.job import NewJob
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import NotFoundError
from recollect.service.embedding import Embedding
from recollect.service.job_attempts import Attempted, AttemptLimits, Attempts, Handler
from recollect.service.notes import NoteRequest
from recollect.service.patience import Pace, Patience
from recollect.service.titles import Titles
from recollect.settings import Settings
from recollect.testing.samples import ALICE, erasure, message
from tests.support.canary import Canary, SqliteFiles
from tests.support.erasure_scene import Scene
from tests.support.paused_parts import Gate, PausedEmbedder, PausedExtractor, PausedGenerator, PausedModel
from tests.support.server_process import serving

pytestmark = [pytest.mark.spec("R26"), pytest.mark.spec("B6")]


def handler(scene: Scene, kind: str, gate: Gate) -> Handler:
    """Return what does a job of this kind, and waits at the gate once it has read."""
    spread, service = scene.spread, scene.service
    if kind == "summarise":
        return spread.compactor(PausedGenerator(gate)).summarise_job
    if kind == "title":
        return Titles(service.store, cast("Any", PausedModel(gate)), clock=spread.played.clock).title_job
    if kind == "embed":
        own = service.embedding
        embedder = PausedEmbedder(service.embedder, gate)
        return Embedding(service.store, embedder, own._means, own.thresholds).embed_job
    return spread.learner(PausedExtractor(gate, fails=kind == "fail")).extract_job


async def attempt(scene: Scene, kind: str, conversation_id: str, gate: Gate) -> Attempted:
    """Queue a job of this kind and make one attempt at it, as a worker does."""
    clock, store = scene.spread.played.clock, scene.service.store
    place = None if kind == "embed" else conversation_id
    new = NewJob(id=new_id(), kind=f"late {kind}", conversation_id=place, key=None, run_at=clock())
    await store.enqueue_job(ALICE, new, clock())
    (held,) = await scene.spread.claimed(new.kind)
    pace = Pace(clock, chance=lambda: 0.5)
    handlers = {new.kind: handler(scene, kind, gate)}
    return await Attempts(store, handlers, limits=AttemptLimits(), pace=pace, patience=Patience(pace)).make(held)


async def erase(scene: Scene, what: str, conversation_id: str) -> None:
    if what == "message":
        await scene.service.conversations.erase_message(ALICE, conversation_id, f"{what}-0")
    elif what == "clear":
        await scene.service.conversations.clear_messages(ALICE, conversation_id, memories=True)
    elif what == "conversation":
        await scene.service.conversations.delete(ALICE, conversation_id)
    else:
        await scene.service.store.erase_user(ALICE, erasure())


@pytest.mark.parametrize("kind", ["extract", "fail", "summarise", "title", "embed"])
async def test_a_job_that_read_it_before_brings_nothing_back(kind: str, scene: Scene) -> None:
    await scene.spread.harmless()
    for what in ("message", "clear", "conversation", "user"):
        said = [message(f"{what}-{n}", f"I like tea number {n}.") for n in range(1, 6)]
        told = message(f"{what}-0", f"My name is {scene.canary.name}. It is {scene.canary.text}.")
        await scene.service.conversations.add_messages(ALICE, what, [told, *said])
        assert scene.traces()
        gate = Gate()
        late = asyncio.create_task(attempt(scene, kind, what, gate))
        await gate.reached.wait()
        await erase(scene, what, what)
        assert scene.traces() == []
        vectors = scene.database.count()["vectors"]
        gate.opened.set()
        assert (await late).outcome in {"done", "failed", "lost"}
        assert scene.traces() == []
        if kind == "embed":
            assert scene.database.count()["vectors"] == vectors
        if what == "message" and kind != "fail":
            assert (await attempt(scene, kind, what, gate)).outcome == "done"
            assert scene.traces() == []


async def test_a_failed_job_that_was_not_under_way_loses_its_words_too(scene: Scene) -> None:
    await scene.spread.harmless()
    told = message("m0", f"It is {scene.canary.text}.")
    await scene.service.conversations.add_messages(ALICE, "c1", [told, message("m1", "I like tea.")])
    gate = Gate()
    gate.opened.set()
    assert (await attempt(scene, "fail", "c1", gate)).outcome == "failed"
    await scene.service.conversations.erase_message(ALICE, "c1", "m0")
    assert scene.traces() == []


async def test_a_server_that_goes_on_has_it_in_no_log_and_no_cache(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    canary = Canary(Random(seed))
    (tmp_path / "data").mkdir()
    database = SqliteFiles(tmp_path / "data" / "r.db")
    question = "What did I say about my garden?"
    with serving(database.url, tmp_path) as client:
        client.post("/api/chat", json={"message": "The garden has four apple trees."})
        said = client.post("/api/chat", json={"message": f"My garden is called {canary.text}."}).json()
        asked = client.post("/api/chat", json={"message": question})
        assert canary.places({"reply": asked.content})
        settings = Settings.load({"storage.database": database.url, "jobs.inside": False}, environ={})
        async with await recollect.open(settings) as service:
            scope = Scope()
            # The answer to the question stands in another conversation.
            receipt = await service.conversations.delete(scope, said["conversation_id"])
            assert receipt.erased.messages == 3
            with pytest.raises(NotFoundError):
                await service.store.list_messages(scope, MessageQuery(conversation_id=said["conversation_id"]))
        again = client.post("/api/chat", json={"message": question})
        assert "apple trees" in again.text
        assert canary.places({"reply": again.content, **database.raw()}) == []
    assert canary.places({"log": (tmp_path / "server.log").read_bytes(), **database.raw()}) == []


@pytest.mark.parametrize("damaged", ["notes", "note_versions"])
async def test_an_erasure_reaches_notes_that_were_damaged(damaged: str, tmp_path: Path, seed: int) -> None:
    canary = Canary(Random(seed))
    (tmp_path / "data").mkdir()
    database = SqliteFiles(tmp_path / "data" / "r.db")
    async with await recollect.open(Settings.load({"storage.database": database.url}, environ={})) as service:
        await service.notes.apply(ALICE, NoteRequest(operation="append", content="mine"))
        await service.conversations.add_messages(ALICE, "c1", [message("m1", "hello")])
        for content in (canary.text, "theirs"):
            await service.notes.call(ALICE, {"operation": "append", "content": content}, "c1")
        connection = apsw.Connection(str(database.path))
        connection.execute(f"UPDATE {damaged} SET checksum = checksum + 1 WHERE version > 1")
        connection.close()
        receipt = await service.conversations.delete(ALICE, "c1")
        assert (receipt.erased.notes, receipt.erased.note_versions) == (1, 2)
        assert canary.places(database.raw()) == []
        assert (await service.notes.read(ALICE)).notes == "mine"
