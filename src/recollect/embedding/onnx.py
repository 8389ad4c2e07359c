"""An embedder that runs a sentence-transformers model in the ONNX format, in threads of this process.

Each text is run alone: with others beside it a quantised model gives it another vector,
and threads that run one text each are as fast as one that runs many.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embedding.onnx_folder import OnnxFolder, Pooling
from recollect.embedding.onnx_packages import Encoding, Tokenizer, onnxruntime
from recollect.errors import ProviderOutputError, ProviderUnavailableError, SettingsError
from recollect.ports.embedder import Embedder, TextKind

#: The outputs that hold a vector per token, or one per text, by the names that exporters give them.
_OF_TEXTS = "sentence_embedding"


class OnnxEmbedder(Embedder):
    """Run a model that is read when it is made; used from any number of loops."""

    def __init__(self, folder: OnnxFolder, worded: Callable[[str, TextKind], str], threads: int | None = None) -> None:
        self._model = folder.model
        self._pooling: Pooling = folder.pooling
        self._worded = worded
        threads = threads or os.cpu_count() or 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder.weights), _options(), providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(folder.tokenizer))
        except Exception as exc:  # the extension modules raise bare exceptions
            raise SettingsError(f"embedding.path holds a model that cannot be read: {folder.weights}") from exc
        self._tokenizer.enable_truncation(folder.max_length)
        self._tokenizer.no_padding()
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._output = _output_of(self._session)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="recollect-onnx")
        self._dimensions = len(self._run(self._tokenizer.encode("a")))

    @property
    def model(self) -> str:
        """Tell the name of the model and what its files hold."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Tell how long a vector is."""
        return self._dimensions

    @property
    def is_instant(self) -> bool:
        """Tell that a text takes milliseconds."""
        return False

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> NDArray[np.float32]:
        """Return one row per text; what is beyond the length of the model is cut off."""
        loop = asyncio.get_running_loop()
        try:
            work = [loop.run_in_executor(self._threads, self._vector_of, text, kind) for text in texts]
        except RuntimeError as exc:
            raise ProviderUnavailableError("the embedder was closed") from exc
        vectors = await asyncio.gather(*work)
        return np.stack(vectors) if vectors else np.zeros((0, self._dimensions), np.float32)

    async def close(self) -> None:
        """End what runs, and the threads."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    def _vector_of(self, text: str, kind: TextKind) -> NDArray[np.float32]:
        if not self._knows(self._tokenizer.encode(text)):
            return np.zeros(self._dimensions, np.float32)
        return self._run(self._tokenizer.encode(self._worded(text, kind)))

    def _knows(self, encoding: Encoding) -> bool:
        """Tell whether any token is a piece of the text and not a mark or a stand-in."""
        unknown = {"[UNK]", "<unk>"}
        marks = zip(encoding.tokens, encoding.special_tokens_mask, strict=True)
        return any(not special and token not in unknown for token, special in marks)

    def _run(self, encoding: Encoding) -> NDArray[np.float32]:
        given: dict[str, list[int]] = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([given[name]], np.int64) for name in self._inputs}
        try:
            (found,) = self._session.run([self._output], feed)
        except Exception as exc:  # the runtime's errors share no other ancestor
            raise ProviderOutputError(f"{self._model}: the model failed on a text ({type(exc).__name__})") from exc
        return _unit(_pooled(np.asarray(found, np.float64)[0], self._pooling), self._model)


def _options() -> Any:
    options = onnxruntime.SessionOptions()
    # The texts are spread over threads already.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Only errors: a warning would quote paths, and speaks to those who make models.
    options.log_severity_level = 3
    return options


def _output_of(session: Any) -> str:
    names = [output.name for output in session.get_outputs()]
    unknown = {given.name for given in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise SettingsError(f"embedding.path holds a model that wants {', '.join(sorted(unknown))}; it embeds no text")
    return _OF_TEXTS if _OF_TEXTS in names else str(names[0])


def _pooled(found: NDArray[np.float64], pooling: Pooling) -> NDArray[np.float64]:
    """Make one vector of those of the tokens."""
    if found.ndim == 1:
        return found
    first: NDArray[np.float64] = found[0]
    return first if pooling == "cls" else found.mean(axis=0)


def _unit(vector: NDArray[np.float64], model: str) -> NDArray[np.float32]:
    length = np.linalg.norm(vector)
    if not np.isfinite(length):
        raise ProviderOutputError(f"{model}: the model gives a vector that is not finite")
    return (vector / length if length > 0 else vector).astype(np.float32)
