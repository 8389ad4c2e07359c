"""`recollect doctor` finds what is wrong, says what to do, and tells scripts by its exit code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.diagnosis import CHECKS, Finding, findings
from recollect.settings import Settings
from recollect.storage.sqlite_maintenance import SqliteMaintenance
from tests.support.server_process import clean_environ


def settings_of(folder: Path, environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return Settings.load({"storage.database": str(folder / "a.db"), **named}, environ=environ or {})


def found(settings: Settings) -> dict[str, Finding]:
    return {one.check: one for one in findings(settings)}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    for _ in SqliteMaintenance(path).migrate(None):
        pass
    return path


def examined(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "recollect", "doctor", "--database", str(folder / "a.db"), *arguments]
    ended = subprocess.run(  # noqa: PLW1510  # the exit code is what is looked at
        command, cwd=folder, env=clean_environ(), capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stdout


def test_a_sound_machine_is_told_so(database: Path) -> None:
    code, told = examined(database.parent)
    assert code == 0
    assert "All is well." in told
    assert all(name in told for name in CHECKS)


def test_scripts_get_json_and_an_exit_code(database: Path) -> None:
    database.chmod(0o644)
    code, told = examined(database.parent, "--json")
    report: dict[str, Any] = json.loads(told)
    assert code == 1
    assert report["sound"] is False
    wrong = [one for one in report["findings"] if one["state"] == "problem"]
    assert [one["check"] for one in wrong] == ["permissions"]
    assert wrong[0]["fix"].startswith("chmod 600 ")


def test_looking_changes_nothing(tmp_path: Path) -> None:
    assert found(settings_of(tmp_path))["database"].state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_others_can_read_is_a_problem(database: Path) -> None:
    assert found(settings_of(database.parent))["permissions"].state == "ok"
    database.chmod(0o640)
    assert found(settings_of(database.parent))["permissions"].state == "warning"
    database.chmod(0o604)
    assert found(settings_of(database.parent))["permissions"].state == "problem"


def test_a_damaged_file_is_a_problem(database: Path) -> None:
    whole = bytearray(database.read_bytes())
    for page in range(3, len(whole) // 4096):
        whole[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    database.write_bytes(whole)
    states = {check: one.state for check, one in found(settings_of(database.parent)).items()}
    assert "problem" in {states.get("integrity"), states["database"]}


def test_what_is_no_database_is_a_problem_and_the_other_checks_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"nothing of the kind" * 500)
    report = found(settings_of(tmp_path))
    assert report["database"].state == "problem"
    assert report["clock"].state == "ok"


def test_a_postgres_is_examined_too(postgres_url: str, tmp_path: Path) -> None:
    report = found(Settings.load({"storage.database": postgres_url}, environ={}))
    assert report["database"].state == "ok"
    assert report["clock"].state == "ok"
    away = postgres_url.replace("port=", "port=1")
    report = found(Settings.load({"storage.database": away}, environ={}))
    assert (report["database"].state, report["clock"].state) == ("problem", "problem")


def test_a_redis_that_answers_and_one_that_does_not(redis_url: str, tmp_path: Path) -> None:
    assert found(settings_of(tmp_path, redis_url=redis_url))["redis"].state == "ok"
    away = found(settings_of(tmp_path, redis_url="redis://:hunter2@127.0.0.1:1/0"))["redis"]
    assert away.state == "problem"
    assert "hunter2" not in away.detail


def test_a_model_is_reached_without_being_asked_anything(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(10)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        assert found(settings_of(tmp_path, model__url=url))["model"].state == "ok"
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(1024) == b""
    assert found(settings_of(tmp_path, model__url=url))["model"].state == "problem"
    lacking = found(settings_of(tmp_path, model__kind="openai"))["model"]
    assert (lacking.state, "OPENAI_API_KEY" in lacking.detail) == ("problem", True)


def test_an_embedder_that_cannot_be_loaded_is_a_problem(tmp_path: Path) -> None:
    report = found(settings_of(tmp_path, embedding__kind="onnx", embedding__path=str(tmp_path / "nowhere")))
    assert report["embedder"].state == "problem"


def test_settings_that_fell_back_and_names_that_nobody_can_use_are_warnings(tmp_path: Path) -> None:
    report = found(settings_of(tmp_path, environ={"RECOLLECT_HISTORY_THRESHOLD": "many"}))
    assert report["settings"].state == "warning"
    assert report["auth"].state == "ok"
    open_wide: dict[str, Any] = {"server__host": "0.0.0.0", "auth__mode": "token"}
    assert found(settings_of(tmp_path, **open_wide))["auth"].state == "warning"
    named = found(settings_of(tmp_path, **open_wide, server__allowed_hosts="memory.example.com"))
    assert named["auth"].state == "ok"
