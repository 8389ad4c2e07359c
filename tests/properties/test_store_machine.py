"""Every store does what the in-memory store does, whatever is done to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count as numbers
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from recollect.bootstrap import new_id, system_clock
from recollect.cache.local import LocalWindows
from recollect.cache.redis import RedisWindows
from recollect.cache.redis_link import RedisLimits
from recollect.ports.store import Store
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from tests.properties.store_machine import StoreMachine

Count = Callable[[int, int], int]
#: On a busy machine a run takes minutes, and Hypothesis would take an interruption for a finding.
pytestmark = pytest.mark.timeout(600)
IDLE = timedelta(hours=24)


def drive(machine: Callable[[], StoreMachine], runs: int) -> None:
    """Run the machine often and briefly: of a long run Hypothesis makes six of seven examples by varying others.

    The first example of each run is the empty one, the second is new.
    """
    for _ in range(runs):
        run_state_machine_as_test(
            machine,  # type: ignore[arg-type]  # any factory will do
            settings=settings(
                max_examples=2, stateful_step_count=100, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )


def test_sqlite_in_a_file_does_what_the_model_does(tmp_path: Path, count: Count) -> None:
    files = (tmp_path / f"{number}.db" for number in numbers())

    def machine() -> StoreMachine:
        path = next(files)

        async def opened() -> Store:
            return SqlStore(await SqliteDriver.open(path))

        return StoreMachine(opened, durable=True)

    drive(machine, count(25, 2_000))


def test_sqlite_in_memory_does_what_the_model_does(count: Count) -> None:
    async def opened() -> Store:
        return SqlStore(await SqliteDriver.open(":memory:"))

    drive(lambda: StoreMachine(opened, durable=False), count(40, 2_000))


# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
def test_postgres_does_what_the_model_does(postgres_url: str, count: Count) -> None:
    places = (f"{number}-" for number in numbers())

    async def opened() -> Store:
        return SqlStore(await PostgresDriver.open(postgres_url, PostgresOptions(pool_max=2)))

    drive(lambda: StoreMachine(opened, durable=True, place=next(places)), count(12, 1_000))


def test_sqlite_with_windows_does_what_the_model_does(tmp_path: Path, count: Count) -> None:
    files = (tmp_path / f"{number}.db" for number in numbers())

    def machine() -> StoreMachine:
        path = next(files)

        async def opened() -> Store:
            driver = await SqliteDriver.open(path)
            # Few enough that some are dropped while they are used.
            windows = LocalWindows(mark=driver.mark, clock=system_clock, max_conversations=3, idle=IDLE)
            return SqlStore(driver, windows)

        return StoreMachine(opened, durable=True)

    drive(machine, count(5, 1_000))


@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
def test_postgres_with_a_redis_does_what_the_model_does(postgres_url: str, redis_url: str, count: Count) -> None:
    places = (f"{number}-" for number in numbers())
    limits = RedisLimits(timeout=timedelta(seconds=30))

    async def opened() -> Store:
        driver = await PostgresDriver.open(postgres_url, PostgresOptions(pool_max=2))
        return SqlStore(driver, RedisWindows(redis_url, idle=IDLE, new_id=new_id, limits=limits))

    drive(lambda: StoreMachine(opened, durable=True, place=next(places)), count(3, 500))
