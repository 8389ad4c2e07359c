"""A scripted model server on a thread of its own, for tests that wait for a server process in the usual way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from recollect.ports.chat_model import ModelRequest
from recollect.testing.models import ScriptedModelServer, ScriptedReply

T = TypeVar("T")


class ModelThread:
    """The server, and the thread that it answers on."""

    def __init__(self, server: ScriptedModelServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop

    @property
    def environ(self) -> dict[str, str]:
        """Return the settings of a server of ours that asks this model for chat alone."""
        return {
            "RECOLLECT_MODEL_URL": f"{self._server.url}/v1",
            "RECOLLECT_MODEL_MAX_RETRIES": "0",
            # Titles, summaries and extraction would take replies out of the script.
            "RECOLLECT_JOBS_INSIDE": "false",
        }

    def script(self, *replies: ScriptedReply) -> None:
        """Answer the next requests with these, then with the user's own words."""
        self._call(lambda: self._server.script(*replies))

    @property
    def asked(self) -> list[ModelRequest]:
        """Return all that was asked, in order."""
        return [one.request for one in self._server.seen if one.request is not None]

    def prompt(self) -> str:
        """Return all that the model was told last."""
        last = self.asked[-1]
        return "\n".join((last.system, *(message.text for message in last.messages)))

    def wait_asked(self, times: int) -> None:
        """Wait until it was asked so often in all."""
        asyncio.run_coroutine_threadsafe(self._server.all_seen(times), self._loop).result(60)

    def wait_closed(self) -> None:
        """Wait until nobody is connected."""
        asyncio.run_coroutine_threadsafe(self._server.all_closed(), self._loop).result(30)

    def _call(self, work: Callable[[], None]) -> None:
        async def run() -> None:
            work()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)


@contextmanager
def scripted_model() -> Iterator[ModelThread]:
    """Run a server; whatever it did not understand fails the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    server = ScriptedModelServer()
    run(server.__aenter__())
    try:
        yield ModelThread(server, loop)
    finally:
        run(server.__aexit__(None, None, None))
        run(_settled())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
    assert server.errors == []


async def _settled() -> None:
    """Wait for what the server began and did not end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
