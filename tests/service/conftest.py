"""The whole service on a store in memory, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from recollect import bootstrap
from recollect.cache.local import LocalWindows
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import FakeClock

#: Put a service together with these settings; its worker is not started.
Make = Callable[..., Recollect]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["inmemory", "sqlite"])
async def make(request: pytest.FixtureRequest, clock: FakeClock) -> AsyncIterator[Make]:
    opened: list[Recollect] = []
    driver = await SqliteDriver.open(":memory:")
    windows = LocalWindows(mark=driver.mark, clock=clock, max_conversations=100, idle=Settings().sessions.timeout)
    store = InMemoryStore() if request.param == "inmemory" else SqlStore(driver, windows)

    def made(**flags: Any) -> Recollect:
        named = {name.replace("__", "."): value for name, value in flags.items()}
        settings = Settings.load({"jobs.debounce_seconds": 0, **named}, {})
        opened.append(bootstrap.assemble(store, settings, clock))
        return opened[-1]

    yield made
    for service in opened:
        await service.close()
    await driver.close()


@pytest.fixture
def service(make: Make) -> Recollect:
    return make()
