"""Write a small model in the ONNX format: each token has a vector, and those of a text come out in their order.

ONNX is protobuf, of which a graph of two nodes needs little enough to be written here by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

FLOAT, INT64 = 1, 7
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write_model(folder: Path, pieces: Sequence[str], rows: NDArray[np.float32]) -> None:
    """Write a folder as sentence-transformers does: weights, tokenizer and how to pool."""
    marks = np.zeros((len(MARKS), rows.shape[1]), np.float32)
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(_model(np.concatenate([marks, rows])))
    tokenizer_of([*MARKS, *pieces]).save(str(folder / "tokenizer.json"))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 200}))
    pooling = folder / "1_Pooling" / "config.json"
    pooling.parent.mkdir(exist_ok=True)
    pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))


def tokenizer_of(pieces: Sequence[str]) -> Tokenizer:
    """Return the tokenizer of BERT over these pieces."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if numbers.keys() >= set(MARKS):
        tokenizer.add_special_tokens(list(MARKS))
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", numbers["[SEP]"]), ("[CLS]", numbers["[CLS]"]))
    return tokenizer


def _model(table: NDArray[np.float32]) -> bytes:
    weights = b"".join(_number(1, size) for size in table.shape) + _number(2, FLOAT)
    weights += _text(8, "table") + _bytes(9, np.ascontiguousarray(table, "<f4").tobytes())
    gather = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    # The mask is an input that nothing reads but a node whose result nobody asks for.
    unused = _text(1, "attention_mask") + _text(2, "unused") + _text(4, "Identity")
    graph = _bytes(1, gather) + _bytes(1, unused) + _text(2, "graph") + _bytes(5, weights)
    graph += _bytes(11, _value("input_ids", INT64, 2)) + _bytes(11, _value("attention_mask", INT64, 2))
    graph += _bytes(12, _value("last_hidden_state", FLOAT, 3))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _value(name: str, kind: int, rank: int) -> bytes:
    shape = b"".join(_bytes(1, _text(2, f"size{axis}")) for axis in range(rank))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
