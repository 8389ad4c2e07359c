"""Embed by one call what several ask for in the same turn of the loop.

A call costs more than a text does, as long as the embedder is quick; who is slow is asked by each alone, as before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from recollect.domain.scope import Scope
from recollect.domain.vector import Vector
from recollect.service.embedding import Embedding


class _Asked(NamedTuple):
    scope: Scope
    texts: Sequence[str]
    made: asyncio.Future[list[Vector | None]]


class EmbeddingTogether:
    """Gather what is asked for until the loop comes round."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._waiting: list[_Asked] = []
        self._call: asyncio.Task[None] | None = None

    async def vectors(self, scope: Scope, texts: Sequence[str]) -> list[Vector | None]:
        """Return what `Embedding.vectors` does; who gives up waiting does not disturb the others."""
        if not texts or not self._embedding.is_instant:
            return await self._embedding.vectors(scope, texts)
        asked = _Asked(scope, texts, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if len(self._waiting) == 1:
            self._call = asyncio.create_task(self._embed())
        return await asked.made

    async def _embed(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            made = await self._embedding.vectors(waiting[0].scope, [text for one in waiting for text in one.texts])
            if None in made:
                for scope in {(one.scope.tenant, one.scope.user): one.scope for one in waiting[1:]}.values():
                    await self._embedding.queue(scope)
        except BaseException as exc:  # whoever waits gets whatever was raised
            for one in waiting:
                if not one.made.done():
                    one.made.set_exception(exc)
            if not isinstance(exc, Exception):
                raise
            return
        left = iter(made)
        for one in waiting:
            found = [next(left) for _ in one.texts]
            if not one.made.done():
                one.made.set_result(found)
