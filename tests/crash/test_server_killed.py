"""The server is killed under load, again and again; clients ask again with their keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.retrying_clients import LOST, RetryingClients, check_nothing_lost_or_twice
from tests.support.server_process import served

CONVERSATIONS = [f"c{number}" for number in range(8)]
#: Work in the background is not what is proved here, and would only slow the clients down.
ENVIRON = {"RECOLLECT_JOBS_INSIDE": "false"}
#: Far more than is promised, since other tests run on the same machine.
READY_SECONDS = 30


@pytest.mark.spec("R2")
@pytest.mark.timeout(3 * 60 * 60)
def test_kills_under_load_lose_nothing_and_store_nothing_twice(
    tmp_path: Path, count: Callable[[int, int], int], seed: int
) -> None:
    rng = Random(seed)
    database = f"sqlite:///{tmp_path / 'r.db'}"
    address = "http://127.0.0.1:1"
    clients = RetryingClients(lambda: address, CONVERSATIONS)
    ready: list[float] = []
    with clients.at_work():
        for _ in range(count(8, 500)):
            began = time.monotonic()
            with served(database, tmp_path, ENVIRON) as opened:
                ready.append(time.monotonic() - began)
                address = str(opened.client.base_url).rstrip("/")
                clients.wait_for(rng.randrange(1, 20))
                opened.process.kill()
        with served(database, tmp_path, ENVIRON) as opened:
            address = str(opened.client.base_url).rstrip("/")
            clients.finish()
            check_nothing_lost_or_twice(opened.client, clients, CONVERSATIONS)
    assert clients.odd == []
    assert clients.statuses[LOST], "no request was under way when the server was killed"
    assert max(ready) < READY_SECONDS
    print(f"{len(ready)} kills, {clients.statuses}, ready again after {sorted(ready)[len(ready) // 2]:.2f} s")
