"""What `Embedding` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy import float32
from numpy.typing import NDArray

from recollect.domain.job import Job, NewJob
from recollect.domain.likeness import Thresholds
from recollect.domain.memory import Memory
from recollect.domain.message import Message, NewMessage
from recollect.domain.scope import Scope
from recollect.domain.vector import MessageVector, Vector
from recollect.service.embedding import EmbeddingProgress


class BlockingEmbedding(Protocol):
    """Make vectors with one embedder."""

    thresholds: Thresholds

    @property
    def model(self) -> str:
        """Tell what is stored with each vector: by whom, and of which wording."""

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""

    @property
    def is_instant(self) -> bool:
        """Tell whether a text may be embedded while somebody waits."""

    def vectors(self, scope: Scope, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each statement, or None for each if the embedder is away; a job then makes them later."""

    def question(self, text: str) -> NDArray[float32] | None:
        """Return the vector of a question, or None if the embedder is away or knows nothing of it."""

    def of_messages(self, messages: Sequence[Message | NewMessage]) -> tuple[MessageVector, ...]:
        """Return the vectors of new messages, or none if the embedder is away or takes its time."""

    def of_memories(self, memories: Sequence[Memory]) -> dict[str, bytes]:
        """Return the bytes of the vectors by memory id, or none if the embedder is away or takes its time."""

    def job(self, messages: Sequence[NewMessage], vectors: Sequence[MessageVector]) -> NewJob | None:
        """Return the job that goes with new messages, if some get their vectors later."""

    def queue(self, scope: Scope) -> None:
        """Have everything embedded that has no vector of the current model."""

    def progress(self, scope: Scope) -> EmbeddingProgress:
        """Tell how far the user's texts are embedded."""

    def embed_job(self, scope: Scope, job: Job) -> None:
        """Embed what has no vector of the current model, a batch at a time, each saved by itself."""
