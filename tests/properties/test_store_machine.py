"""Every store does what the in-memory store does, whatever is done to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from recollect.ports.store import Store
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from tests.properties.store_machine import Open, StoreMachine

Count = Callable[[int, int], int]


def drive(open_store: Callable[[], Open], count: Count, *, durable: bool) -> None:
    """Run the machine on many stores; each example opens one of its own."""
    run_state_machine_as_test(
        lambda: StoreMachine(open_store(), durable=durable),  # type: ignore[arg-type]  # any factory will do
        settings=settings(
            max_examples=count(60, 3_000),
            stateful_step_count=count(50, 100),
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_sqlite_in_a_file_does_what_the_model_does(tmp_path: Path, count: Count) -> None:
    def open_store() -> Open:
        path = tmp_path / f"{uuid4().hex}.db"

        async def opened() -> Store:
            return SqlStore(await SqliteDriver.open(path))

        return opened

    drive(open_store, count, durable=True)


def test_sqlite_in_memory_does_what_the_model_does(count: Count) -> None:
    async def opened() -> Store:
        return SqlStore(await SqliteDriver.open(":memory:"))

    drive(lambda: opened, count, durable=False)
