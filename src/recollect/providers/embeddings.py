"""Embeddings of a server that speaks OpenAI's protocol, over the same transport as the models.

It stands here and not beside the other embedders because it needs that transport.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.domain.tokens import estimate_tokens
from recollect.domain.turn import Usage
from recollect.errors import ProviderError, ProviderOutputError, ProviderRejectedError, ProviderUnavailableError
from recollect.ports.bill import Charge, charge, current_bill
from recollect.ports.embedder import Embedder, TextKind
from recollect.providers.breaker import Breaker
from recollect.providers.http_model import Chances
from recollect.providers.text import at, count_at, items_at
from recollect.providers.transport import AttemptFailedError, Call, Limits, RefusedError, Transport
from recollect.providers.waiting import backoff, retry_after

_log = logging.getLogger(__name__)
#: The most bytes that a server may spell a number with, and those around the vectors.
_NUMBER_BYTES = 32
_OTHER_BYTES = 65_536
#: The models that are told how long a vector is to be.
_SHORTENED = "text-embedding-3"


class RemoteModel(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask a server for."""

    name: str
    dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""
    #: Texts in one request.
    batch: int = 64

    @property
    def id(self) -> str:
        """Tell what the vectors depend on."""
        wording = f"{self.query_prefix}\0{self.document_prefix}"
        mark = f":{hashlib.sha256(wording.encode()).hexdigest()[:8]}" if len(wording) > 1 else ""
        return f"http:{self.name}:{self.dimensions}{mark}"

    @property
    def reply_bytes(self) -> int:
        """Tell how long a reply may be."""
        return self.batch * self.dimensions * _NUMBER_BYTES + _OTHER_BYTES


class HttpEmbedder(Embedder):
    """Ask a server for vectors, some texts at a time; used from one event loop."""

    def __init__(
        self,
        model: RemoteModel,
        transport: Transport,
        limits: Limits,
        breaker: Breaker,
        chances: Chances = Chances(),  # noqa: B008  # frozen
    ) -> None:
        self._remote = model
        self._transport = transport
        self._limits = limits
        self._breaker = breaker
        self._chances = chances

    @property
    def model(self) -> str:
        """Tell the name of the model, the length of its vectors and how texts are worded for it."""
        return self._remote.id

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""
        return self._remote.dimensions

    @property
    def is_instant(self) -> bool:
        """Tell that a server takes its time."""
        return False

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
        """Return one row per text; an empty text is not sent, since most servers refuse it."""
        rows = np.zeros((len(texts), self._remote.dimensions), np.float32)
        prefix = self._remote.query_prefix if kind == "query" else self._remote.document_prefix
        places = [place for place, text in enumerate(texts) if text.strip()]
        for first in range(0, len(places), self._remote.batch):
            some = places[first : first + self._remote.batch]
            rows[some] = await self._guarded([prefix + texts[place] for place in some])
        return rows

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _guarded(self, texts: list[str]) -> NDArray[np.float32]:
        """Ask unless the server keeps failing."""
        permit = self._breaker.enter()
        asked_to_wait: list[datetime] = []
        try:
            rows = await self._asked(texts, asked_to_wait)
            self._breaker.succeeded(permit)
        except ProviderUnavailableError:
            self._breaker.failed(permit, asked_to_wait[-1] if asked_to_wait else None)
            raise
        except ProviderError:
            self._breaker.succeeded(permit)
            raise
        else:
            return rows
        finally:
            self._breaker.abandoned(permit)

    async def _asked(self, texts: list[str], asked_to_wait: list[datetime]) -> NDArray[np.float32]:
        """Ask until there is an answer, for as long and as often as the limits allow."""
        until = asyncio.get_running_loop().time() + self._limits.total
        for attempt in range(self._limits.max_retries + 1):
            try:
                return await self._attempt(texts, until)
            except RefusedError as exc:
                refused = str(exc)
            except AttemptFailedError as exc:
                await self._wait(exc, attempt, until, asked_to_wait)
                continue
            # Outside of the handler, so that the words of a refusal do not hang on what is raised.
            hint = "check embedding.name, embedding.url and the key"
            raise ProviderRejectedError(f"{self._remote.name}: {refused}; {hint}")
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, texts: list[str], until: float) -> NDArray[np.float32]:
        body: dict[str, Any] = {"model": self._remote.name, "input": texts, "encoding_format": "float"}
        if self._remote.name.startswith(_SHORTENED):
            body["dimensions"] = self._remote.dimensions
        try:
            async with (
                asyncio.timeout_at(until),
                self._transport.open(Call(path="/embeddings", body=body)) as response,
            ):
                if not response.is_whole:
                    raise ProviderOutputError("the answer is no JSON; check embedding.url")
                answer = await response.whole()
        except TimeoutError:
            raise AttemptFailedError("it did not answer in time") from None
        charge(current_bill(), self._remote.name, _cost(texts, answer))
        return np.stack(list(self._vectors(answer, len(texts))))

    def _vectors(self, answer: Any, count: int) -> Iterator[NDArray[np.float32]]:
        """Give the vectors of an answer in the order of the texts."""
        items = items_at(answer, "data")
        # Some servers leave the place of a vector out, and then keep the order.
        places = [place if at(item, "index") is None else at(item, "index") for place, item in enumerate(items)]
        by_place = dict(zip(places, items, strict=True)) if all(type(place) is int for place in places) else {}
        if len(items) != count or sorted(by_place) != list(range(count)):
            raise ProviderOutputError(f"{self._remote.name}: {len(items)} vectors came for {count} texts")
        for place in range(count):
            yield self._unit(items_at(by_place[place], "embedding"))

    def _unit(self, numbers: list[Any]) -> NDArray[np.float32]:
        """Return a vector of length one, or of zeros if the server says so."""
        if any(type(number) not in {int, float} for number in numbers):
            raise ProviderOutputError(f"{self._remote.name}: a vector holds what is no number")
        if len(numbers) != self._remote.dimensions:
            expected = self._remote.dimensions
            raise ProviderOutputError(
                f"{self._remote.name}: a vector has {len(numbers)} numbers, not {expected}; set embedding.dimensions"
            )
        vector = _finite(numbers)
        if vector is None:
            raise ProviderOutputError(f"{self._remote.name}: a vector holds what is no finite number")
        length = np.linalg.norm(vector)
        return (vector / length if length > 0 else vector).astype(np.float32)

    async def _wait(
        self, failure: AttemptFailedError, attempt: int, until: float, asked_to_wait: list[datetime]
    ) -> None:
        """Wait before the next attempt, or raise if there is none."""
        now = self._chances.clock()
        asked = retry_after(failure.retry_after, now)
        if asked is not None:
            asked_to_wait.append(now + timedelta(seconds=asked))
        chance = self._chances.draw()
        seconds = backoff(attempt, chance) if asked is None else asked * (1 + chance / 10)
        left = until - asyncio.get_running_loop().time()
        if attempt >= self._limits.max_retries or (asked or 0) > self._limits.max_wait or seconds >= left:
            raise ProviderUnavailableError(f"{self._remote.name}: {failure}") from failure
        _log.info("%s: %s; trying again in %.1f s", self._remote.name, failure, seconds)
        await self._chances.sleep(seconds)


def _cost(texts: list[str], answer: Any) -> Charge:
    """Return what a request cost, as the server counts it or, if it does not, as we estimate it."""
    counted = count_at(answer, "usage", "prompt_tokens")
    if counted:
        return Charge(Usage(input_tokens=counted))
    return Charge(Usage(input_tokens=sum(map(estimate_tokens, texts))), estimated=1)


def _finite(numbers: list[Any]) -> NDArray[np.float64] | None:
    """Return the numbers, scaled so that their squares stay in range, or None if one is not finite."""
    try:
        vector = np.array(numbers, np.float64)
    except OverflowError:
        return None
    largest = np.abs(vector).max()
    if not np.isfinite(largest):
        return None
    return vector / largest if largest > 0 else vector
