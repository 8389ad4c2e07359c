from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from recollect.storage.postgres import PostgresDriver
from recollect.storage.store import SqlStore


@pytest.fixture
async def postgres_driver(postgres_url: str) -> AsyncIterator[PostgresDriver]:
    """Open a fresh Postgres database."""
    driver = await PostgresDriver.open(postgres_url)
    yield driver
    await driver.close()


@pytest.fixture
def postgres_store(postgres_driver: PostgresDriver) -> SqlStore:
    """Give the store over the same database; the driver closes it."""
    return SqlStore(postgres_driver)
