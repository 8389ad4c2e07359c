"""Every embedder keeps the promises of the port: the vectors of the package, an ONNX model, and a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest

from recollect.embedding.choose import open_embedder as open_by_settings
from recollect.embedding.static import DATA
from recollect.embedding.vector_file import read_vectors
from recollect.ports.embedder import Embedder
from recollect.providers.choose_embedder import open_http_embedder
from recollect.settings import EmbeddingSettings, Settings
from recollect.testing.clock import FakeClock
from recollect.testing.embedders import EmbedderConformance, OpenEmbedder
from recollect.testing.models import VECTOR_DIMENSIONS, ScriptedModelServer
from tests.support.onnx_model import write_model


@pytest.fixture(scope="session")
def onnx_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx") / "small-model"
    vectors = read_vectors(DATA)
    write_model(folder, vectors.pieces, vectors.rows[:, :128].astype(np.float32))
    return folder


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as started:
        yield started
    assert started.errors == []


@pytest.fixture(params=["static", "onnx", "http"])
def settings(request: pytest.FixtureRequest) -> Settings:
    if request.param == "onnx":
        folder: Path = request.getfixturevalue("onnx_folder")
        return Settings(embedding=EmbeddingSettings(kind="onnx", path=str(folder)))
    if request.param == "http":
        server: ScriptedModelServer = request.getfixturevalue("server")
        return Settings(embedding=EmbeddingSettings(kind="http", url=server.url, dimensions=VECTOR_DIMENSIONS))
    return Settings()


@pytest.fixture
async def open_embedder(settings: Settings) -> AsyncIterator[OpenEmbedder]:
    opened: list[Embedder] = []
    over_http: Callable[[Settings], Embedder] = lambda given: open_http_embedder(given, FakeClock())  # noqa: E731

    async def open_one() -> Embedder:
        opened.append(open_by_settings(settings, over_http))
        return opened[-1]

    yield open_one
    for embedder in opened:
        await embedder.close()


class TestEmbedder(EmbedderConformance):
    """Run the public suite on all three kinds."""
