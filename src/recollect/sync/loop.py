"""One private event loop in a thread of its own, for callers that block.

It knows nothing of what runs on it; `blocking.py` decides what is called here.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures.thread import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Generic, ParamSpec, TypeVar

from recollect.errors import StorageUnavailableError

P = ParamSpec("P")
R = TypeVar("R")


class LoopThread:
    """An event loop that any thread may wait on, also one that runs another loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._process = os.getpid()
        self._closers: list[Callable[[], Awaitable[object]]] = []
        self._closed = False
        #: Held while a call is handed over, so that no call comes after the end.
        self._handing_over = threading.Lock()
        #: Held while one caller closes; others wait for it.
        self._closing = threading.Lock()
        self._executor = ThreadPoolExecutor(thread_name_prefix="recollect-sync-worker")
        self._loop.set_default_executor(self._executor)
        # Python 3.12 starts no thread at interpreter exit, and closing a store needs one: so one waits from the start.
        self._executor.submit(int).result()
        self._thread = threading.Thread(target=self._serve, name="recollect-sync", daemon=True)
        self._thread.start()
        _open.add(self)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._until_stopped())
        self._loop.close()

    async def _until_stopped(self) -> None:
        await self._stop.wait()
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def call(self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run an asynchronous function on the loop, and wait for its result or raise its error.

        A keyboard interrupt cancels this call and nothing else.
        """
        self._refuse_own_thread()
        if os.getpid() != self._process:
            raise StorageUnavailableError("this was opened before a fork; open it again in this process")
        call = _Call(partial(function, *args, **kwargs))
        # An interrupt may come at any line from here on, also before there is something to wait for.
        try:
            self._hand_over(call.start)
            return call.outcome.result()
        except CancelledError:
            raise StorageUnavailableError("this was closed before the call ended") from None
        finally:
            if not call.outcome.done():
                with suppress(StorageUnavailableError):
                    self._hand_over(call.stop)

    def _hand_over(self, callback: Callable[[], None]) -> None:
        with self._handing_over:
            if self._closed:
                raise StorageUnavailableError("this is closed")
            self._loop.call_soon_threadsafe(callback)

    def close_first(self, closer: Callable[[], Awaitable[object]]) -> None:
        """Have an asynchronous function run before the loop ends; the last one given runs first."""
        self._closers.append(closer)

    def close(self) -> None:
        """Run what is to be closed first, cancel what still runs, and end the thread; again does nothing."""
        if os.getpid() != self._process:
            return
        self._refuse_own_thread()
        with self._closing:
            if self._closed:
                return
            try:
                while self._closers:
                    self.call(self._closers.pop())
            finally:
                self._end()

    def _end(self) -> None:
        with self._handing_over:
            self._closed = True
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._executor.shutdown()
        _open.discard(self)

    def _refuse_own_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call on its own loop would wait for itself; await the asynchronous method")


class _Call(Generic[R]):
    """One call on the loop, which its caller can end at any time."""

    def __init__(self, function: Callable[[], Awaitable[R]]) -> None:
        self.outcome: Future[R] = Future()
        self._function = function
        self._task: asyncio.Task[R] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._settle)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> R:
        return await self._function()

    def _settle(self, task: asyncio.Task[R]) -> None:
        if task.cancelled():
            self.outcome.cancel()
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


_open: set[LoopThread] = set()


def _close_all() -> None:
    with ExitStack() as all_of_them:
        for loop in list(_open):
            all_of_them.callback(loop.close)


# At interpreter exit executors stop before `atexit` runs, and closing a store needs them: so close before they do.
# What is registered last runs first, hence the import of concurrent.futures.thread above.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # there is no public name for it
