"""The packages of the `onnx` extra, imported in one place, so that their absence says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

try:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    from tokenizers import Encoding, Tokenizer
except ModuleNotFoundError as exc:
    raise MissingExtraError(
        "An ONNX model needs packages that are not installed; install recollect[onnx], "
        "for example with: pip install 'recollect[onnx]'"
    ) from exc

__all__ = ["Encoding", "Tokenizer", "onnxruntime"]
