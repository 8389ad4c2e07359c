"""How vectors go to Postgres and come back: as the type `halfvec` of pgvector is sent, not as text."""

from __future__ import annotations

import struct

from recollect.storage.postgres_packages import psycopg

#: The number of values, and two bytes that mean nothing, come first.
_HEAD = struct.Struct(">HH")


class PackedVector(bytes):
    """A vector as the server takes it."""


class PackedVectorDumper(psycopg.adapt.Dumper):
    """Give a vector to the server as it is; which type it has follows from where it goes."""

    format = psycopg.pq.Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        """Return the bytes."""
        return obj


def pack(values: bytes) -> PackedVector:
    """Return half precision floats, little endian, as the server takes them."""
    return PackedVector(_HEAD.pack(len(values) // 2, 0) + _swapped(values))


def unpack(packed: bytes) -> bytes:
    """Return the half precision floats, little endian, that the server sent."""
    return _swapped(packed[_HEAD.size :])


def _swapped(halves: bytes) -> bytes:
    turned = bytearray(len(halves))
    turned[::2], turned[1::2] = halves[1::2], halves[::2]
    return bytes(turned)
