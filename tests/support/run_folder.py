"""Give a test run one folder that never outlives it.

Everything that a test starts works inside this folder; `guard.py` ends and removes it.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: A unix socket's path holds about 100 bytes, and the server adds some to the folder's.
LONGEST_SOCKET_FOLDER = 60


class RunFolder:
    """The folder of one test run, shared by all its workers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Let one worker at a time do what must happen once."""
        with (self.path / f"{name}.lock").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def ensure_guarded(self) -> None:
        """Start the guard unless the run has one; call before starting any process."""
        with self.locked("guard"):
            started = self.path / "guarded"
            if not started.exists():
                script = Path(__file__).with_name("guard.py")
                quiet = subprocess.DEVNULL
                command = [sys.executable, str(script), str(self.path)]
                subprocess.run(command, check=True, stdin=quiet, stdout=quiet, stderr=quiet)
                started.touch()

    def new_folder(self, name: str) -> Path:
        """Create a folder for one server."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.path))


class OwnedRunFolder(RunFolder):
    """The run folder as held by the process that ends last."""

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        if len(parent) > LONGEST_SOCKET_FOLDER:
            parent = "/tmp"
        super().__init__(Path(tempfile.mkdtemp(prefix="recollect-", dir=parent)).resolve())
        # A server started by root runs as another user, who must be able to pass.
        self.path.chmod(0o711)
        self._lease = (self.path / "lease").open("wb")
        fcntl.flock(self._lease, fcntl.LOCK_SH)

    def close(self) -> None:
        """End every server of the run and wait until the folder is gone."""
        guarded = (self.path / "guarded").exists()
        self._lease.close()
        deadline = time.monotonic() + 20
        while guarded and self.path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        shutil.rmtree(self.path, ignore_errors=True)
