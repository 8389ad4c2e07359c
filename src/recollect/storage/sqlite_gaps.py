"""Find the bytes of a SQLite page that hold nothing, where SQLite may have left a copy of a row that it moved.

Follows https://sqlite.org/fileformat2.html and knows nothing of files or locks.
Names bytes of a page only if every cell and free block of it was accounted for; any other page is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, unpack_from

import msgspec

MAGIC = b"SQLite format 3\0"
#: The header of the file, at the start of its first page.
FILE_HEADER = 100
#: The byte that SQLite locks; the page that it is on is never used.
_PENDING_BYTE = 0x40000000
#: Up to this number no page that starts with the number of another page can be taken for a page of a tree.
_MAX_PAGES = 0x02000000 - 1

_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_HEADER_SIZES = {_INDEX_INTERIOR: 12, _TABLE_INTERIOR: 12, _INDEX_LEAF: 8, _TABLE_LEAF: 8}
#: First free block, number of cells, start of the cells.
_HEADER = Struct(">HHH")
_ZEROS = bytes(0x10000)

#: From here to there, in a page or in a file.
Span = tuple[int, int]


class _NotUnderstood(Exception):
    """The page contradicts the file format."""


class Layout(msgspec.Struct, frozen=True):
    """How the pages of one file are laid out."""

    page_size: int
    usable: int
    #: Whether some pages hold the parents of others, which is so in a file that vacuums itself.
    has_parents: bool

    @classmethod
    def of(cls, header: bytes, file_size: int) -> Layout | None:
        """Read the header of a file; None if it is not understood or the file too large to tell its pages apart."""
        if len(header) < FILE_HEADER or not header.startswith(MAGIC):
            return None
        (size,) = unpack_from(">H", header, 16)
        size = 0x10000 if size == 1 else size
        if size < 512 or size & (size - 1) or size - header[20] < 480 or file_size // size > _MAX_PAGES:
            return None
        return cls(page_size=size, usable=size - header[20], has_parents=header[52:56] != bytes(4))

    def spans_to_zero(self, number: int, page: bytes) -> list[Span]:
        """Return the unused parts of the page that are not zero; none of a page that is not understood."""
        at = FILE_HEADER if number == 1 else 0
        if len(page) != self.page_size or page[at] not in _HEADER_SIZES or self._is_special(number):
            return []
        if self._looks_clean(page, at):
            return []
        try:
            return [span for span in self._unused(page, at) if _is_dirty(page, *span)]
        except _NotUnderstood:
            return []

    def _is_special(self, number: int) -> bool:
        """Tell whether the page is of no tree by its place: it lists parents, or it is never used."""
        pending = _PENDING_BYTE // self.page_size + 1
        if number == pending:
            return True
        if not self.has_parents or number < 2:
            return False
        apart = self.usable // 5 + 1
        first = (number - 2) // apart * apart + 2
        return number == first + (first == pending)

    def _looks_clean(self, page: bytes, at: int) -> bool:
        """Tell quickly whether the gap before the cells and the free blocks are all zero."""
        free, cells, start = _HEADER.unpack_from(page, at + 1)
        if _is_dirty(page, at + _HEADER_SIZES[page[at]] + 2 * cells, start or 0x10000):
            return False
        while free:
            if free > self.usable - 4:
                return True
            after, size = unpack_from(">HH", page, free)
            if _is_dirty(page, free + 4, free + size):
                return False
            if after and after <= free:
                return True
            free = after
        return True

    def _unused(self, page: bytes, at: int) -> Iterator[Span]:
        """Give everything after the cell pointers that is neither a cell nor the head of a free block."""
        kind = page[at]
        _, cells, start = _HEADER.unpack_from(page, at + 1)
        begin, start = at + _HEADER_SIZES[kind] + 2 * cells, start or 0x10000
        if not begin <= start <= self.usable:
            raise _NotUnderstood
        pointers = unpack_from(f">{cells}H", page, begin - 2 * cells)
        used = [(pointer, pointer + self._cell_size(kind, page, pointer)) for pointer in pointers]
        blocks = list(self._free_blocks(page, at))
        self._require_whole(sorted(used + blocks), start, page[at + 7])
        kept = sorted(used + [(first, first + 4) for first, _ in blocks])
        for first, end in kept:
            if begin < first:
                yield begin, first
            begin = end
        yield begin, self.usable

    def _require_whole(self, taken: list[Span], start: int, fragments: int) -> None:
        """Raise unless the parts lie side by side and leave as many bytes between them as the page says."""
        position, between = start, 0
        for first, end in taken:
            if first < position:
                raise _NotUnderstood
            between += first - position
            position = end
        if position > self.usable or between + self.usable - position != fragments:
            raise _NotUnderstood

    def _free_blocks(self, page: bytes, at: int) -> Iterator[Span]:
        (free,) = unpack_from(">H", page, at + 1)
        while free:
            if free > self.usable - 4:
                raise _NotUnderstood
            after, size = unpack_from(">HH", page, free)
            if size < 4 or 0 < after < free + size:
                raise _NotUnderstood
            yield free, free + size
            free = after

    def _cell_size(self, kind: int, page: bytes, at: int) -> int:
        first = at
        if kind in (_INDEX_INTERIOR, _TABLE_INTERIOR):
            at += 4
        payload, at = self._varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = self._varint(page, at)
        if kind == _TABLE_INTERIOR:
            payload = 0
        return max(4, at - first + self._local(kind, payload))

    def _local(self, kind: int, payload: int) -> int:
        """Return how many bytes of the payload, with the number of the page it goes on at, are in the cell."""
        usable = self.usable
        most = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if payload <= most:
            return payload
        least = (usable - 12) * 32 // 255 - 23
        fitting = least + (payload - least) % (usable - 4)
        return (fitting if fitting <= most else least) + 4

    def _varint(self, page: bytes, at: int) -> tuple[int, int]:
        value = 0
        for position in range(at, at + 8):
            if position >= self.usable:
                raise _NotUnderstood
            byte = page[position]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, position + 1
        if at + 8 >= self.usable:
            raise _NotUnderstood
        return value << 8 | page[at + 8], at + 9


def _is_dirty(page: bytes, begin: int, end: int) -> bool:
    part = page[begin:end]
    return part != _ZEROS[: len(part)]
