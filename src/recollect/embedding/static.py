"""The embedder that comes with the package: a vector for each piece of a word, added up.

The vectors hold whole numbers, so a sum is exact: a text has the same vector, bit for bit, in every batch,
process and machine.
How the numbers were made is told in `tools/static_vectors`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.embedding.vector_file import StaticVectors, numbered, read_vectors
from recollect.embedding.wordpiece import WordPieces
from recollect.errors import ProviderError, ProviderUnavailableError
from recollect.ports.embedder import Embedder, TextKind

#: The vectors of the package.
DATA = Path(__file__).parent / "data" / "static.bin"
MODEL = "recollect-static-1"
DIMENSIONS = 256
#: Pieces that are added up at a time, so that a long text takes little memory.
_PIECES_AT_A_TIME = 8192
#: Texts of more characters than this are embedded in a thread, so that others need not wait.
_AT_ONCE = 20_000


class StaticEmbedder(Embedder):
    """Embed by vectors that are read when first needed; used from any number of threads and loops."""

    def __init__(self, path: Path = DATA) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._loaded: tuple[WordPieces, StaticVectors] | None = None
        self._closed = False

    @property
    def model(self) -> str:
        """Tell the name of the vectors."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""
        return DIMENSIONS

    @property
    def is_instant(self) -> bool:
        """Tell that a text takes a small part of a millisecond."""
        return True

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
        """Return one row per text; questions and documents are embedded alike."""
        if self._closed:
            raise ProviderUnavailableError("the embedder was closed")
        if self._loaded is not None and sum(map(len, texts)) <= _AT_ONCE:
            return self.vectors_of(texts)
        return await asyncio.to_thread(self.vectors_of, texts)

    async def close(self) -> None:
        """Let the vectors go."""
        self._closed = True
        self._loaded = None

    def vectors_of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, at once."""
        pieces, vectors = self._load()
        sums = np.zeros((len(texts), DIMENSIONS), np.int64)
        for place, text in enumerate(texts):
            numbers = pieces.numbers(text)
            for begin in range(0, len(numbers), _PIECES_AT_A_TIME):
                rows = vectors.rows.take(numbers[begin : begin + _PIECES_AT_A_TIME], axis=0)
                sums[place] += np.add.reduce(rows, axis=0, dtype=np.int32)
        lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
        unit: NDArray[np.float64] = np.divide(sums, lengths, out=np.zeros(sums.shape), where=lengths > 0)
        return unit.astype(np.float32)

    def _load(self) -> tuple[WordPieces, StaticVectors]:
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded
                if loaded is None:
                    vectors = read_vectors(self._path)
                    if (vectors.model, vectors.rows.shape[1]) != (MODEL, DIMENSIONS):
                        raise ProviderError(f"the static vectors are those of another version: {self._path}")
                    loaded = self._loaded = WordPieces(numbered(vectors.pieces)), vectors
        return loaded
