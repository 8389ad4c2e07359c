"""Two servers on the same data that are told a canary, and every place where a trace of it may be."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from recollect.bootstrap import assemble
from recollect.domain.erasure import Erased, Receipt
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.testing.samples import ALICE, BOB
from tests.support.canary import HARMLESS, Canary, Database, Spread, redis_bytes
from tests.support.model_service import play
from tests.support.services import open_patiently

#: The parts of a prompt that are the question and the conversation in which it is asked.
ASKED = ("window", "message")
#: Where the rows of each count of a receipt are.
TABLES = {
    name: name
    for name in ("conversations", "messages", "summaries", "turns", "memories", "memory_versions", "vectors", "jobs")
} | {"batches": "archive_batches"}


class Scene:
    """A service that is told the canary, another server on the same data, and all that may hold a trace."""

    def __init__(
        self, spread: Spread, other: Recollect, database: Database, redis_url: str, log: pytest.LogCaptureFixture
    ) -> None:
        self.spread = spread
        self.canary = spread.canary
        self.service = spread.service
        self.other = other
        self.database = database
        self._redis_url = redis_url
        self._log = log

    def traces(self) -> list[str]:
        """Return where the canary is found."""
        log = {"log": self._log.text.encode()}
        return self.canary.places({**self.database.raw(), **redis_bytes(self._redis_url), **log})

    def is_told(self, *texts: str) -> bool:
        return bool(self.canary.places({str(n): text.encode() for n, text in enumerate(texts)}))

    async def recalled(self, service: Recollect, question: str, scope: Scope = ALICE) -> list[str]:
        """Return what a server gives for a question, and what it would tell a model in conversation c2."""
        hits = await service.recall.search(scope, RecallRequest(text=question, limit=50, trust=None))
        said = [(hit.memory or hit.message).content for hit in hits]  # type: ignore[union-attr]
        context = await service.contexts.preview(scope, "c2", query=question)
        return said + [one.text for block in context.blocks if block.kind not in ASKED for one in block.items]

    async def remembers(self) -> bool:
        """Tell whether one of the servers still gives the canary; what is harmless, both must give to both users."""
        texts: list[str] = []
        for service in (self.service, self.other):
            for question in (self.canary.text, self.canary.name, "What is my name, and where do I live?"):
                texts += await self.recalled(service, question)
            for scope in (ALICE, BOB):
                kept = await self.recalled(service, "Which instrument does my sister play?", scope)
                assert HARMLESS in kept
                assert any("part 7" in text for text in kept)
                assert HARMLESS in (await service.notes.read(scope)).notes
                assert len((await service.conversations.get_messages(scope, "c2")).messages) >= 8
        return self.is_told(*texts)

    def assert_counts(self, receipt: Receipt, before: dict[str, int]) -> Erased:
        """Check the receipt against the rows that are gone."""
        after = self.database.count()
        gone = {name: before[table] - after[table] for name, table in TABLES.items()}
        assert {name: getattr(receipt.erased, name) for name in gone} == gone
        return receipt.erased


@asynccontextmanager
async def told(database: Database, redis_url: str, seed: int, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Scene]:
    """Open two servers; only what is harmless was said yet."""
    print(f"seed {seed}")
    caplog.set_level(logging.DEBUG)
    more = {"storage.database": database.url, "redis_url": redis_url, "memory.extractor": "model"}
    async with play(Path("unused"), more) as played:
        settings = Settings.load(
            {"storage.database": database.url, "redis_url": redis_url, "memory.extractor": "rules"}, environ={}
        )
        other = assemble(await open_patiently(settings), settings, played.clock)
        try:
            yield Scene(Spread(played, Canary(Random(seed))), other, database, redis_url, caplog)
        finally:
            await other.close()
