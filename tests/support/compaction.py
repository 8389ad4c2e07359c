"""What tests of compaction share: generators that do as told, and a way to see what a prompt would tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.history.generators import Generators
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.ports.summary_generator import SummaryGenerator
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import FakeClock, ids
from recollect.testing.samples import ALICE, append, ids_of

NEW_IDS = ids("new")


async def open_store(kind: str) -> Store:
    """Open a store in memory, or the one at this address of a Postgres."""
    if kind.startswith("postgres"):
        from recollect.storage.postgres import PostgresDriver

        return SqlStore(await PostgresDriver.open(kind))
    return InMemoryStore() if kind == "inmemory" else SqlStore(await SqliteDriver.open(":memory:"))


class Generator:
    """Write summaries as the test says: a text, an error, or whatever a function does."""

    def __init__(self, answer: Any = "They talked.", name: Any = "test") -> None:
        self.answer = answer
        self.name = name
        self.available = True
        self.asked = 0

    def is_available(self) -> bool:
        return self.available

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        return cast("str", await self._answered())

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        return cast("str", await self._answered())

    async def _answered(self) -> Any:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return await self.answer() if callable(self.answer) else self.answer


def compactor(store: object, *generators: SummaryGenerator, clock: Clock | None = None, **settings: Any) -> Compactor:
    """Return a compactor whose first generator writes, or fails, and whose second stands in."""
    first, *rest = generators or (Generator(),)
    return Compactor(
        cast("Store", store),
        Generators(first=first, fallback=rest[0] if rest else None),
        CompactionSettings(**settings),
        clock=clock or FakeClock(),
        new_id=lambda: next(NEW_IDS),
    )


async def add(store: Store, count: int, first: int = 1) -> list[str]:
    """Add messages in batches, and return their ids."""
    names = [f"m{number}" for number in range(first, first + count)]
    for at in range(0, count, 1_000):
        await store.append(ALICE, append("c1", *names[at : at + 1_000]))
    return names


async def told(store: Store) -> list[str]:
    """List the ids of all messages as a prompt tells them: under a summary, then verbatim."""
    backlog = await store.get_backlog(ALICE, "c1", 1_000)
    covered = []
    for summary in backlog.summaries:
        layers = await store.expand_summary(ALICE, "c1", summary.id)
        covered += sorted((layer for layer in layers if not layer.folds), key=lambda layer: layer.first_seq)
    for before, after in pairwise(covered):
        assert before.last_seq + 1 == after.first_seq
    return [one for summary in covered for one in summary.message_ids] + ids_of(backlog.messages)


async def verbatim(store: Store) -> list[str]:
    """List the ids of the messages that no summary covers."""
    return ids_of((await store.get_window(ALICE, "c1")).uncovered)
