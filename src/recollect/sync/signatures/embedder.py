"""What `Embedder` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy import float32
from numpy.typing import NDArray

from recollect.ports.embedder import TextKind


class BlockingEmbedder(Protocol):
    """Turn texts into vectors of length one, so that their dot product is a similarity."""

    @property
    def model(self) -> str:
        """Tell what is stored with each vector; another name means that vectors cannot be compared."""

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""

    @property
    def is_instant(self) -> bool:
        """Tell whether a text takes well under a millisecond, so that it may be embedded while somebody waits."""

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[float32]:
        """Return one row per text."""

    def close(self) -> None:
        """Release everything."""
