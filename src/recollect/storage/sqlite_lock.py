"""Who may have a SQLite file open: many to use it, one alone to migrate or restore it."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from recollect.errors import StorageLockedError


class FileLock:
    """A lock on the file beside the database; the system releases it when the process ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    def shared(cls, database: Path) -> FileLock:
        """Take a place among the users of the file."""
        message = "it is being migrated or restored; wait for that to end"
        return cls._take(database, fcntl.LOCK_SH, message)

    @classmethod
    def exclusive(cls, database: Path) -> FileLock:
        """Take the file for this process alone."""
        return cls._take(database, fcntl.LOCK_EX, "another process has it open; stop that process first")

    @classmethod
    def _take(cls, database: Path, kind: int, message: str) -> FileLock:
        file = database.with_name(database.name + ".lock").open("ab")
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as exc:
            file.close()
            raise StorageLockedError(f"{database} is locked: {message}") from exc
        return cls(file)

    def release(self) -> None:
        """Let go of the file."""
        self._file.close()
