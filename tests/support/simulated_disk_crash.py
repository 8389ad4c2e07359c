"""Work out what may be left on a disk when the power goes.

A sync is a promise: what came before it in that file is kept.
Everything later may be there, missing, torn between sectors, or in another order, as SQLite's own crash tests assume.
A write never harms bytes outside its range, which is what SQLite takes for granted on Unix (powersafe overwrite).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.support.simulated_disk_log import Operation, put, resize

SECTOR = 512

#: How the un-synced operations of one file end; equal shares, so that the extremes are met as often as the mixtures.
_ENDINGS = ("nothing", "everything", "prefix", "subset", "reordered")
#: How one operation ends; "grown" is the new size without the new bytes, as when metadata is written first.
_FATES = ("whole", "missing", "torn", "grown")


@dataclass(slots=True)
class _File:
    #: What a power cut cannot take away.
    durable: bytearray
    #: What came after the last sync, oldest first.
    pending: list[Operation] = field(default_factory=list)


class Replay:
    """Follow a log and know at each point what is certain and what is not.

    Going forward costs only the operations in between; going back starts again at the beginning.
    """

    def __init__(self, initial: Mapping[str, bytes]) -> None:
        self._initial = dict(initial)
        #: None until the first cut, since most disks are never cut and need no copy of their files.
        self._position: int | None = None

    def _restart(self) -> None:
        self._position = 0
        self._files = {
            number: _File(bytearray(content)) for number, content in enumerate(self._initial.values(), start=1)
        }
        self._names = {path: number for number, path in enumerate(self._initial, start=1)}
        #: For each path, what its directory entry became since the last sync, oldest first; None is deleted.
        self._pending_names: dict[str, list[int | None]] = {}

    def survivors(self, log: Sequence[Operation], cut: int, rng: Random) -> dict[str, bytes]:
        """Return the files of one disk that a power cut after `cut` operations may leave."""
        self._go_to(log, cut)
        survivors: dict[str, bytes] = {}
        for path in sorted(self._names.keys() | self._pending_names.keys()):
            number = rng.choice([self._names.get(path), *self._pending_names.get(path, ())])
            if number is not None:
                survivors[path] = _content_after_cut(self._files[number], rng)
        return survivors

    def _go_to(self, log: Sequence[Operation], cut: int) -> None:
        if self._position is None or cut < self._position:
            self._restart()
        for operation in log[self._position : cut]:
            self._step(operation)
        self._position = cut

    def _step(self, operation: Operation) -> None:
        match operation.kind:
            case "write" | "truncate":
                self._files[operation.file].pending.append(operation)
            case "sync":
                self._settle_content(self._files[operation.file])
                self._settle_name(operation.name, operation.file)
            case "failed_sync":
                # Linux marks the pages clean after a failed fsync, so the next sync does not write them either.
                self._files[operation.file].pending.clear()
            case "create":
                self._files[operation.file] = _File(bytearray())
                self._pending_names.setdefault(operation.name, []).append(operation.file)
            case "delete":
                self._pending_names.setdefault(operation.name, []).append(None)
            case "sync_directory":
                for path, numbers in self._pending_names.items():
                    self._name(path, numbers[-1])
                self._pending_names.clear()
            case "flip":
                self._flip(operation)
            case "mark":
                pass

    def _settle_content(self, file: _File) -> None:
        for operation in file.pending:
            _apply(file.durable, operation)
        file.pending.clear()

    def _settle_name(self, path: str, number: int) -> None:
        numbers = self._pending_names.get(path, [])
        if number not in numbers:
            return
        self._name(path, number)
        later = numbers[numbers.index(number) + 1 :]
        if later:
            self._pending_names[path] = later
        else:
            del self._pending_names[path]

    def _name(self, path: str, number: int | None) -> None:
        if number is None:
            self._names.pop(path, None)
        else:
            self._names[path] = number

    def _flip(self, operation: Operation) -> None:
        file = self._files[operation.file]
        # The byte may not have been synced yet, and then there would be nothing to rot.
        self._settle_content(file)
        file.durable[operation.offset] ^= operation.data[0]


def _apply(content: bytearray, operation: Operation) -> None:
    if operation.kind == "write":
        put(content, operation.offset, operation.data)
    else:
        resize(content, operation.offset)


def _content_after_cut(file: _File, rng: Random) -> bytes:
    content = bytearray(file.durable)
    if file.pending:
        stale = rng.random() < 0.5
        for operation, fate in _fates(file.pending, rng):
            _end(content, operation, fate, rng, stale=stale)
    return bytes(content)


def _fates(pending: Sequence[Operation], rng: Random) -> list[tuple[Operation, str]]:
    ending = rng.choice(_ENDINGS)
    if ending == "nothing":
        return []
    if ending == "everything":
        return [(operation, "whole") for operation in pending]
    if ending == "prefix":
        kept = pending[: rng.randint(1, len(pending))]
        return [*((operation, "whole") for operation in kept[:-1]), (kept[-1], "torn")]
    fates = [(operation, rng.choice(_FATES)) for operation in pending]
    if ending == "reordered":
        rng.shuffle(fates)
    return fates


def _end(content: bytearray, operation: Operation, fate: str, rng: Random, *, stale: bool) -> None:
    if fate == "missing":
        return
    gap = operation.offset - len(content)
    if gap > 0 and stale:
        # A block that was just allocated may show what an older file left in it.
        content.extend(rng.randbytes(gap))
    if fate == "whole" or operation.kind == "truncate":
        _apply(content, operation)
    elif fate == "torn":
        _tear(content, operation, rng)
    else:
        missing = max(0, operation.offset + len(operation.data) - len(content))
        content.extend(rng.randbytes(missing) if stale else bytes(missing))


def _tear(content: bytearray, operation: Operation, rng: Random) -> None:
    start, position = operation.offset, operation.offset
    end = start + len(operation.data)
    while position < end:
        stop = min(end, (position // SECTOR + 1) * SECTOR)
        fate = rng.random()
        if fate < 0.45:
            put(content, position, operation.data[position - start : stop - start])
        elif fate < 0.55:
            put(content, position, rng.randbytes(stop - position))
        position = stop
