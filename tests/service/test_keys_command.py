"""`recollect keys` as a person or a script meets it: a real process, its exit code and what it prints."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.keys import open_keys
from recollect.domain.identity import ApiKey
from recollect.settings import Settings


def keys(database: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "keys", *arguments],
        env=inherited | {"RECOLLECT_DATABASE": database, "NO_COLOR": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr
    return done


def proven(database: str, text: str) -> ApiKey | None:
    async def ask() -> ApiKey | None:
        async with open_keys(Settings.load({"storage.database": database}, {})) as opened:
            return await opened.proven(text)

    return asyncio.run(ask())


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def test_a_key_is_made_listed_and_revoked(database: str) -> None:
    made = keys(database, "create", "[bold]laptop", "--user", "alice", "--expires", "90d", "--rights", "read")
    text = made.stdout.removesuffix("\n")
    assert (made.returncode, made.stdout.count("\n")) == (0, 1)
    assert "of user alice" in made.stderr
    assert text not in made.stderr
    key = proven(database, text)
    assert key is not None
    assert (key.name, key.user, sorted(key.rights)) == ("[bold]laptop", "alice", ["read"])
    assert key.expires_at == key.created_at + timedelta(days=90)
    assert abs(datetime.now(UTC) - key.created_at) < timedelta(minutes=10)

    acting = keys(database, "create", "bot", "--service", "--agent", "guide", "--rights", "write, admin").stdout.strip()
    assert keys(database, "revoke", key.id).returncode == 0
    assert proven(database, text) is None

    listed: list[dict[str, Any]] = json.loads(keys(database, "list", "--json").stdout)
    told = [(one["name"], one["user"], one["agent"], one["rights"], one["state"]) for one in listed]
    assert told == [
        ("[bold]laptop", "alice", None, ["read"], "revoked"),
        ("bot", None, "guide", ["admin", "write"], "valid"),
    ]
    assert listed[0]["last_used_at"] is not None
    shown = keys(database, "list")
    assert [line.split()[:2] for line in shown.stdout.splitlines()][1:] == [
        [key.id, "[bold]laptop"],
        [listed[1]["id"], "bot"],
    ]
    for secret in (text, acting):
        assert secret[-43:] not in shown.stdout + str(listed)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("create", "laptop", "--user", "alice", "--service"), 2, "--service"),
        (("create", "laptop", "--user", "alice", "--expires", "soon"), 2, "such as 12h"),
        (("create", "laptop", "--user", "alice", "--rights", "fly"), 2, "read,write,admin"),
        (("create", "laptop", "--user", "a\nb"), 1, "user must hold printable characters"),
        (("revoke", "nothing"), 1, "there is no API key with this id"),
    ],
)
def test_a_wrong_command_says_what_to_do(arguments: tuple[str, ...], code: int, told: str, database: str) -> None:
    done = keys(database, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in " ".join(done.stderr.replace("│", " ").split())


def test_a_tenant_without_keys_is_told_how_to_make_one(database: str) -> None:
    keys(database, "create", "laptop", "--user", "alice", "--tenant", "acme")
    done = keys(database, "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "recollect keys create" in done.stderr
    assert "laptop" in keys(database, "list", "--tenant", "acme").stdout
