"""A test run leaves no process and no file behind, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import redis

from tests.support.guard import processes_inside
from tests.support.servers import PostgresServer, RedisServer

SAMPLE = Path(__file__).parent / "samples" / "uses_servers.py"


def gone(folder: Path) -> bool:
    return not folder.exists() and not processes_inside(folder)


@pytest.mark.parametrize(
    ("end", "workers"),
    [("pass", "0"), ("fail", "2"), ("SIGINT", "0"), ("SIGINT", "2"), ("SIGTERM", "0"), ("SIGKILL", "2")],
)
def test_a_run_leaves_nothing_behind(end: str, workers: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider", str(SAMPLE)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ = inherited | {"SAMPLE_REPORT": str(report), "SAMPLE_END": end}
    done = subprocess.run(
        command, env=environ, cwd=SAMPLE.parents[3], capture_output=True, text=True, check=False, timeout=100
    )

    assert (done.returncode == 0) == (end == "pass"), done.stdout + done.stderr
    folder = Path(report.read_text().split()[0])
    assert folder.name.startswith("recollect-")
    # Only a run that was killed outright may end before its guard has cleaned up.
    deadline = time.monotonic() + (20 if end in {"SIGTERM", "SIGKILL"} else 0)
    while not gone(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(folder)


def test_each_test_gets_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert tables == (0,)
        connection.execute("CREATE EXTENSION vector")


def test_each_test_gets_an_empty_redis(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("key", "value")


def test_a_durable_postgres_keeps_a_commit_when_killed(start_postgres: Callable[..., PostgresServer]) -> None:
    server = start_postgres()
    with psycopg.connect(server.address.url(tcp=True)) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        connection.execute("CREATE TABLE kept (value int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    server.kill()
    assert not server.answers()
    server.start()
    with psycopg.connect(server.address.url()) as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (1,)
    server.stop()
    assert not processes_inside(server.folder)


def test_a_killed_redis_comes_back_empty_on_the_same_port(start_redis: Callable[[], RedisServer]) -> None:
    server = start_redis()
    with redis.Redis.from_url(server.url) as client:
        client.set("key", "value")
        server.kill()
        server.start()
        assert client.get("key") is None
