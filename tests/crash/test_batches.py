"""Batches that are retried, reordered, overlapping and sent at once: nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from itertools import count as counting
from pathlib import Path

import msgspec
import pytest

from recollect.bootstrap import open_store
from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.turn import Append, ArchiveBatch, ArchivedBatch
from recollect.ports.store import Store
from recollect.settings import Settings

SCOPE = Scope()
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{tmp_path / 'b.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    opened = await open_store(Settings.load({"storage.database": url}, environ={}))
    yield opened
    await opened.close()


class Client:
    """A client that keeps a history, and sends parts of it again and again."""

    def __init__(self, store: Store, history: int, chance: random.Random) -> None:
        self._store = store
        self._conversation = f"h{history}"
        self._chance = chance
        self._tries = counting()
        #: What was answered to each batch, by the ids in it.
        self.answers: dict[tuple[str, ...], set[bytes]] = {}
        self.messages = [
            NewMessage(
                id=f"m{n}",
                role=chance.choice(("user", "assistant")),
                content=f"text {n} of {history} {'é東' * chance.randrange(3)}",
                created_at=NOON + timedelta(seconds=chance.randrange(-100, 100)),
            )
            for n in range(chance.randrange(1, 12))
        ]

    def batches(self) -> list[tuple[NewMessage, ...]]:
        """Cut the history into pieces that overlap, shuffle them and repeat some."""
        cut: list[tuple[NewMessage, ...]] = []
        start = 0
        while start < len(self.messages):
            end = start + self._chance.randrange(1, 6)
            cut.append(tuple(self.messages[max(0, start - self._chance.randrange(3)) : end]))
            start = end
        if self._chance.random() < 0.5:
            self._chance.shuffle(cut)
        return cut + [self._chance.choice(cut) for _ in range(self._chance.randrange(4))]

    async def send(self, messages: tuple[NewMessage, ...]) -> None:
        """Send one batch under a new id, as a client does that never saw an answer."""
        tried = next(self._tries)
        append = Append(
            conversation_id=self._conversation, messages=messages, at=NOON + timedelta(minutes=tried), create=True
        )
        answer: ArchivedBatch = await self._store.archive(SCOPE, ArchiveBatch(id=f"b{tried}", append=append))
        assert answer.archived + answer.duplicates == len(messages)
        ids = tuple(message.id for message in messages)
        self.answers.setdefault(ids, set()).add(msgspec.json.encode(answer))

    async def send_all(self) -> None:
        """Send every batch, one by one or all at once."""
        if self._chance.random() < 0.5:
            await asyncio.gather(*map(self.send, self.batches()))
        else:
            for batch in self.batches():
                await self.send(batch)

    async def check(self) -> None:
        """Compare what is stored with the history."""
        page = await self._store.list_messages(SCOPE, MessageQuery(conversation_id=self._conversation, limit=100))
        assert [message.seq for message in page.messages] == list(range(1, len(self.messages) + 1))
        stored = {message.id: (message.role, message.content, message.created_at) for message in page.messages}
        assert stored == {message.id: (message.role, message.content, message.created_at) for message in self.messages}
        assert {len(answers) for answers in self.answers.values()} == {1}


@pytest.mark.spec("R6")
@pytest.mark.timeout(1800)
async def test_no_history_gets_a_message_twice_or_loses_one(
    store: Store, count: Callable[[int, int], int], seed: int
) -> None:
    chance = random.Random(seed)
    for start in range(0, count(160, 10_000), 16):
        clients = [Client(store, start + n, random.Random(chance.random())) for n in range(16)]
        await asyncio.gather(*(client.send_all() for client in clients))
        for client in clients:
            await client.check()
