"""Everything at a glance: how much is kept of a user, and how the parts that learn and answer fare."""

from __future__ import annotations

import msgspec

from recollect.domain.holdings import Holdings, HoldingsQuery
from recollect.domain.scope import Scope
from recollect.ports.chat_model import ChatModel, ModelState
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.service.embedding import Embedding, EmbeddingProgress
from recollect.settings import Settings


class OverviewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What can be told."""

    #: Whether memories are learned at all.
    extracts: bool = True
    #: Whether the size of the whole database is told; where there are other users it is not theirs to know.
    database: bool = False

    @classmethod
    def of(cls, settings: Settings) -> OverviewOptions:
        """Return what the settings allow."""
        return cls(extracts=settings.memory.enabled, database=settings.auth.mode == "local")


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept of a user, and how the parts fare."""

    holdings: Holdings
    embedding: EmbeddingProgress
    #: The name of the language model, or None if the built-in responder answers.
    model: str | None
    #: How it fares.
    state: ModelState | None
    #: Whether memories are learned from what the user says.
    extracts: bool


class Overviews:
    """Look at everything of a user."""

    def __init__(
        self, store: Store, embedding: Embedding, model: ChatModel | None, *, clock: Clock, options: OverviewOptions
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._model = model
        self._clock = clock
        self._options = options

    async def look(self, scope: Scope, *, days: int = 90) -> Overview:
        """Return what there is now, and what became of memories on each of these days."""
        query = HoldingsQuery(now=self._clock(), days=days, database=self._options.database)
        preferences = await self._store.get_preferences(scope)
        return Overview(
            holdings=await self._store.count_holdings(scope, query),
            embedding=await self._embedding.progress(scope),
            model=None if self._model is None else self._model.name,
            state=None if self._model is None else self._model.state,
            extracts=self._options.extracts and preferences.memory_enabled,
        )
