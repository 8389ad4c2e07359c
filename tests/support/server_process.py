"""A real `recollect serve` in a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

START_SECONDS = 30
END_SECONDS = 20


class Served(NamedTuple):
    """A server that runs, and a client of it."""

    client: httpx2.Client
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connected(self) -> socket.socket:
        """Return a connection on which nothing was said yet."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def logged(self) -> list[dict[str, Any]]:
        """Return the lines of its log that are JSON; the banner is not."""
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(database: str, folder: Path) -> Iterator[httpx2.Client]:
    """Serve the database and give a client of the server; the server has ended when this does."""
    with served(database, folder) as opened:
        yield opened.client


@contextmanager
def served(
    database: str,
    folder: Path,
    environ: Mapping[str, str] | None = None,
    *,
    program: str = "recollect",
    port: int | None = None,
) -> Iterator[Served]:
    """Serve the database with settings from the given variables; the server has ended when this does."""
    port = port or free_port()
    log = folder / "server.log"
    command = [sys.executable, "-m", program, "serve", "--database", database, "--port", str(port)]
    with log.open("ab") as writing:
        process = subprocess.Popen(
            command, stdout=writing, stderr=subprocess.STDOUT, cwd=folder, env=clean_environ() | dict(environ or {})
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            _wait(process, client, log)
            yield Served(client, process, port, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(END_SECONDS)


def clean_environ() -> dict[str, str]:
    """Return the environment without settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}


def new_service_key(database: str, folder: Path) -> str:
    """Return a key that acts for any user of a database, made by our own command."""
    command = [sys.executable, "-m", "recollect", "keys", "create", "test", "--service", "--database", database]
    made = subprocess.run(
        command, cwd=folder, env=clean_environ(), capture_output=True, text=True, timeout=60, check=True
    )
    return made.stdout.strip()


def _wait(process: subprocess.Popen[bytes], client: httpx2.Client, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text()}")
