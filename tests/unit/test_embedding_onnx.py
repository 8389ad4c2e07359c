from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from recollect.embedding.choose import open_embedder
from recollect.errors import MissingExtraError, ProviderOutputError, ProviderUnavailableError, SettingsError
from recollect.ports.embedder import Embedder
from recollect.settings import EmbeddingSettings, Settings
from tests.support.onnx_model import write_model

PIECES = ("tea", "##s", "query", "coffee", ":")
ROWS = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 4], [0, 1, 1], [0, 0, 0]], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "model", PIECES, ROWS)
    return tmp_path / "model"


def opened(path: Path, name: str | None = None, query_prefix: str = "") -> Embedder:
    chosen = EmbeddingSettings(kind="onnx", path=str(path), name=name, query_prefix=query_prefix)
    settings = Settings(embedding=chosen)
    return open_embedder(settings, lambda _: pytest.fail("no server is meant"))


async def test_a_vector_is_the_mean_of_the_tokens_at_the_length_of_one(folder: Path) -> None:
    embedder = opened(folder)
    rows = await embedder.embed(["tea teas", "nonsense", ""])
    assert rows[0].tolist() == pytest.approx(np.array([4, 2, 0]) / np.hypot(4, 2))
    assert not rows[1:].any()
    await embedder.close()


async def test_a_model_may_take_the_first_token_instead(folder: Path) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    # The first token of this model is a mark with zeros.
    assert not (await opened(folder).embed(["tea"])).any()


async def test_numbers_that_are_not_finite_are_an_error(folder: Path) -> None:
    write_model(folder, PIECES, np.where(ROWS == 4, np.nan, ROWS).astype(np.float32))
    embedder = opened(folder)
    assert (await embedder.embed(["tea"])).any()
    with pytest.raises(ProviderOutputError, match="not finite"):
        await embedder.embed(["tea", "query"])


async def test_a_question_may_be_worded_in_another_way(folder: Path) -> None:
    plain, worded = opened(folder), opened(folder, query_prefix="query: ")
    assert (await worded.embed(["tea"])).tolist() == (await plain.embed(["tea"])).tolist()
    assert (await worded.embed(["tea"], "query"))[0].tolist() == pytest.approx(np.array([2, 0, 4]) / np.hypot(2, 4))
    assert not (await worded.embed([""], "query")).any()
    assert worded.model != plain.model


def test_other_weights_and_another_tokenizer_are_another_model(folder: Path, tmp_path: Path) -> None:
    first = opened(folder).model
    assert first.startswith("onnx:model:")
    assert opened(folder).model == first
    assert opened(folder, name="mine").model == first.replace(":model:", ":mine:")
    write_model(folder, PIECES, ROWS * 2)
    assert opened(folder).model != first
    write_model(folder, (*PIECES[:-1], "!"), ROWS)
    assert opened(folder).model != first


async def test_what_is_beyond_the_length_of_the_model_is_cut_off(folder: Path) -> None:
    embedder = opened(folder)
    rows = await embedder.embed(["tea " * 198 + "coffee " * 500, "tea"])
    assert rows[0].tolist() == rows[1].tolist()


def test_a_file_of_weights_may_be_named_too(folder: Path) -> None:
    assert opened(folder / "onnx" / "model.onnx").model == opened(folder).model


@pytest.mark.parametrize("lacking", ["onnx/model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_something_is_refused(folder: Path, lacking: str) -> None:
    (folder / lacking).unlink()
    with pytest.raises(SettingsError, match="lacks one"):
        opened(folder)


@pytest.mark.parametrize("damaged", ["onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"])
def test_a_damaged_folder_is_refused(folder: Path, damaged: str) -> None:
    (folder / damaged).write_bytes(b"\x08damaged")
    with pytest.raises(SettingsError, match=r"cannot be read|damaged"):
        opened(folder)


def test_a_pooling_that_is_not_known_is_refused(folder: Path) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(SettingsError, match="max_tokens"):
        opened(folder)


def test_a_path_must_be_given() -> None:
    with pytest.raises(SettingsError, match=r"embedding\.path"):
        open_embedder(Settings(embedding=EmbeddingSettings(kind="onnx")), lambda _: pytest.fail("no server"))


def test_a_missing_package_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for module in ("onnx", "onnx_packages"):
        monkeypatch.delitem(sys.modules, f"recollect.embedding.{module}", raising=False)
    with pytest.raises(MissingExtraError, match=r"recollect\[onnx\]"):
        opened(folder)


async def test_closing_ends_what_waits(folder: Path) -> None:
    embedder = opened(folder)
    await asyncio.gather(embedder.embed(["tea"] * 50), embedder.close(), return_exceptions=True)
    with pytest.raises(ProviderUnavailableError):
        await embedder.embed(["tea"])
