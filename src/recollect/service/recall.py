"""Find what a question asks for, among the user's memories and among all that was said."""

from __future__ import annotations

import asyncio

import numpy as np

from recollect.domain.context import Recalled, may_be_told
from recollect.domain.memory import Memory, holds
from recollect.domain.passage import PassageMatch
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.domain.terms import asked_terms
from recollect.domain.vector import Vector
from recollect.ports.meter import timed
from recollect.ports.store import Store
from recollect.ports.tracer import RECORDS, operation
from recollect.recall.passages import PassageHit, PassageIndex
from recollect.recall.question import Question, question_of
from recollect.service.embedding import Embedding
from recollect.service.knowledge import Knowledge
from recollect.service.means import Means
from recollect.service.passages import Shelf
from recollect.service.redacting import Redactor

#: The kind of work that recalling is entered as in the ledger.
RECALL = "recall"
#: More passages than this are searched in a thread, so that nobody else waits.
QUICK = 4_000


class Recall:
    """Answer questions from what is remembered; only the user's own data is touched."""

    def __init__(self, store: Store, knowledge: Knowledge, embedding: Embedding, means: Means) -> None:
        self._store = store
        self._knowledge = knowledge
        self._embedding = embedding
        self._means = means
        self._shelf = Shelf(store, embedding)
        self._redactor = Redactor()

    async def search(self, scope: Scope, request: RecallRequest) -> tuple[Recalled, ...]:
        """Return what answers the question, the best first, each with why; secrets in it are redacted."""
        with operation(self._means.tracer, "search_memory") as span:
            found = await self._timed(scope, request)
            memories = sum(one.memory is not None for one in found)
            span.set(RECORDS, memories)
            span.set("recollect.message.count", len(found) - memories)
            return found

    async def _timed(self, scope: Scope, request: RecallRequest) -> tuple[Recalled, ...]:
        with timed(self._means.meter, "recollect.recall.duration"):
            if self._embedding.is_instant:
                # What is that quick asks no server: there is nothing to bill.
                return await self._search(scope, request)
            async with self._means.ledger.covering(scope, kind=RECALL, conversation_id=request.conversation_id):
                return await self._search(scope, request)

    async def _search(self, scope: Scope, request: RecallRequest) -> tuple[Recalled, ...]:
        vector = await self._embedding.question(request.text)
        question = question_of(request.text, self._means.clock(), vector)
        found: list[Recalled] = []
        if request.memories:
            found += await self._memories(scope, request, question)
        if request.messages:
            found += await self._messages(scope, request, question)
        if request.memories and request.messages:
            found.sort(key=lambda one: -one.score)
        best = tuple(map(self._redactor.recalled, found[: request.limit]))
        self._means.meter.add("memory.retrieved.count", len([one for one in best if one.memory is not None]))
        return best

    async def known(self, scope: Scope) -> tuple[Memory, ...]:
        """Return every memory of the user that is not deleted, past values too."""
        return tuple((await self._knowledge.of(scope)).memories.values())

    async def pinned(self, scope: Scope) -> tuple[Memory, ...]:
        """Return what is always told, the oldest first."""
        known = await self.known(scope)
        return tuple(one for one in known if one.is_pinned and may_be_told(one) and holds(one, None))

    async def _memories(self, scope: Scope, request: RecallRequest, question: Question) -> list[Recalled]:
        known = await self._knowledge.of(scope)
        hits = known.index.search(question, request.limit, request.memory_filter())
        return [
            Recalled(
                memory=self._redactor.memory(hit.memory, known.clean),
                score=hit.score,
                why="; ".join(hit.why),
            )
            for hit in hits
        ]

    async def _messages(self, scope: Scope, request: RecallRequest, question: Question) -> list[Recalled]:
        async with self._shelf.of(scope) as held:
            index = await self._candidates(scope, question) if held is None else held
            hits = await _searched(index, request, question)
        return [Recalled(message=hit.message, score=hit.score, why="; ".join(hit.why)) for hit in hits]

    async def _candidates(self, scope: Scope, question: Question) -> PassageIndex:
        """Return what may answer the question among more messages than are held."""
        terms = tuple(asked_terms(question.text))
        vector = None
        if question.vector is not None:
            vector = Vector(self._embedding.model, question.vector.astype(np.dtype("<f2")).tobytes())
        matched = await self._store.match_passages(scope, PassageMatch(terms=terms, vector=vector))
        return PassageIndex.of_candidates(matched, terms, self._embedding.dimensions)


async def _searched(index: PassageIndex, request: RecallRequest, question: Question) -> list[PassageHit]:
    if len(index) <= QUICK:
        return index.search(question, request.limit, request.admits_message)
    return await asyncio.to_thread(index.search, question, request.limit, request.admits_message)
