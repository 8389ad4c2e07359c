"""What users said, held in this process for those who asked last, and compared with the store before each search."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recollect.domain.passage import ConversationPassages, Passage, PassageQuery, Reading
from recollect.domain.scope import Scope
from recollect.ports.recall import RecallStore
from recollect.recall.passages import PassageIndex
from recollect.service.embedding import Embedding

#: Messages of one user that are held; more are searched by candidates.
MOST_PASSAGES = 50_000
#: Bytes of all that is held; the users who asked longest ago are let go.
MOST_BYTES = 512 * 2**20


class _Held:
    """What one user said, and how far it was read."""

    def __init__(self, dimensions: int) -> None:
        self.index = PassageIndex(dimensions)
        self.known: dict[str, Reading] = {}
        self.lock = asyncio.Lock()
        #: What was last counted of it.
        self.size = 0


class Shelf:
    """Hold what users said."""

    def __init__(
        self,
        store: RecallStore,
        embedding: Embedding,
        *,
        most_passages: int = MOST_PASSAGES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._most_passages = most_passages
        self._most_bytes = most_bytes
        #: In the order of their use.
        self._users: OrderedDict[tuple[str, str], _Held] = OrderedDict()
        self._bytes = 0

    @asynccontextmanager
    async def of(self, scope: Scope) -> AsyncIterator[PassageIndex | None]:
        """Give all that the user said up to now, for one search at a time; None if it is more than is held."""
        user = (scope.tenant, scope.user)
        held = self._users.get(user)
        if held is None:
            held = self._users[user] = _Held(self._embedding.dimensions)
        self._users.move_to_end(user)
        async with held.lock:
            query = PassageQuery(model=self._embedding.model, known=held.known, at_most=self._most_passages)
            found = await self._store.read_passages(scope, query)
            if found.too_many:
                self._forget(user, held)
                yield None
                return
            for conversation_id in found.gone:
                held.index.drop(conversation_id)
                held.known.pop(conversation_id, None)
            for changed in found.changed:
                passages = await self._embedded(scope, changed)
                held.index.put(changed.conversation_id, changed.from_seq, passages)
                held.known[changed.conversation_id] = changed.reading
            self._let_go(user, held)
            yield held.index

    async def _embedded(self, scope: Scope, changed: ConversationPassages) -> tuple[Passage, ...]:
        """Return the passages with vectors where those can be had at once; a job makes the others."""
        bare = [passage.message for passage in changed.passages if passage.vector is None]
        if not bare:
            return changed.passages
        await self._embedding.queue(scope)
        made = {one.message_id: one.vector.values for one in await self._embedding.of_messages(bare)}
        return tuple(
            passage if passage.vector is not None else Passage(passage.message, made.get(passage.message.id))
            for passage in changed.passages
        )

    def _let_go(self, user: tuple[str, str], held: _Held) -> None:
        """Count what is held of a user, and forget those who asked longest ago once it is too much in all."""
        if self._users.get(user) is not held:
            return
        self._bytes += held.index.nbytes - held.size
        held.size = held.index.nbytes
        while len(self._users) > 1 and self._bytes > self._most_bytes:
            _, gone = self._users.popitem(last=False)
            self._bytes -= gone.size

    def _forget(self, user: tuple[str, str], held: _Held) -> None:
        if self._users.get(user) is held:
            del self._users[user]
            self._bytes -= held.size
