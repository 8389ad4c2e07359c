"""Find what an ONNX embedder needs in a folder as sentence-transformers writes it; weights are only hashed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from recollect.errors import SettingsError

Pooling = Literal["mean", "cls"]
#: Where the weights may be, the best first: smaller ones are faster, and cost a percent.
_WEIGHTS = (
    "model.onnx",
    "onnx/model.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
    "model_quantized.onnx",
)
_MODE = "pooling_mode_"
_USUAL_LENGTH = 512
_LONGEST = 8192


class OnnxFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a model."""

    weights: Path
    tokenizer: Path
    pooling: Pooling
    #: In tokens, with those that mark the ends; what is beyond is cut off.
    max_length: int
    #: The name of the folder, and what tells other weights or another tokenizer of the same name.
    model: str


def read_folder(folder: Path, name: str | None = None, wording: str = "") -> OnnxFolder:
    """Return the parts of a folder, or of a weights file in one; raise `SettingsError` if something lacks.

    `wording` is what else the vectors depend on.
    """
    weights = folder if folder.suffix == ".onnx" else _first(folder, _WEIGHTS)
    home = next((place for place in (weights.parent, weights.parent.parent) if _has_tokenizer(place)), None)
    if not weights.is_file() or home is None:
        raise SettingsError(f"embedding.path needs a model.onnx and a tokenizer.json; {folder} lacks one")
    return OnnxFolder(
        weights=weights,
        tokenizer=home / "tokenizer.json",
        pooling=_pooling(_json(home / "1_Pooling" / "config.json")),
        max_length=_length(_json(home / "sentence_bert_config.json"), _json(home / "tokenizer_config.json")),
        model=f"onnx:{name or home.resolve().name}:{_digest(wording, weights, home / 'tokenizer.json')}",
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[0])


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file()


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.MsgspecError as exc:
        raise SettingsError(f"embedding.path holds a damaged file: {path}") from exc


def _pooling(config: dict[str, Any]) -> Pooling:
    asked = {key.removeprefix(_MODE) for key, value in config.items() if key.startswith(_MODE) and value is True}
    if asked <= {"mean_tokens"}:
        return "mean"
    if asked == {"cls_token"}:
        return "cls"
    raise SettingsError(f"embedding.path holds a model that pools by {', '.join(sorted(asked))}, not by mean or cls")


def _length(*configs: dict[str, Any]) -> int:
    found = (config.get(key) for config in configs for key in ("max_seq_length", "model_max_length"))
    lengths = [length for length in found if isinstance(length, int) and 2 < length <= _LONGEST]
    return lengths[0] if lengths else _USUAL_LENGTH


def _digest(wording: str, *paths: Path) -> str:
    digest = hashlib.sha256(wording.encode())
    for path in paths:
        with path.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:12]
