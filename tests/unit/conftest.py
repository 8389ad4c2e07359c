"""What several of the unit tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.worker_bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.close()
