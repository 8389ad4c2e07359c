"""The conformance suite of an embedder.

The suite asks for one fixture, a function that opens an embedder of one and the same model each time:

    class TestMyEmbedder(EmbedderConformance):
        @pytest.fixture
        async def open_embedder(self) -> AsyncIterator[OpenEmbedder]:
            opened = []

            async def open_one() -> Embedder:
                opened.append(MyEmbedder(...))
                return opened[-1]

            yield open_one
            for embedder in opened:
                await embedder.close()

It needs numpy, as every embedder does.
"""

from recollect.testing.embedders.conformance import EmbedderConformance, OpenEmbedder
from recollect.testing.embedders.texts import ALIKE, HOSTILE, UNLIKE

__all__ = ["ALIKE", "HOSTILE", "UNLIKE", "EmbedderConformance", "OpenEmbedder"]
