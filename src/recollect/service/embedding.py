"""Give texts their vectors: at once where the embedder is quick, by a job where it is not or the model was changed."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from recollect.domain.job import Job, NewJob
from recollect.domain.likeness import DEFAULT_THRESHOLDS, Thresholds
from recollect.domain.memory import Memory
from recollect.domain.message import Message, NewMessage
from recollect.domain.passage import is_recalled
from recollect.domain.scope import Scope
from recollect.domain.vector import MemoryVector, MessageVector, Vector, VectorBatch
from recollect.errors import ProviderError, ProviderOutputError
from recollect.ports.embedder import Embedder, TextKind
from recollect.ports.store import Store
from recollect.recall.wording import WORDING, worded
from recollect.service.means import Means

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

#: The kind of the job that gives vectors to what has none of the current model.
EMBED = "embed"
#: Texts that are embedded and saved together.
BATCH = 200
#: Batches that one job does before it makes room for others.
BATCHES = 50
#: Questions whose vectors are kept: a turn asks twice, for memories and for what was said.
QUESTIONS = 64

_log = logging.getLogger(__name__)


class EmbeddingProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what a user said and is known of has a vector of the current model."""

    model: str
    done: int
    total: int


class Embedding:
    """Make vectors with one embedder."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        means: Means,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._means = means
        #: From where on two statements may say the same, as this embedder sees them.
        self.thresholds = thresholds
        #: By the hashes of the questions, so that no text stays here.
        self._questions: OrderedDict[int, NDArray[float32]] = OrderedDict()

    @property
    def model(self) -> str:
        """Tell what is stored with each vector: by whom, and of which wording."""
        return f"{self._embedder.model}+{WORDING}"

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""
        return self._embedder.dimensions

    @property
    def is_instant(self) -> bool:
        """Tell whether a text may be embedded while somebody waits."""
        return self._embedder.is_instant

    async def vectors(self, scope: Scope, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each statement, or None for each if the embedder is away; a job then makes them later."""
        if not texts:
            return []
        try:
            return [*self._made(await self._embed(texts))]
        except ProviderError as exc:
            _log.warning("nothing was embedded: %s", exc.code)
            await self.queue(scope)
            return [None] * len(texts)

    async def question(self, text: str) -> NDArray[float32] | None:
        """Return the vector of a question, or None if the embedder is away or knows nothing of it."""
        key = hash(text)
        vector = self._questions.get(key)
        if vector is None:
            try:
                (vector,) = await self._embed([text], "query")
            except ProviderError as exc:
                _log.warning("the question was not embedded: %s", exc.code)
                return None
            self._questions[key] = vector
            if len(self._questions) > QUESTIONS:
                self._questions.popitem(last=False)
        return vector if vector.any() else None

    async def of_messages(self, messages: Sequence[Message | NewMessage]) -> tuple[MessageVector, ...]:
        """Return the vectors of new messages, or none if the embedder is away or takes its time."""
        said = [message for message in messages if is_recalled(message)]
        made = await self._at_once([worded(message) for message in said])
        return tuple(MessageVector(message.id, vector) for message, vector in zip(said, made, strict=False))

    async def of_memories(self, memories: Sequence[Memory]) -> dict[str, bytes]:
        """Return the bytes of the vectors by memory id, or none if the embedder is away or takes its time."""
        made = await self._at_once([memory.content for memory in memories])
        return {memory.id: vector.values for memory, vector in zip(memories, made, strict=False)}

    async def _at_once(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, or nothing at all."""
        if not texts or not self._embedder.is_instant:
            return []
        try:
            return self._made(await self._embed(texts))
        except ProviderError as exc:
            _log.warning("nothing was embedded: %s", exc.code)
            return []

    def job(self, messages: Sequence[NewMessage], vectors: Sequence[MessageVector]) -> NewJob | None:
        """Return the job that goes with new messages, if some get their vectors later."""
        return self._job() if sum(map(is_recalled, messages)) > len(vectors) else None

    async def queue(self, scope: Scope) -> None:
        """Have everything embedded that has no vector of the current model."""
        job = self._job()
        await self._store.enqueue_job(scope, job, self._means.clock())
        self._means.wake(job.run_at)

    async def progress(self, scope: Scope) -> EmbeddingProgress:
        """Tell how far the user's texts are embedded."""
        left = await self._store.list_unembedded(scope, self.model, 1)
        return EmbeddingProgress(model=self.model, done=left.total - left.remaining, total=left.total)

    async def embed_job(self, scope: Scope, job: Job) -> None:
        """Embed what has no vector of the current model, a batch at a time, each saved by itself."""
        for _ in range(BATCHES):
            left = await self._store.list_unembedded(scope, self.model, BATCH)
            if not left.messages and not left.memories:
                return
            texts = [worded(message) for message in left.messages]
            texts += [memory.content for memory in left.memories]
            made = self._made(await self._embed(texts))
            split = len(left.messages)
            batch = VectorBatch(
                conversation_id=left.messages[0].conversation_id if left.messages else None,
                messages=tuple(
                    MessageVector(one.id, vector) for one, vector in zip(left.messages, made[:split], strict=True)
                ),
                memories=tuple(
                    MemoryVector(one.id, one.version, vector)
                    for one, vector in zip(left.memories, made[split:], strict=True)
                ),
            )
            await self._store.save_vectors(scope, batch)
        await self.queue(scope)

    def _job(self) -> NewJob:
        wait = timedelta(seconds=1)
        run_at = self._means.clock() + wait
        return NewJob(id=self._means.new_id(), kind=EMBED, key=EMBED, run_at=run_at, max_delay=10 * wait)

    async def _embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[float32]:
        import numpy as np

        rows = await self._embedder.embed(texts, kind)
        if rows.shape != (len(texts), self._embedder.dimensions) or not np.isfinite(rows).all():
            raise ProviderOutputError("the embedder returned no vectors of its dimensions for the texts")
        return rows

    def _made(self, rows: NDArray[float32]) -> list[Vector]:
        model = self.model
        return [Vector(model, row.tobytes()) for row in rows.astype("<f2")]
