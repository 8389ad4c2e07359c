"""Cut the power of our own store at random moments of a busy life."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from recollect.storage import sqlite_writer
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.store import SqlStore
from tests.support.simulated_disk import SimulatedDisk
from tests.support.store_clients import Client, part_of
from tests.support.store_contents import PATH, check_file, check_index, open_image, read_contents

CLIENTS = 8
STEPS = 25
#: Cuts of one recorded life; another life costs as much as about a hundred cuts.
CUTS_PER_LIFE = 250

State = dict[str, list[Any]]


class Life:
    """Record what the clients of one store did, and what each had after each of its writes."""

    def __init__(self, seed: int) -> None:
        self.disk = SimulatedDisk("life")
        self.states: dict[str, list[State]] = {}
        self.done: Counter[str] = Counter()
        self._seed = seed

    async def live(self) -> None:
        driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=self.disk.name, check=False))
        store = SqlStore(driver)
        clients = [Client(store, number, Random(self._seed + number)) for number in range(CLIENTS)]
        await asyncio.gather(*(self._drive(driver, client) for client in clients))
        await store.close()

    async def _drive(self, driver: SqliteDriver, client: Client) -> None:
        async def now() -> State:
            contents = await driver.read(client.scope, lambda tx: read_contents(tx.connection))  # type: ignore[attr-defined]  # the SQLite transaction
            return part_of(contents, client.name)

        states = self.states[client.name] = [await now()]
        for _ in range(STEPS):
            self.done[await client.step()] += 1
            states.append(await now())
            self.disk.mark(client.name)

    def check(self, cut: int, rng: Random, *, deeply: bool) -> None:
        """Prove that the disk after this cut holds what was acknowledged, all of it, and at most one write more."""
        acked = Counter(self.disk.marks_before(cut))
        with self.disk.crash(cut, rng) as image:
            connection = open_image(image.name)
            try:
                contents = check_file(connection)
                if deeply:
                    check_index(connection, contents)
            finally:
                connection.close()
        for name, states in self.states.items():
            found = part_of(contents, name)
            allowed = states[acked[name] : acked[name] + 2]
            assert found in allowed, f"cut {cut}: {name} has neither write {acked[name]} nor the next"


@pytest.mark.spec("R1")
async def test_a_power_cut_loses_nothing_acknowledged_and_leaves_nothing_half_done(
    seed: int, count: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A short WAL makes a short life meet many checkpoints.
    monkeypatch.setattr(sqlite_writer, "CHECKPOINT_PAGES", 60)
    rng = Random(seed)
    cuts = 0
    done: Counter[str] = Counter()
    while cuts < count(1_000, 10_000):
        life = Life(rng.randrange(2**32))
        with life.disk:
            await life.live()
            assert life.disk.counts["sync"] < 2 * CLIENTS * STEPS
            for cut in life.disk.random_cuts(CUTS_PER_LIFE, rng):
                life.check(cut, rng, deeply=cuts % 10 == 0)
                cuts += 1
        done += life.done
    print(f"seed {seed}: {cuts} cuts, {done.total()} writes {dict(done)}")
    assert len(done) == 14
