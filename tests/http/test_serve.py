"""`recollect serve` as a person meets it: what it prints, what it refuses and what it says then."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from recollect.cli.serve import address_of, banner
from recollect.errors import SettingsError
from recollect.settings import Settings
from tests.support.server_process import clean_environ, served


def refused(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Return the exit code and the words of a server that does not start."""
    command = [sys.executable, "-m", "recollect", "serve", *arguments]
    ended = subprocess.run(  # noqa: PLW1510  # the exit code is what is looked at
        command, cwd=folder, env=clean_environ() | dict(environ or {}), capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stderr


def test_the_banner_tells_where_it_is_and_what_it_uses(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        lines = [line.split(None, 1) for line in opened.log.read_text().splitlines() if line.startswith("  ")]
        told = dict(lines)
        address = f"http://127.0.0.1:{opened.port}"
    assert told == {
        "UI": address,
        "API": f"{address}/api",
        "docs": f"{address}/docs",
        "storage": f"sqlite:///{tmp_path / 'a.db'}",
        "model": "built-in responder, no model",
        "embedder": "built-in static vectors",
        "auth": "none: one local user, on this machine only",
        "jobs": "inside this process",
    }


def test_the_banner_names_what_is_configured_and_hides_passwords() -> None:
    settings = Settings.load(
        {
            "storage.database": "postgresql://ada:hunter2@db.example/recollect",
            "redis_url": "redis://:hunter3@cache.example:6379/0",
            "server.host": "10.1.2.3",
            "auth.mode": "token",
            "jobs.inside": False,
        },
        environ={"OPENAI_API_KEY": "sk-secret"},
    )
    told = banner(settings, "http://10.1.2.3:8377")
    assert told["storage"] == "postgresql://ada:***@db.example/recollect"
    assert told["cache"] == "redis://:***@cache.example:6379/0"
    assert "api.openai.com" in told["model"]
    assert "recollect keys create" in told["auth"]
    assert "recollect worker" in told["jobs"]
    assert not [value for value in told.values() if "hunter" in value or "sk-secret" in value]


def test_on_a_terminal_port_zero_is_shown_as_the_port_that_was_taken(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "recollect", "serve", "--database", str(tmp_path / "a.db"), "--port", "0"]
    environ = clean_environ() | {"COLUMNS": "200", "TERM": "dumb"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=its, stderr=its, stdin=subprocess.DEVNULL)
    os.close(its)
    try:
        shown = b""
        while b"Ctrl+C" not in shown and select.select([ours], [], [], 60)[0]:
            shown += os.read(ours, 4096)
        address = re.search(rb"http://127.0.0.1:(\d+)", shown)
        assert address is not None, shown
        assert int(address[1]) > 0
        assert httpx2.get(f"{address[0].decode()}/healthz").status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        os.close(ours)


def test_a_port_in_use_names_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, words = refused(tmp_path, "--port", str(port), "--database", str(tmp_path / "a.db"))
    assert code == 2
    assert f"port {port}" in words
    assert "--port" in words
    assert len(words.strip().splitlines()) == 1


def test_other_machines_are_let_in_only_if_they_are_asked_who_they_are(tmp_path: Path) -> None:
    code, words = refused(tmp_path, "--host", "0.0.0.0", "--database", str(tmp_path / "a.db"))
    assert code == 2
    assert "recollect keys create" in words
    assert "token" in words
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("storage.database", "mysql://here/it", "postgresql://"),
        ("redis_url", "http://nowhere", "redis://"),
        ("server.host", "not a host", "127.0.0.1"),
        ("server.cors_origins", "*", "never *"),
        ("server.cors_origins", "https://app.example.com/path", "never *"),
        ("server.cors_origins", "https://ada:secret@app.example.com", "password"),
        ("server.allowed_hosts", "a.example, *", "memory.example.com"),
        ("server.trusted_proxies", "anyone", "10.0.0.0/8"),
    ],
)
def test_a_setting_that_guards_the_server_is_refused_with_its_fix(name: str, value: str, fix: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(fix)):
        Settings.load({name: value}, environ={})


def test_a_wrong_setting_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    code, words = refused(tmp_path, environ={"RECOLLECT_SERVER_CORS_ORIGINS": "*"})
    assert code == 2
    assert words.startswith("recollect: RECOLLECT_SERVER_CORS_ORIGINS lists '*'")
    assert len(words.strip().splitlines()) == 1


def test_a_store_that_cannot_be_opened_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"this is no database" * 100)
    code, words = refused(tmp_path, "--port", "0", "--database", str(tmp_path / "a.db"))
    assert code == 1
    assert words.startswith("recollect: ")
    assert "Traceback" not in words


def test_a_new_database_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened:
        opened.client.post("/api/conversations", json={"title": "private"})
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("a.db*")}
    assert {name: oct(modes[name]) for name in ("a.db", "a.db-wal")} == {"a.db": "0o600", "a.db-wal": "0o600"}


def test_an_address_for_a_browser_is_one_that_can_be_opened() -> None:
    assert address_of("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert address_of("::", 80) == "http://[::1]:80"
    assert address_of("::1", 80) == "http://[::1]:80"
    assert address_of("memory.example", 80) == "http://memory.example:80"
