"""A run that uses every server, for `test_servers.py` to end in every way; not collected by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis

from tests.support.run_folder import RunFolder
from tests.support.servers import PostgresServer


def test_it_ends_as_told(
    run_folder: RunFolder,
    postgres_url: str,
    redis_url: str,
    start_postgres: Callable[..., PostgresServer],
) -> None:
    server = start_postgres(durable=False)
    with psycopg.connect(postgres_url) as connection, redis.Redis.from_url(redis_url) as client:
        connection.execute("CREATE EXTENSION vector")
        client.set("key", "value")
        Path(os.environ["SAMPLE_REPORT"]).write_text(f"{run_folder.path} {server.pid}")
        end = os.environ["SAMPLE_END"]
        if end == "fail":
            raise AssertionError
        if end != "pass":
            main_process = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
            os.kill(main_process, signal.Signals[end])
