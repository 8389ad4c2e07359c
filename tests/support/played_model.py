"""A scripted model that plays in a thread of its own, for tests that talk to a server process over blocking calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.testing.models import ScriptedModelServer

#: Settings of a server whose model answers only what a test asks: no jobs, no second try, no pause after failures.
ALONE = {
    "RECOLLECT_MODEL_NAME": "small",
    "RECOLLECT_MODEL_MAX_RETRIES": "0",
    "RECOLLECT_MODEL_BREAKER_FAILURES": "1000",
    "RECOLLECT_JOBS_INSIDE": "false",
}


@contextmanager
def played_model() -> Iterator[ScriptedModelServer]:
    """Give a scripted model that runs until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    model = ScriptedModelServer()
    try:
        asyncio.run_coroutine_threadsafe(model.__aenter__(), loop).result(10)
        yield model
        assert model.errors == []
    finally:
        asyncio.run_coroutine_threadsafe(model.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
