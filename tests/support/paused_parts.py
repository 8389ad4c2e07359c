"""Parts that read what they are given, then wait until a test lets them go on and write what they read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.errors import ProviderOutputError
from recollect.extraction.extractors import RuleExtractor
from recollect.history.generators import ExtractiveGenerator
from recollect.ports.chat_model import ModelReply, ModelRequest
from recollect.ports.embedder import Embedder, TextKind
from recollect.ports.extractor import Extracted, ExtractionRequest

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Gate:
    """Where a part waits, once: what it does after that is not held up."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def pass_through(self) -> None:
        """Tell that somebody is here, and wait to be let through."""
        self.reached.set()
        await self.opened.wait()


class PausedExtractor(RuleExtractor):
    """Learn by rules, but slowly; or fail, with the words of what was read."""

    def __init__(self, gate: Gate, *, fails: bool = False) -> None:
        self._gate = gate
        self._fails = fails

    async def extract(self, request: ExtractionRequest) -> Extracted:
        """Read, wait and answer."""
        await self._gate.pass_through()
        if self._fails:
            raise ProviderOutputError("no list of memories", raw=" ".join(one.content for one in request.messages))
        return await super().extract(request)


class PausedGenerator(ExtractiveGenerator):
    """Summarise without a model, but slowly."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        """Read, wait and answer."""
        await self._gate.pass_through()
        return await super().summarise(messages, at_most=at_most)

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        """Read, wait and answer."""
        await self._gate.pass_through()
        return await super().fold(summaries, at_most=at_most)


class PausedModel:
    """Give titles in the words of what was asked, but slowly."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Read, wait and answer with what was said first."""
        text = request.messages[-1].text.splitlines()[1]
        await self._gate.pass_through()
        return ModelReply(text=text, reason="stop")


class PausedEmbedder:
    """Embed under another name, so that everything is to be embedded again, but slowly."""

    is_instant = False
    model = "another"

    def __init__(self, inner: Embedder, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate
        self.dimensions = inner.dimensions

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[float32]:
        """Read, wait and answer."""
        rows = await self._inner.embed(texts, kind)
        await self._gate.pass_through()
        return rows

    async def close(self) -> None:
        """Release nothing."""
