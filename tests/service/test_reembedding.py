"""Another embedder: everything is embedded again in the background while recall keeps working."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.domain.job import JobQuery
from recollect.domain.likeness import DEFAULT_THRESHOLDS, SENTENCE_THRESHOLDS
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.errors import ProviderUnavailableError
from recollect.ports.embedder import Embedder, TextKind
from recollect.ports.meter import NoMeter
from recollect.ports.store import Store
from recollect.service.chat_request import ChatRequest
from recollect.service.embedding import Embedding
from recollect.service.knowledge import Knowledge
from recollect.service.means import Means
from recollect.service.memories import Correction, Memories, Statement
from recollect.service.memory_writer import MemoryWriter
from recollect.service.recall import Recall
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.models import VECTOR_DIMENSIONS, ScriptedModelServer
from recollect.testing.samples import ALICE, BOB, message
from tests.support.memory_jobs import do_jobs
from tests.support.services import opened, settings_of

Make = Callable[..., Recollect]
#: What stands for the meaning of the words of these tests.
TOPICS = (("boat", "vessel", "ship"), ("nurse", "medicine", "doctor"), ("tea", "drink", "coffee"))
SAID = ("We sailed the boat", "The nurse was kind", "Tea at noon")


class Topics:
    """A small embedder that knows a few topics, and can be away."""

    def __init__(self, model: str = "topics-1", *, is_instant: bool = False, dimensions: int = 8) -> None:
        self.model = model
        self.dimensions = dimensions
        self.is_instant = is_instant
        self.is_away = False
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
        if self.is_away:
            raise ProviderUnavailableError("the embedder is away")
        if kind == "document":
            self.embedded += texts
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dimensions), np.float32)

    def _vector(self, text: str) -> NDArray[np.float32]:
        noise = hashlib.blake2b(text.encode(), digest_size=self.dimensions).digest()
        vector = np.frombuffer(noise, np.uint8).astype(np.float32) / 2550
        for place, words in enumerate(TOPICS):
            vector[place] += sum(word in text.lower() for word in words)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    async def close(self) -> None:
        """Release nothing."""


class Parts:
    """Memories and recall with this embedder on a store that a service uses as well."""

    def __init__(self, service: Recollect, embedder: Embedder, clock: FakeClock) -> None:
        self.store: Store = service.store
        numbers = iter(range(10**6))
        means = Means(
            clock=clock,
            new_id=lambda: f"{embedder.model}-{next(numbers):06}",
            events=service.events,
            meter=NoMeter(),
            ledger=service.ledger,
            wake=lambda at: None,
        )
        self.embedding = Embedding(service.store, embedder, means)
        knowledge = Knowledge(service.store, self.embedding)
        writer = MemoryWriter(service.store, knowledge, self.embedding, means, max_per_conversation=50)
        self.memories = Memories(service.store, writer, self.embedding, means)
        self.recall = Recall(service.store, knowledge, self.embedding, means)

    async def found(self, text: str, **more: Any) -> list[str]:
        """Return the texts that answer, best first."""
        hits = await self.recall.search(ALICE, RecallRequest(text=text, **more))
        return [one.memory.content if one.memory else str(one.message and one.message.content) for one in hits]

    async def progress(self) -> tuple[int, int]:
        """Return how many texts have a vector of this embedder, and how many there are."""
        progress = await self.embedding.progress(ALICE)
        assert progress.model == self.embedding.model
        return progress.done, progress.total


async def queued(store: Store, kind: str = "embed") -> int:
    return sum(job.kind == kind for job in await store.list_jobs(ALICE, JobQuery(state="queued")))


async def fill(service: Recollect) -> None:
    for number, content in enumerate(("Owns a boat", "Works as a nurse", "Likes green tea")):
        await service.memories.add(ALICE, Statement(content=content, id=f"k{number}"))
    await service.conversations.add_messages(ALICE, "c1", [message(f"m{n}", text) for n, text in enumerate(SAID)])
    await service.memories.add(BOB, Statement(content="Owns a ship"))


@pytest.mark.spec("B12")
@pytest.mark.parametrize("instant", [True, False], ids=["instant", "slow"])
async def test_another_embedder_makes_all_vectors_again_while_recall_works(
    service: Recollect, clock: FakeClock, instant: bool
) -> None:
    await fill(service)
    old = await service.embedding.progress(ALICE)
    assert (old.done, old.total) == (6, 6)
    parts = Parts(service, Topics(is_instant=instant), clock)
    assert await parts.progress() == (0, 6)
    assert (await parts.found("boat", messages=False))[0] == "Owns a boat", "by words at least"
    assert (await parts.found("boat", memories=False))[0] == "We sailed the boat"
    if instant:
        assert (await parts.found("vessel", messages=False))[0] == "Owns a boat", "by meaning at once"
    assert await queued(parts.store) == 1
    await parts.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # the job tells nothing
    assert await parts.progress() == (6, 6)
    assert (await service.embedding.progress(ALICE)).done == 0, "the old vectors are gone"
    assert (await parts.found("vessel", messages=False))[0] == "Owns a boat"
    assert (await parts.found("vessel", memories=False))[0] == "We sailed the boat"
    assert (await service.embedding.progress(BOB)).done == 1, "other users are embedded when they come"


@pytest.mark.spec("B12")
async def test_memories_alone_have_their_vectors_made_again(service: Recollect, clock: FakeClock) -> None:
    await service.memories.add(ALICE, Statement(content="Owns a boat"))
    parts = Parts(service, Topics(), clock)
    await parts.found("boat", messages=False)
    assert await queued(parts.store) == 1
    later = clock() + timedelta(minutes=1)
    other = Parts(service, Topics("topics-2", dimensions=16), clock)
    assert await do_jobs(_with(service, parts), "embed", later) == 1
    assert await parts.progress() == (1, 1)
    assert await other.progress() == (0, 1)
    assert (await other.found("boat", messages=False)) == ["Owns a boat"]
    await other.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # the job tells nothing
    assert (await other.progress(), await parts.progress()) == ((1, 1), (0, 1))


def _with(service: Recollect, parts: Parts) -> Recollect:
    """Return the service with the embedding of these parts, for its jobs."""
    service.embedding = parts.embedding
    return service


async def test_new_texts_come_between_the_batches_of_a_long_job(
    service: Recollect, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.service.embedding.BATCH", 2)
    monkeypatch.setattr("recollect.service.embedding.BATCHES", 2)
    await fill(service)
    parts = Parts(service, Topics(), clock)
    done = []
    while (await parts.progress())[0] < 6:
        await parts.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # the job tells nothing
        done.append((await parts.progress())[0])
        assert await queued(parts.store) == 1 or done[-1] == 6
    assert done == sorted(set(done))
    assert len(done) > 1


@pytest.mark.parametrize("instant", [True, False], ids=["instant", "slow"])
async def test_an_embedder_that_is_away_fails_nothing_and_its_job_makes_the_vectors_later(
    service: Recollect, clock: FakeClock, instant: bool
) -> None:
    embedder = Topics(is_instant=instant)
    embedder.is_away = True
    parts = Parts(service, embedder, clock)
    made = await parts.memories.add(ALICE, Statement(content="Owns a boat"))
    await parts.memories.add(ALICE, Statement(content="Works as a nurse"))
    assert await parts.found("boat") == ["Owns a boat", "Works as a nurse"]
    changed = await parts.memories.change(ALICE, made.id, Correction(content="Owns a big boat"))
    assert changed.content == "Owns a big boat"
    await parts.memories.delete(ALICE, made.id)
    assert (await parts.memories.undo(ALICE, made.id)).content == "Owns a big boat"
    assert await parts.progress() == (0, 2)
    assert await queued(parts.store) == 1
    with pytest.raises(ProviderUnavailableError):
        await parts.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # the job tells nothing
    embedder.is_away = False
    await parts.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # as above
    assert await parts.progress() == (2, 2)
    assert (await parts.found("vessel"))[0] == "Owns a big boat"


async def test_an_edit_without_an_embedder_leaves_no_vector_of_the_old_words(
    service: Recollect, clock: FakeClock
) -> None:
    embedder = Topics()
    parts = Parts(service, embedder, clock)
    made = await parts.memories.add(ALICE, Statement(content="Owns a boat"))
    await parts.memories.add(ALICE, Statement(content="Works as a nurse"))
    embedder.is_away = True
    await parts.memories.change(ALICE, made.id, Correction(content="Likes green tea"))
    embedder.is_away = False
    hits = await parts.recall.search(ALICE, RecallRequest(text="vessel", messages=False))
    why = {one.memory.content: one.why for one in hits if one.memory is not None}
    assert "near in meaning" not in why["Likes green tea"]
    clock.advance(seconds=5)
    await parts.embedding.embed_job(ALICE, None)  # type: ignore[arg-type]  # the job tells nothing
    embedder.is_away = True
    assert (await parts.memories.undo(ALICE, made.id)).content == "Owns a boat"
    assert await parts.progress() == (1, 2), "the vector of other words went"


@pytest.mark.spec("B12")
async def test_a_service_whose_embeddings_come_from_a_server_chats_while_that_is_down(
    clock: FakeClock, tmp_path: Path
) -> None:
    async with ScriptedModelServer() as server:
        settings = settings_of(
            f"sqlite:///{tmp_path / 'http.db'}",
            embedding_kind="http",
            embedding_url=server.url,
            embedding_dimensions=VECTOR_DIMENSIONS,
            embedding_max_retries=0,
        )
        async with opened(settings, clock=clock) as parts:
            service = parts.service
            assert service.embedding.thresholds == SENTENCE_THRESHOLDS
            async with server.down():
                made = await service.memories.add(ALICE, Statement(content="Likes green tea"))
                reply = await service.chat.turn(ALICE, ChatRequest(text="Which green tea?", conversation_id="c1"))
                assert [one.memory and one.memory.id for one in reply.recalled] == [made.id]
                assert (await service.embedding.progress(ALICE)).done == 0
            clock.advance(minutes=10)
            assert await do_jobs(service, "embed", clock()) == 1
            progress = await service.embedding.progress(ALICE)
            assert progress.done == progress.total > 1
    assert server.errors == []


async def test_a_broken_embedder_of_the_process_fails_no_message(clock: FakeClock, tmp_path: Path) -> None:
    async with opened(settings_of(f"sqlite:///{tmp_path / 'closed.db'}"), clock=clock) as parts:
        service = parts.service
        assert service.embedding.thresholds == DEFAULT_THRESHOLDS
        await service.embedder.close()
        await service.conversations.add_messages(ALICE, "c1", [message("m1", "green tea")])
        reply = await service.chat.turn(ALICE, ChatRequest(text="Which green tea?", conversation_id="c2"))
        assert reply.message.content
        progress = await service.embedding.progress(ALICE)
        assert progress.done == 0
        assert progress.total >= 2
        jobs = await service.store.list_jobs(ALICE, JobQuery(state="queued"))
        assert [job.kind for job in jobs].count("embed") == 1, "the vectors are made later"


async def test_vectors_that_are_no_numbers_are_refused(service: Recollect, clock: FakeClock) -> None:
    class Broken(Topics):
        async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
            return (await super().embed(texts, kind)) * np.float32("nan")

    class Short(Topics):
        async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
            return (await super().embed(texts, kind))[:, :3]

    for number, embedder in enumerate((Broken("broken"), Short("short", is_instant=True))):
        parts = Parts(service, embedder, clock)
        await parts.memories.add(ALICE, Statement(content=f"Owns boat number {number}"))
        assert (await parts.found("boat", messages=False, limit=5))[0].startswith("Owns boat")
        assert (await parts.progress())[0] == 0


async def test_users_whose_memories_are_held_longest_are_let_go(service: Recollect) -> None:
    knowledge = Knowledge(service.store, service.embedding, most_bytes=1)
    users = [Scope("t", f"u{n}") for n in range(4)]
    for user in users:
        await service.memories.add(user, Statement(content=f"Is called {user.user}"))
    for user in (*users, *users):
        assert len((await knowledge.of(user)).memories) == 1
    assert len(knowledge._users) == 1  # what is let go shows nowhere else
    assert set(knowledge._sizes) == set(knowledge._users)  # as above
    assert knowledge._bytes == sum(knowledge._sizes.values())  # as above
