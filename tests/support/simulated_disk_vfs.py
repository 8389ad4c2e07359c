# ruff: noqa: N802 -- SQLite names these methods
"""Hold files in memory and offer them to SQLite as a VFS.

There is no shared memory, so a connection sets `PRAGMA locking_mode=EXCLUSIVE` before it turns to WAL.
What a power cut leaves is decided elsewhere, from the log that is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import cast

import apsw

from tests.support.simulated_disk_crash import SECTOR
from tests.support.simulated_disk_faults import Faults, error_for
from tests.support.simulated_disk_log import Operation, put, resize

_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL


class StoredFile:
    """Hold the bytes that readers see, whether or not they were synced."""

    __slots__ = ("content", "handles", "number", "path")

    def __init__(self, number: int, path: str | None, content: bytes = b"") -> None:
        self.number = number
        #: None for a temporary file, which no power cut brings back.
        self.path = path
        self.content = bytearray(content)
        self.handles: list[OpenFile] = []


class DiskState:
    """Keep the files, the log and the faults of one disk, all behind one lock."""

    def __init__(self, files: Mapping[str, bytes], *, lying_sync: bool) -> None:
        self.lock = Lock()
        self.files = {
            path: StoredFile(number, path, content) for number, (path, content) in enumerate(files.items(), start=1)
        }
        self.log: list[Operation] = []
        self.faults = Faults()
        self.lying_sync = lying_sync
        self._last_number = len(self.files)

    def create(self, path: str | None) -> StoredFile:
        """Create an empty file; the caller holds the lock."""
        self._last_number += 1
        stored = StoredFile(self._last_number, path)
        if path is not None:
            self.files[path] = stored
            self.log.append(Operation("create", stored.number, path))
        return stored

    def delete(self, path: str, *, sync_directory: bool) -> None:
        """Delete the file if there is one; the caller holds the lock."""
        stored = self.files.pop(path, None)
        if stored is not None:
            self.log.append(Operation("delete", stored.number, path))
        if sync_directory and not self.lying_sync:
            self.log.append(Operation("sync_directory"))


class OpenFile:
    """Serve the file methods of SQLite; the names are those of SQLite's C interface."""

    __slots__ = ("_delete_on_close", "_level", "_state", "_stored", "_syncs_directory")

    def __init__(self, state: DiskState, stored: StoredFile, flags: int) -> None:
        self._state = state
        self._stored = stored
        self._delete_on_close = bool(flags & apsw.SQLITE_OPEN_DELETEONCLOSE)
        # SQLite's Unix VFS syncs the folder with the first sync of a journal, and WAL mode relies on it:
        # without it the deleted journal of the switch to WAL may come back and undo the database.
        self._syncs_directory = bool(flags & apsw.SQLITE_OPEN_CREATE and flags & _JOURNALS)
        self._level = apsw.SQLITE_LOCK_NONE
        stored.handles.append(self)

    def xRead(self, amount: int, offset: int) -> bytes:
        """Return the bytes there are; apsw pads a short answer and tells SQLite that it is short."""
        state = self._state
        with state.lock:
            code = state.faults.count("read")
            if code == apsw.SQLITE_IOERR_SHORT_READ:
                amount //= 2
            elif code:
                raise error_for(code, "read")
            return bytes(self._stored.content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write the data; a write that fails leaves its first half behind, as real ones do."""
        state, stored = self._state, self._stored
        with state.lock:
            code = state.faults.count("write")
            written = data
            if code:
                written = written[: len(written) // 2 // SECTOR * SECTOR]
            # The read-only disk takes nothing at all.
            if code != apsw.SQLITE_READONLY:
                put(stored.content, offset, written)
                self._log(Operation("write", stored.number, stored.path or "", offset, written))
            if code:
                raise error_for(code, "write")

    def xTruncate(self, newsize: int) -> None:
        """Cut the file to the new size."""
        state, stored = self._state, self._stored
        with state.lock:
            code = state.faults.count("truncate")
            if code:
                raise error_for(code, "truncate")
            resize(stored.content, newsize)
            self._log(Operation("truncate", stored.number, stored.path or "", newsize))

    def xSync(self, flags: int) -> None:
        """Promise that what was written so far is kept."""
        state, stored = self._state, self._stored
        with state.lock:
            code = state.faults.count("sync")
            if code:
                self._log(Operation("failed_sync", stored.number, stored.path or ""))
                raise error_for(code, "sync")
            if not state.lying_sync:
                self._log(Operation("sync", stored.number, stored.path or ""))
                if self._syncs_directory:
                    self._log(Operation("sync_directory"))
                    self._syncs_directory = False

    def xFileSize(self) -> int:
        """Return the size in bytes."""
        with self._state.lock:
            code = self._state.faults.count("size")
            if code:
                raise error_for(code, "size")
            return len(self._stored.content)

    def xClose(self) -> None:
        """Let go of the file, and delete it if it was temporary."""
        state, stored = self._state, self._stored
        with state.lock:
            if self in stored.handles:
                stored.handles.remove(self)
            if self._delete_on_close and stored.path is not None:
                state.delete(stored.path, sync_directory=False)

    def xLock(self, level: int) -> None:
        """Raise the lock to the level, or raise BusyError when another connection is in the way."""
        if level <= self._level:
            return
        with self._state.lock:
            others = self._level_of_others()
            limit = {
                apsw.SQLITE_LOCK_SHARED: apsw.SQLITE_LOCK_PENDING,
                apsw.SQLITE_LOCK_RESERVED: apsw.SQLITE_LOCK_RESERVED,
            }.get(level, apsw.SQLITE_LOCK_SHARED)
            if others >= limit:
                raise apsw.BusyError("the simulated file is locked")
            self._level = level

    def xUnlock(self, level: int) -> None:
        """Lower the lock to the level."""
        with self._state.lock:
            self._level = min(level, self._level)

    def xCheckReservedLock(self) -> bool:
        """Tell whether another connection is about to write."""
        with self._state.lock:
            return self._level_of_others() >= apsw.SQLITE_LOCK_RESERVED

    def xDeviceCharacteristics(self) -> int:
        """Promise what SQLite's Unix VFS promises, so that the same code runs."""
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xSectorSize(self) -> int:
        """Return what SQLite's Unix VFS returns."""
        return 4096

    def xFileControl(self, op: int, ptr: int) -> bool:
        """Know no file control."""
        return False

    def _log(self, operation: Operation) -> None:
        if self._stored.path is not None:
            self._state.log.append(operation)

    def _level_of_others(self) -> int:
        levels = (handle._level for handle in self._stored.handles if handle is not self)
        return max(levels, default=apsw.SQLITE_LOCK_NONE)


class DiskVFS(apsw.VFS):
    """Serve the directory methods of SQLite; time, sleep and randomness come from the default VFS."""

    def __init__(self, name: str, state: DiskState) -> None:
        self._state = state
        super().__init__(name, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Open the file, or create it if the flags ask for that."""
        # apsw gives a URIFilename that is valid only during this call.
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        state = self._state
        with state.lock:
            code = state.faults.count("open")
            stored = None if path is None else state.files.get(path)
            flags[1] = flags[0]
            if code == apsw.SQLITE_READONLY and stored is not None:
                writing = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
                flags[1] = flags[0] & ~writing | apsw.SQLITE_OPEN_READONLY
            elif code or (stored is None and not flags[0] & apsw.SQLITE_OPEN_CREATE):
                raise error_for(apsw.SQLITE_CANTOPEN, "open")
            if stored is None:
                stored = state.create(path)
            opened = OpenFile(state, stored, flags[0])
        # apsw takes any object with these methods; a VFSFile proper would open a file of its own.
        return cast("apsw.VFSFile", opened)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Delete the file; a file that is not there is no error."""
        with self._state.lock:
            code = self._state.faults.count("delete")
            if code:
                raise error_for(code, "delete")
            self._state.delete(filename, sync_directory=bool(syncdir))

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Tell whether the file exists."""
        with self._state.lock:
            code = self._state.faults.count("access")
            if code:
                raise error_for(code, "access")
            return pathname in self._state.files

    def xFullPathname(self, name: str) -> str:
        """Return the name as it is, for there are no folders here."""
        return name
