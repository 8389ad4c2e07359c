"""The file of the static vectors: a header, the pieces, and one row of small whole numbers for each.

What is read is checked, so that a damaged file is an error and never a wrong vector.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.errors import ProviderError

_MAGIC = b"recollect static vectors 1\n"


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says of itself."""

    model: str
    dimensions: int
    pieces: int
    #: Of the pieces as text, one a line.
    text_bytes: int
    #: Of all that follows the header.
    crc32: int


class StaticVectors(msgspec.Struct, frozen=True, kw_only=True):
    """A vocabulary and the vector of each of its pieces."""

    model: str
    pieces: tuple[str, ...]
    rows: NDArray[np.int8]


def read_vectors(path: Path) -> StaticVectors:
    """Read a file; raise `ProviderError` if it is not there or not whole."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise ProviderError(f"the static vectors cannot be read; install recollect again: {path}") from exc
    try:
        return _parsed(content)
    except (ValueError, msgspec.MsgspecError) as exc:
        raise ProviderError(f"the static vectors are damaged ({exc}); install recollect again: {path}") from exc


def write_vectors(path: Path, vectors: StaticVectors) -> None:
    """Write a file that `read_vectors` reads; the same vectors make the same bytes."""
    text = "\n".join(vectors.pieces).encode()
    body = text + vectors.rows.tobytes()
    header = Header(
        model=vectors.model,
        dimensions=vectors.rows.shape[1],
        pieces=len(vectors.pieces),
        text_bytes=len(text),
        crc32=zlib.crc32(body),
    )
    path.write_bytes(_MAGIC + msgspec.json.encode(header) + b"\n" + body)


def numbered(pieces: Sequence[str]) -> dict[str, int]:
    """Give each piece the number of its row."""
    return {piece: number for number, piece in enumerate(pieces)}


def _parsed(content: bytes) -> StaticVectors:
    if not content.startswith(_MAGIC):
        raise ValueError("it is no such file")
    end = content.index(b"\n", len(_MAGIC))
    header = msgspec.json.decode(content[len(_MAGIC) : end], type=Header)
    body = memoryview(content)[end + 1 :]
    if len(body) != header.text_bytes + header.pieces * header.dimensions:
        raise ValueError("its length is wrong")
    if zlib.crc32(body) != header.crc32:
        raise ValueError("its checksum is wrong")
    pieces = tuple(bytes(body[: header.text_bytes]).decode().split("\n"))
    rows = np.frombuffer(body, np.int8, offset=header.text_bytes).reshape(-1, header.dimensions)
    if len(pieces) != len(rows):
        raise ValueError("its pieces are not as many as its rows")
    return StaticVectors(model=header.model, pieces=pieces, rows=rows)
