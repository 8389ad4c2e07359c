"""`recollect db` as a person or a script meets it: a real process, its exit code and what it prints."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.testing import samples as sample
from recollect.testing.samples import ALICE
from tests.migration.databases import Database, PostgresDatabase, SqliteDatabase, fill
from tests.support.server_process import serving

pytestmark = pytest.mark.spec("R31")


class Done:
    """How a command ended."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        assert "Traceback" not in self.err

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong, without the lines of progress."""
        lines = [line for line in self.err.splitlines() if not line.endswith(": done")]
        assert len(lines) == 1, self.err
        return lines[0]


def db(*arguments: object, **environ: str) -> Done:
    command = [sys.executable, "-m", "recollect", "db", *map(str, arguments)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return Done(
        subprocess.run(
            command,
            env=inherited | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    )


async def filled(database: Database) -> None:
    async with database.store() as store:
        await fill(store)


def test_a_server_is_backed_up_while_it_works_and_restored_when_it_does_not(database: Database, tmp_path: Path) -> None:
    at, backup = ("--database", database.url), tmp_path / "backup"
    with serving(database.url, tmp_path) as client:
        first = client.post("/api/chat", json={"message": "Remember the blue door."}).json()
        made = db("backup", backup, *at, "--json")
        assert (made.code, json.loads(made.out)["manifest"]["tables"]["messages"]["rows"]) == (0, 2)
        assert client.post("/api/chat", json={"message": "Forget the red door."}).status_code == 200
        refused = db("restore", backup, *at)
        assert refused.code == 1
        assert "stop th" in refused.complaint
        assert db("check", *at).out == "The database is sound.\n"
    restored = db("restore", backup, *at)
    assert (restored.code, restored.out.splitlines()[1]) == (0, "erased again: nothing")
    with serving(database.url, tmp_path) as client:
        listed = client.get("/api/conversations").json()
        assert [one["id"] for one in listed["items"]] == [first["conversation_id"]]
    status = db("status", *at, "--json")
    assert status.code == 0
    assert json.loads(status.out)["counts"]["messages"] == 2


def test_the_schema_is_made_and_taken_away_only_on_purpose(database: Database) -> None:
    at = ("--database", database.url)
    assert db("status", *at).code == 1
    made = db("migrate", *at)
    assert (made.code, made.out) == (0, "up   0001 initial\n")
    assert db("migrate", *at).out == "The schema is up to date.\n"
    asyncio.run(filled(database))
    rows = database.rows()
    asked = db("migrate", "--to", 0, *at)
    assert (asked.code, database.rows()) == (2, rows)
    assert "--yes" in asked.complaint
    gone = db("migrate", "--to", 0, "--yes", *at)
    assert (gone.code, gone.out) == (0, "down 0001 initial\n")
    unknown = db("migrate", "--to", 77, *at)
    assert unknown.code == 1
    assert "no schema version 77" in unknown.complaint


def test_looking_at_a_database_that_does_not_exist_creates_none(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    at = ("--database", sqlite.path)
    status = db("status", *at)
    assert (status.code, status.err) == (1, "")
    assert "there is no database yet" in status.out
    for command in (("check",), ("check", "--repair"), ("backup", tmp_path / "backup")):
        done = db(*command, *at)
        assert done.code == 1
        assert "there is no database" in done.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_command_line_or_setting_is_told_apart(tmp_path: Path) -> None:
    assert db("backup").code == 2
    assert db("status", "--nonsense").code == 2
    assert db("migrate", "--to", "-1").code == 2
    wrong = db("status", "--database", "mysql://somewhere")
    assert wrong.code == 2
    assert "sqlite:///" in wrong.complaint
    settings = db("status", "--json", RECOLLECT_DATABASE=f"sqlite:///{tmp_path / 'set.db'}")
    assert json.loads(settings.out)["database"] == str(tmp_path / "set.db")


def test_what_cannot_be_done_is_said_in_one_line(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    asyncio.run(filled(sqlite))
    at = ("--database", sqlite.path)
    (tmp_path / "text").write_text("Dear diary")
    for command, said in (
        (("restore", tmp_path / "text"), "is not a backup"),
        (("restore", tmp_path / "nothing"), "there is no file"),
        (("backup", tmp_path / "text"), "--force"),
        (("backup", tmp_path / "no" / "folder"), "No such file"),
    ):
        done = db(*command, *at)
        assert (done.code, done.out) == (1, "")
        assert said in done.complaint


def test_damage_is_listed_with_what_to_do(sqlite: SqliteDatabase) -> None:
    asyncio.run(filled(sqlite))
    at = ("--database", sqlite.path)
    sqlite.execute("INSERT INTO message_terms (rowid, terms) VALUES (9999, 'stray')")
    sqlite.execute("UPDATE notes SET notes = 'other' WHERE user_id = 'alice'")
    found = db("check", *at)
    assert found.code == 1
    assert "notes acme/alice/assistant: does not match its checksum" in found.out
    assert "recollect db check --repair" in found.out
    repaired = db("check", "--repair", "--json", *at)
    assert repaired.code == 1
    assert [one["kind"] for one in json.loads(repaired.out)["damage"]] == ["row"]


def test_a_postgres_that_does_not_answer_is_said_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://someone:hunter2@/nothing?host={tmp_path}"
    for command in (("status",), ("check",), ("migrate",), ("backup", tmp_path / "backup")):
        done = db(*command, "--database", url)
        assert done.code == 1
        assert "hunter2" not in done.complaint
    assert list(tmp_path.iterdir()) == []


async def test_a_login_that_sees_only_its_own_rows_makes_no_backup(postgres: PostgresDatabase, tmp_path: Path) -> None:
    async with postgres.store() as store:
        await store.append(ALICE, sample.append("c1", "m1"))
    name = f"bound_{os.getpid()}"
    postgres.execute(
        f"CREATE ROLE {name} LOGIN NOBYPASSRLS; GRANT USAGE ON SCHEMA recollect TO {name}; "
        f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {name}"
    )
    url = postgres.url.replace("//postgres@", f"//{name}@")
    try:
        done = db("backup", tmp_path / "backup", "--database", url)
        assert done.code == 1
        assert "BYPASSRLS" in done.complaint
    finally:
        postgres.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
