"""Choose an embedder by the settings; the packages of one that is not chosen are not imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from recollect.errors import SettingsError
from recollect.ports.embedder import Embedder, TextKind
from recollect.settings import EmbeddingSettings, Settings


def open_embedder(settings: Settings, over_http: Callable[[Settings], Embedder]) -> Embedder:
    """Return the embedder that the settings mean; `over_http` makes the one that asks a server.

    Raise `SettingsError` if something lacks, and `MissingExtraError` if a package does:
    falling back to another embedder would embed everything again.
    """
    match settings.embedding.kind:
        case "static":
            from recollect.embedding.static import StaticEmbedder

            return StaticEmbedder()
        case "onnx":
            return _onnx(settings.embedding)
        case "http":
            return over_http(settings)


def _onnx(chosen: EmbeddingSettings) -> Embedder:
    if chosen.path is None:
        raise SettingsError('embedding.kind = "onnx" needs embedding.path, the folder of the model')
    from recollect.embedding.onnx import OnnxEmbedder
    from recollect.embedding.onnx_folder import read_folder

    wording = f"{chosen.query_prefix}\0{chosen.document_prefix}"
    return OnnxEmbedder(read_folder(Path(chosen.path).expanduser(), chosen.name, wording), partial(_worded, chosen))


def _worded(chosen: EmbeddingSettings, text: str, kind: TextKind) -> str:
    """Word a text as the model wants it."""
    return (chosen.query_prefix if kind == "query" else chosen.document_prefix) + text
