"""What every embedder promises, as tests; subclass the suite and give it a fixture named `open_embedder`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ProviderError
from recollect.ports.embedder import Embedder, TextKind
from recollect.testing.embedders.texts import ALIKE, HOSTILE, UNLIKE
from recollect.testing.expect import raises

OpenEmbedder = Callable[[], Awaitable[Embedder]]

#: How far a number of the same vector may be from another time.
SAME = 1e-6
#: How far a length may be from one.
UNIT = 1e-5
#: How many texts one call must take.
MANY = 300


class EmbedderConformance:
    """Check what an embedder promises."""

    async def test_each_text_gets_a_row_of_float32(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        assert embedder.dimensions >= 1
        for count in (0, 1, 2, 7):
            rows = await embedder.embed([f"text number {number}" for number in range(count)])
            assert rows.shape == (count, embedder.dimensions)
            assert rows.dtype == np.float32

    async def test_a_vector_has_the_length_of_one_or_is_zero(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        rows = await embedder.embed([*HOSTILE, *UNLIKE, ""])
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        assert [length for length in lengths if length != 0 and abs(length - 1) > UNIT] == []
        assert all(lengths[len(HOSTILE) : -1])

    async def test_a_text_without_anything_gets_zeros(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        rows = await embedder.embed(["", "tea", " ", "\n\t"])
        assert [bool(row.any()) for row in rows] == [False, True, False, False]
        assert not (await embedder.embed([""], "query")).any()

    async def test_the_same_text_gets_the_same_vector_whatever_is_beside_it(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        texts = [*HOSTILE, *UNLIKE, "a long one " * 60]
        together = await embedder.embed(texts)
        alone = np.concatenate([await embedder.embed([text]) for text in texts])
        backwards = (await embedder.embed(texts[::-1]))[::-1]
        assert _distance(together, alone) <= SAME
        assert _distance(together, backwards) <= SAME

    async def test_two_embedders_of_one_model_agree(self, open_embedder: OpenEmbedder) -> None:
        one, other = await open_embedder(), await open_embedder()
        assert (one.model, one.dimensions, one.is_instant) == (other.model, other.dimensions, other.is_instant)
        texts = [*HOSTILE, *UNLIKE]
        assert _distance(await one.embed(texts), await other.embed(texts)) <= SAME

    async def test_the_name_of_the_model_stays(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        before = embedder.model, embedder.dimensions
        await embedder.embed(["tea"])
        assert (embedder.model, embedder.dimensions) == before
        assert 0 < len(embedder.model) <= 300
        assert embedder.model.isprintable()

    async def test_many_texts_keep_their_order(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        words = [text.split()[-1] for text in UNLIKE]
        few = dict(zip(words, await embedder.embed(words), strict=True))
        texts = [words[(number * number) % len(words)] for number in range(MANY)]
        rows = await embedder.embed(texts)
        assert _distance(rows, np.stack([few[text] for text in texts])) <= SAME

    async def test_calls_at_the_same_time_get_their_own_vectors(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        expected = await embedder.embed(UNLIKE)
        rows = await asyncio.gather(*(embedder.embed([text]) for text in UNLIKE for _ in range(5)))
        assert _distance(np.concatenate(rows), np.repeat(expected, 5, axis=0)) <= SAME

    async def test_texts_that_are_alike_are_nearer_than_others(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        kinds: tuple[TextKind, ...] = ("document", "query")
        for kind in kinds:
            asked = await embedder.embed([one for one, _ in ALIKE], kind)
            near = await embedder.embed([other for _, other in ALIKE])
            far = await embedder.embed(UNLIKE)
            similar = (asked * near).sum(axis=1)
            assert (similar[:, None] > asked @ far.T).all()

    async def test_a_text_is_nearest_to_itself(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        rows = await embedder.embed([*UNLIKE, *(one for one, _ in ALIKE)])
        assert (rows @ rows.T).argmax(axis=1).tolist() == list(range(len(rows)))

    async def test_a_very_long_text_has_a_vector(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        rows = await embedder.embed(["green tea and honey. " * 5_000, "茶" * 20_000, "nospaces" * 10_000])
        assert np.isfinite(rows).all()
        assert rows[0].any()

    async def test_the_caller_may_change_what_it_got(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        rows = await embedder.embed(UNLIKE)
        kept = rows.copy()
        rows[:] = 7
        assert _distance(await embedder.embed(UNLIKE), kept) <= SAME

    async def test_a_closed_embedder_says_so(self, open_embedder: OpenEmbedder) -> None:
        embedder = await open_embedder()
        await embedder.embed(["tea"])
        await embedder.close()
        await embedder.close()
        with raises(ProviderError):
            await embedder.embed(["tea"])
        assert (await (await open_embedder()).embed(["tea"])).any()


def _distance(some: NDArray[np.float32], others: NDArray[np.float32]) -> float:
    """Return the largest difference between two numbers at the same place."""
    assert some.shape == others.shape
    return float(np.abs(some.astype(np.float64) - others).max(initial=0.0))
