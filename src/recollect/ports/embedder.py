"""What recall needs to compare texts by meaning, by a model in this process or on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

#: A question may be worded for the model in another way than what it looks for.
TextKind = Literal["document", "query"]


class Embedder(Protocol):
    """Turn texts into vectors of length one, so that their dot product is a similarity.

    The same text gets the same vector in every process, whatever else is in the batch.
    An empty text, or one without anything that the model knows, gets a vector of zeros.
    It raises `ProviderError`; trying again is up to whoever asked.
    """

    @property
    def model(self) -> str:
        """Tell what is stored with each vector; another name means that vectors cannot be compared."""

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""

    @property
    def is_instant(self) -> bool:
        """Tell whether a text takes well under a millisecond, so that it may be embedded while somebody waits."""

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[float32]:
        """Return one row per text."""

    async def close(self) -> None:
        """Release everything."""
