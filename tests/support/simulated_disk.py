"""Give tests a disk that loses power, fails, fills up and rots on demand.

The disk lives in memory and is registered with apsw as a VFS under a name of its own:
`apsw.Connection(path, vfs=disk.name)`, then `PRAGMA locking_mode=EXCLUSIVE` before `PRAGMA journal_mode=WAL`.
One recorded run serves any number of power cuts, which are cheap when they are taken in rising order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from itertools import count
from random import Random
from types import TracebackType
from typing import Self

from tests.support.simulated_disk_crash import Replay
from tests.support.simulated_disk_faults import CountedOperation, FaultKind
from tests.support.simulated_disk_log import Operation
from tests.support.simulated_disk_vfs import DiskState, DiskVFS

_serial = count(1)


class SimulatedDisk:
    """Offer one disk in memory, safe to use from several threads.

    `files` are on the disk from the start and survive every cut.
    `lying_sync` makes each sync return without keeping its promise, as some drives do.
    """

    def __init__(
        self,
        label: str = "disk",
        *,
        files: Mapping[str, bytes] | None = None,
        lying_sync: bool = False,
    ) -> None:
        #: The name to pass to apsw as `vfs`; no two disks share it.
        self.name = f"simulated-{label}-{next(_serial)}"
        self._label = label
        self._state = DiskState(files or {}, lying_sync=lying_sync)
        self._replay = Replay(files or {})
        self._mark_positions: list[int] = []
        self._vfs = DiskVFS(self.name, self._state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unregister the disk; connections that are open may go on."""
        self._vfs.unregister()

    @property
    def operations(self) -> int:
        """Return how many operations and markers are in the log; a cut is any number up to this."""
        return len(self._state.log)

    def mark(self, label: str) -> None:
        """Put a marker into the log, after everything the disk has done so far."""
        with self._state.lock:
            self._mark_positions.append(len(self._state.log))
            self._state.log.append(Operation("mark", name=label))

    def marks_before(self, cut: int) -> list[str]:
        """Return the labels of the markers that came before the cut, oldest first."""
        with self._state.lock:
            positions = self._mark_positions[: bisect_left(self._mark_positions, cut)]
            return [self._state.log[position].name for position in positions]

    def random_cuts(self, number: int, rng: Random) -> list[int]:
        """Pick cuts from the whole log, in the rising order that makes them cheap."""
        return sorted(rng.randint(0, self.operations) for _ in range(number))

    def crash(self, cut: int, rng: Random) -> SimulatedDisk:
        """Return a disk as it may be when the power goes after `cut` operations; the caller closes it.

        This disk and its log stay as they are, and the same cut and seed give the same bytes.
        """
        with self._state.lock:
            if not 0 <= cut <= len(self._state.log):
                raise ValueError(f"the log has no operation {cut}")
            files = self._replay.survivors(self._state.log, cut, rng)
        return SimulatedDisk(self._label, files=files)

    def fail(self, kind: FaultKind, *, at: int = 1, once: bool = True) -> None:
        """Fail the `at`-th operation from now, or the first after it that the kind can hit.

        Opens, access checks, sizes, reads, writes, truncates, syncs and deletes count.
        With `once=False` every later operation that the kind can hit fails until `heal`.
        """
        with self._state.lock:
            self._state.faults.arm(kind, at, once=once)

    def heal(self) -> None:
        """Let every operation succeed again."""
        with self._state.lock:
            self._state.faults.disarm()

    @property
    def failures(self) -> int:
        """Return how many operations were made to fail so far."""
        return self._state.faults.failures

    @property
    def counts(self) -> Counter[CountedOperation]:
        """Return how many operations of each kind SQLite asked for, failed ones included."""
        with self._state.lock:
            return self._state.faults.counts.copy()

    def flip_bit(self, path: str, offset: int, bit: int) -> None:
        """Flip one bit of a file behind the back of SQLite, which may still hold the old page in its cache."""
        with self._state.lock:
            stored = self._state.files[path]
            mask = 1 << bit
            stored.content[offset] ^= mask
            self._state.log.append(Operation("flip", stored.number, path, offset, mask.to_bytes(1, "big")))

    def raw_bytes(self) -> dict[str, bytes]:
        """Return a copy of every file as readers see it now, by path."""
        with self._state.lock:
            return {path: bytes(stored.content) for path, stored in self._state.files.items()}
