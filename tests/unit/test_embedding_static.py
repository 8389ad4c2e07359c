from __future__ import annotations

import subprocess
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from recollect.embedding.static import DATA, DIMENSIONS, MODEL, StaticEmbedder
from recollect.embedding.vector_file import StaticVectors, numbered, read_vectors, write_vectors
from recollect.embedding.wordpiece import LONGEST_WORD, WordPieces
from recollect.errors import ProviderError, ProviderUnavailableError
from recollect.testing.embedders import HOSTILE
from tests.support.onnx_model import tokenizer_of

SMALL = StaticVectors(
    model=MODEL,
    pieces=("tea", "##s", "茶"),
    rows=np.array([[3, 4] + [0] * (DIMENSIONS - 2), [0] * DIMENSIONS, [0, 5] + [0] * (DIMENSIONS - 2)], np.int8),
)


@pytest.fixture(scope="module")
def shipped() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write_vectors(tmp_path / "small.bin", SMALL)
    return tmp_path / "small.bin"


def pieces_of(text: str, *known: str) -> list[str]:
    return [known[number] for number in WordPieces(numbered(known)).numbers(text)]


def test_a_word_is_cut_into_the_longest_pieces() -> None:
    assert pieces_of("Unaffordable teas", "un", "##afford", "##able", "##a", "tea", "##s") == [
        "un",
        "##afford",
        "##able",
        "tea",
        "##s",
    ]


def test_what_is_no_piece_is_left_out_and_the_rest_counts() -> None:
    assert pieces_of("teaґs 🙂tea", "tea", "##s", "##a") == ["tea", "##s", "tea"]


class Looked(dict[str, int]):
    """A vocabulary that counts how often it is asked."""

    asked = 0

    def get(self, piece: str, default: object = None) -> int | None:  # type: ignore[override]  # a word is enough here
        """Count."""
        self.asked += 1
        return super().get(piece)


@pytest.mark.parametrize("letter", ["q", "ß"])
def test_a_word_of_a_million_characters_costs_no_more_than_one_of_a_thousand(letter: str) -> None:
    counts = []
    for length in (LONGEST_WORD, 1_000_000):
        known = Looked(numbered(("tea", "##s", "##longest", letter)))
        WordPieces(known).numbers(letter * length)
        counts.append(known.asked)
    assert counts[0] == counts[1] <= LONGEST_WORD * len("##longest")


def test_of_a_word_longer_than_any_the_beginning_counts() -> None:
    word = "t" * (LONGEST_WORD + 1)
    assert pieces_of(f"{word} tea", "t", "##t", "tea") == ["t", *["##t"] * (LONGEST_WORD - 1), "tea"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("CAFÉ", ["cafe"]),
        ("cafe\u0301", ["cafe"]),
        ("茶茶", ["茶", "茶"]),
        ("ｃａｆｅ", ["cafe"]),
        ("cafe.cafe", ["cafe", ".", "cafe"]),
        ("ca\x00fe\x07", ["cafe"]),
        ("ca\u200bfe —", ["cafe"]),
        ("cafe\u00a0cafe", ["cafe", "cafe"]),
        ("İ", ["i"]),
        ("\ud800cafe", ["cafe"]),
    ],
)
def test_case_accents_and_what_cannot_be_seen_do_not_matter(text: str, pieces: list[str]) -> None:
    assert pieces_of(text, "cafe", "茶", ".", "i") == pieces


@given(st.text(st.characters(exclude_categories=["S", "Cc", "Cs", "Cn", "Co"]), max_size=60))
def test_pieces_are_those_of_the_tokenizer_of_the_model(text: str) -> None:
    theirs = _reference().encode(text).tokens
    ours = [_PIECES[number] for number in _OURS.numbers(text)]
    if "[UNK]" in theirs:
        # It gives up a word of which one character is unknown; ours keeps the rest.
        assert len(ours) >= len([piece for piece in theirs if piece != "[UNK]"])
    else:
        assert ours == theirs


_PIECES = read_vectors(DATA).pieces
_OURS = WordPieces(numbered(_PIECES))


@cache
def _reference() -> Tokenizer:
    return tokenizer_of(["[UNK]", *_PIECES])


def test_the_vector_is_the_sum_of_the_pieces_and_has_the_length_of_one(small: Path) -> None:
    rows = StaticEmbedder(small).vectors_of(["tea", "tea teas 茶茶", "coffee", ""])
    assert rows[0, :2].tolist() == pytest.approx([0.6, 0.8])
    assert rows[1, :2].tolist() == pytest.approx(np.array([6, 18]) / np.hypot(6, 18))
    assert not rows[2:].any()


def test_the_shipped_vectors_are_whole_and_small() -> None:
    vectors = read_vectors(DATA)
    assert (vectors.model, vectors.rows.shape) == (MODEL, (len(vectors.pieces), DIMENSIONS))
    assert len(set(vectors.pieces)) == len(vectors.pieces) > 25_000
    assert DATA.stat().st_size < 8_500_000
    assert "Apache License" in (DATA.parent / "LICENSE-all-MiniLM-L6-v2.txt").read_text()


def test_the_same_bits_come_in_any_process(shipped: StaticEmbedder) -> None:
    program = (
        "import sys; from recollect.embedding.static import StaticEmbedder; "
        "from recollect.testing.embedders import HOSTILE; "
        "sys.stdout.write(StaticEmbedder().vectors_of(HOSTILE).tobytes().hex())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60)
    assert other.stdout == shipped.vectors_of(HOSTILE).tobytes().hex()


@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_text_has_the_same_bits_in_any_batch(texts: list[str]) -> None:
    embedder = _SHIPPED
    rows = embedder.vectors_of(texts)
    assert [row.tobytes() for row in rows] == [embedder.vectors_of([text]).tobytes() for text in texts]
    lengths = np.linalg.norm(rows, axis=1)
    assert all(length == 0 or abs(length - 1) < 1e-5 for length in lengths)


_SHIPPED = StaticEmbedder()


def test_every_script_that_the_vocabulary_knows_has_a_vector(shipped: StaticEmbedder) -> None:
    texts = ["中国人", "こんにちは", "สวัสดี", "مرحبا", "שלום", "Київ", "नमस्ते", "안녕", "γειά", "ελλάδα"]
    assert [text for text, row in zip(texts, shipped.vectors_of(texts), strict=True) if not row.any()] == []


def test_a_composed_text_and_a_decomposed_one_are_the_same(shipped: StaticEmbedder) -> None:
    texts = ["Ünïcödé naïve café", "한국어 차", "が ぎ"]
    composed = shipped.vectors_of([unicodedata.normalize("NFC", text) for text in texts])
    assert (composed == shipped.vectors_of([unicodedata.normalize("NFD", text) for text in texts])).all()


def test_threads_that_come_at_the_same_time_read_the_file_once(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    begin = threading.Barrier(8)

    def counted(path: Path) -> StaticVectors:
        reads.append(path)
        return read_vectors(path)

    monkeypatch.setattr("recollect.embedding.static.read_vectors", counted)
    embedder = StaticEmbedder(small)

    def embed() -> bytes:
        begin.wait(10)
        return embedder.vectors_of(["tea 茶"]).tobytes()

    with ThreadPoolExecutor(8) as threads:
        rows = [done.result() for done in [threads.submit(embed) for _ in range(8)]]
    assert len(set(rows)) == 1
    assert reads == [small]


def test_nothing_is_read_before_the_first_text(tmp_path: Path) -> None:
    embedder = StaticEmbedder(tmp_path / "missing.bin")
    assert (embedder.model, embedder.dimensions, embedder.is_instant) == (MODEL, DIMENSIONS, True)
    with pytest.raises(ProviderError, match="install recollect again"):
        embedder.vectors_of(["tea"])


@pytest.mark.parametrize("cut", [0, 10, 40, 200, -1])
def test_a_cut_file_is_damaged(small: Path, cut: int) -> None:
    small.write_bytes(small.read_bytes()[:cut])
    with pytest.raises(ProviderError, match="damaged"):
        read_vectors(small)


def test_any_changed_byte_is_damage(small: Path) -> None:
    whole = small.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x10
        small.write_bytes(changed)
        with pytest.raises(ProviderError, match=r"damaged|another version"):
            StaticEmbedder(small).vectors_of(["tea"])


def test_the_same_vectors_make_the_same_file(small: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "again.bin", read_vectors(small))
    assert (tmp_path / "again.bin").read_bytes() == small.read_bytes()


async def test_a_closed_one_embeds_nothing(small: Path) -> None:
    embedder = StaticEmbedder(small)
    assert (await embedder.embed(["tea"])).any()
    await embedder.close()
    with pytest.raises(ProviderUnavailableError):
        await embedder.embed(["tea"])
