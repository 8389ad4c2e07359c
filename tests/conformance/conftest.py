from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recollect.ports.store import Store
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    path = ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
    opened = SqlStore(await SqliteDriver.open(path))
    yield opened
    await opened.close()
