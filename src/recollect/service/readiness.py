"""Whether the service can do its work, told in words that give nothing away.

Only the store is needed to answer: without the cache windows are loaded, without the model the turn says so, and jobs
wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from recollect.domain.conversation import ConversationQuery
from recollect.domain.scope import Scope
from recollect.errors import RecollectError
from recollect.ports.chat_model import ChatModel
from recollect.ports.store import Store
from recollect.service.worker import Worker

#: How long the store may take for a read of nothing, in seconds.
STORE_SECONDS = 1.0
#: A user who has no data; only that there is none is asked.
_NOBODY = Scope("recollect", "readiness", "readiness")

StoreState = Literal["ok", "away"]
CacheState = Literal["ok", "away"]
ModelState = Literal["ok", "away", "none"]
JobsState = Literal["ok", "behind", "elsewhere"]


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """How each part fares."""

    store: StoreState
    cache: CacheState
    #: `away` while its circuit is open.
    model: ModelState
    #: `behind` while more jobs are due than this process can take; `elsewhere` if another process does them.
    jobs: JobsState

    @property
    def is_ready(self) -> bool:
        """Tell whether requests can be answered."""
        return self.store == "ok"


class ReadinessCheck:
    """Look at each part."""

    def __init__(
        self,
        store: Store,
        *,
        cache_is_up: Callable[[], bool],
        model: ChatModel | None,
        worker: Worker,
        seconds: float = STORE_SECONDS,
    ) -> None:
        self._store = store
        self._cache_is_up = cache_is_up
        self._model = model
        self._worker = worker
        self._seconds = seconds

    async def look(self) -> Readiness:
        """Return how each part fares; it takes hardly longer than a second, whatever is away."""
        return Readiness(
            store=await self._look_at_store(),
            cache="ok" if self._cache_is_up() else "away",
            model="none" if self._model is None else "away" if self._model.state.circuit == "open" else "ok",
            jobs=self._look_at_jobs(),
        )

    async def _look_at_store(self) -> StoreState:
        try:
            async with asyncio.timeout(self._seconds):
                await self._store.list_conversations(_NOBODY, ConversationQuery(limit=1))
        except (RecollectError, TimeoutError):
            return "away"
        return "ok"

    def _look_at_jobs(self) -> JobsState:
        state = self._worker.state
        if not state.is_started:
            return "elsewhere"
        return "behind" if state.is_full else "ok"
