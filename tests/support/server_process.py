"""A real `recollect serve` in a process of its own, on a free port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

START_SECONDS = 30


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(database: str, folder: Path) -> Iterator[httpx2.Client]:
    """Serve the database and give a client of the server; the server has ended when this does."""
    port = free_port()
    command = [sys.executable, "-m", "recollect", "serve", "--database", database, "--port", str(port)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=environ)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            _wait(process, client, folder)
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _wait(process: subprocess.Popen[bytes], client: httpx2.Client, folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not start: {(folder / 'server.log').read_text()}")
