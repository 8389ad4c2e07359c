"""Write `src/recollect/recall/data/kin.txt`: which English words mean about the same.

The words are the whole words among the pieces of the static embedder, and how like two are is the cosine of their
vectors; run it with `python tools/kin_words.py` after the vectors were made anew.
The same vectors make the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from recollect.embedding.static import DATA
from recollect.embedding.vector_file import StaticVectors, read_vectors
from recollect.recall.words import SMALL_WORDS, stem

OUT = Path(__file__).parents[1] / "src" / "recollect" / "recall" / "data" / "kin.txt"
#: Words that are less alike than this are not kin, and no more of them are kept.
LEAST = 0.5
MOST = 16
#: Words that are compared with all others at a time.
PORTION = 1_024


def lines(vectors: StaticVectors) -> Iterator[str]:
    """Give a line for each word that has kin."""
    chosen = [at for at, piece in enumerate(vectors.pieces) if is_word(piece)]
    words = [vectors.pieces[at] for at in chosen]
    rows = vectors.rows[chosen].astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    for start in range(0, len(words), PORTION):
        for word, alike in zip(words[start:], rows[start : start + PORTION] @ rows.T, strict=False):
            near = np.flatnonzero(alike >= LEAST)
            best = near[np.argsort(-alike[near], kind="stable")]
            kin: dict[str, str] = {}
            for at in best:
                if stem(words[at]) != stem(word):
                    kin.setdefault(stem(words[at]), f"{words[at]}{round(100 * min(float(alike[at]), 0.99)):02}")
            if kin:
                yield " ".join([word, *list(kin.values())[:MOST]])


def is_word(piece: str) -> bool:
    """Tell whether a piece is a whole English word that says something."""
    return len(piece) > 2 and piece.isascii() and piece.isalpha() and piece not in SMALL_WORDS


if __name__ == "__main__":
    OUT.write_text("\n".join(sorted(lines(read_vectors(DATA)))) + "\n", encoding="utf-8")
