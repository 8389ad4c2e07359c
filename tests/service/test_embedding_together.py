"""Memories that are added at once are embedded by one call, and none suffers from another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.domain.job import JobQuery
from recollect.domain.memory import Memory
from recollect.domain.scope import Scope
from recollect.embedding.static import StaticEmbedder
from recollect.errors import ProviderUnavailableError
from recollect.ports.embedder import TextKind
from recollect.ports.meter import NoMeter
from recollect.service.embedding import Embedding
from recollect.service.knowledge import Knowledge
from recollect.service.means import Means
from recollect.service.memories import Memories, Statement
from recollect.service.memory_writer import MemoryWriter
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock

USERS = [Scope(user=f"user-{number}") for number in range(16)]


class CountedEmbedder(StaticEmbedder):
    """The embedder of the package, which counts its calls and can be away."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.is_away = False
        self.was_called = asyncio.Event()

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
        self.calls += 1
        self.was_called.set()
        if self.is_away:
            raise ProviderUnavailableError("away")
        return await super().embed(texts, kind)


class Parts:
    """Memories with this embedder on the store of a service."""

    def __init__(self, service: Recollect, clock: FakeClock) -> None:
        self.embedder = CountedEmbedder()
        numbers = iter(range(10**6))
        means = Means(
            clock=clock,
            new_id=lambda: f"{next(numbers):06}",
            events=service.events,
            meter=NoMeter(),
            ledger=service.ledger,
            wake=lambda at: None,
        )
        self.store = service.store
        self.embedding = Embedding(service.store, self.embedder, means)
        knowledge = Knowledge(service.store, self.embedding)
        writer = MemoryWriter(service.store, knowledge, self.embedding, means, max_per_conversation=50)
        self.memories = Memories(service.store, writer, self.embedding, means)

    async def add(self, user: Scope) -> Memory:
        return await self.memories.add(user, Statement(content=f"The user goes by the name of {user.user}"))

    async def unembedded(self) -> list[int]:
        left = [await self.store.list_unembedded(user, self.embedding.model, 9) for user in USERS]
        return [one.remaining for one in left]


@pytest.fixture
def parts(service: Recollect, clock: FakeClock) -> Parts:
    """Give memories whose embedder counts."""
    return Parts(service, clock)


async def test_sixteen_at_once_are_embedded_by_two_calls(parts: Parts) -> None:
    made = await asyncio.gather(*(parts.add(user) for user in USERS))
    assert [one.content.rpartition(" ")[2] for one in made] == [user.user for user in USERS]
    assert parts.embedder.calls == 2, "the first did not know of the others"
    assert await parts.unembedded() == [0] * len(USERS)
    await parts.memories.add(USERS[0], Statement(content="The user plays chess"))
    assert parts.embedder.calls == 3


async def test_each_gets_its_own_vector(parts: Parts) -> None:
    await asyncio.gather(*(parts.add(user) for user in USERS))
    for user in USERS:
        read = await parts.store.read_memories(user, parts.embedding.model)
        assert read is not None
        (alone,) = await parts.embedding.vectors(user, [f"The user goes by the name of {user.user}"])
        assert alone is not None
        assert [one.vector for one in read.items] == [alone.values]


async def test_one_who_gives_up_does_not_disturb_the_others(parts: Parts) -> None:
    tasks = [asyncio.create_task(parts.add(user)) for user in USERS]
    await parts.embedder.was_called.wait()
    tasks[1].cancel()
    made = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in made] == [Memory, asyncio.CancelledError, *[Memory] * 14]


async def test_while_the_embedder_is_away_all_are_stored_and_embedded_later(parts: Parts) -> None:
    parts.embedder.is_away = True
    await asyncio.gather(*(parts.add(user) for user in USERS))
    assert await parts.unembedded() == [1] * len(USERS)
    for user in USERS:
        jobs = await parts.store.list_jobs(user, JobQuery(state="queued"))
        assert [job.kind for job in jobs] == ["embed"]


async def test_a_question_that_comes_again_is_not_embedded_again(parts: Parts) -> None:
    first = await parts.embedding.question("Where do I live?")
    again = await parts.embedding.question("Where do I live?")
    await parts.embedding.question("Where do I work?")
    assert first is not None
    assert again is not None
    assert np.array_equal(first, again)
    assert parts.embedder.calls == 2


async def test_a_question_that_could_not_be_embedded_is_tried_again(parts: Parts) -> None:
    parts.embedder.is_away = True
    assert await parts.embedding.question("Where do I live?") is None
    parts.embedder.is_away = False
    assert await parts.embedding.question("Where do I live?") is not None
