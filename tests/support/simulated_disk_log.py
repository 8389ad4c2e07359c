"""Name the operations that a simulated disk records.

The log is the only thing that the disk and the power cut share, so one run of a workload serves any number of cuts.
Nothing here knows about SQLite, faults or randomness.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

OperationKind = Literal[
    "create", "write", "truncate", "sync", "failed_sync", "delete", "sync_directory", "flip", "mark"
]


class Operation(NamedTuple):
    """Describe one change, sync or marker, in the order in which the disk saw them."""

    kind: OperationKind
    #: The number of the file; a file that is deleted and created again has a new number.
    file: int = 0
    #: The path of the file, or the label of a marker.
    name: str = ""
    #: Where a write or flip begins, or the new size after a truncate.
    offset: int = 0
    #: The bytes of a write, or the mask of a flip.
    data: bytes = b""


def put(content: bytearray, offset: int, data: bytes) -> None:
    """Write the data into the content, and fill a gap before it with zeros."""
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def resize(content: bytearray, size: int) -> None:
    """Cut the content to the size, or extend it with zeros."""
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))
