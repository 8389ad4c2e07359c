"""A database of each kind, and two servers on it for tests of erasure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.canary import Database, PostgresRows, SqliteFiles
from tests.support.erasure_scene import Scene, told


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "postgres":
        return PostgresRows(request.getfixturevalue("postgres_url"))
    (tmp_path / "data").mkdir()
    return SqliteFiles(tmp_path / "data" / "r.db")


@pytest.fixture
async def scene(
    database: Database, redis_url: str, seed: int, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Scene]:
    async with told(database, redis_url, seed, caplog) as scene:
        yield scene
