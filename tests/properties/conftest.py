"""Where properties of the whole service are proven: on SQLite in a file and on Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.storage.driver import Driver
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.sqlite import SqliteDriver
from tests.support.service_rig import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, count: Callable[[int, int], int]) -> Iterator[Place]:
    """Open a database for all examples of a test."""
    if request.param == "sqlite":
        url = str(tmp_path / "recollect.db")

        async def opened() -> Driver:
            return await SqliteDriver.open(url)
    else:
        url = str(request.getfixturevalue("postgres_url"))

        async def opened() -> Driver:
            return await PostgresDriver.open(url, PostgresOptions(pool_max=4))

    made = Place(opened, url, count(100, 1_000))
    yield made
    made.close()
