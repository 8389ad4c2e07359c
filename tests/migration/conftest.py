from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.databases import Database, PostgresDatabase, SqliteDatabase


@pytest.fixture
def sqlite(tmp_path: Path) -> SqliteDatabase:
    """Give a SQLite file that does not exist yet."""
    return SqliteDatabase(tmp_path / "recollect.db")


@pytest.fixture
def postgres(postgres_url: str) -> PostgresDatabase:
    """Give an empty Postgres database."""
    return PostgresDatabase(postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    """Give a database of each kind that holds nothing yet."""
    given: Database = request.getfixturevalue(request.param)
    return given
