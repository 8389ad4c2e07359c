"""The one writer of a SQLite file: concurrent writes share a commit, each is acknowledged only after it.

Writes that arrive together, or while a commit runs, form the next batch; each runs in a savepoint of its own.
On a quick disk a small batch runs where it was asked for: a hop to a thread and back costs as much as the commit,
and a thread waits for its turn while others compute.
On another disk only its statements do, since a thread would wait for its turn after each; the thread then commits.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import apsw

from recollect.errors import StorageError, StorageUnavailableError
from recollect.storage.driver import Work
from recollect.storage.migrations.sqlite import prepare
from recollect.storage.pending_write import PendingWrite
from recollect.storage.sqlite_connection import (
    DAMAGED,
    PASSING,
    SqliteTransaction,
    casts_doubt,
    closed_on_failure,
    translated,
)
from recollect.storage.sqlite_scrubber import Progress, Scrubber

T = TypeVar("T")
#: Errors after which nothing of a transaction can be trusted.
_FILE_FAILED = (*PASSING, *DAMAGED)
_log = logging.getLogger(__name__)

#: Pages in the WAL after which it is written back to the file.
CHECKPOINT_PAGES = 2_000
#: A batch no longer than this keeps the first of its writers waiting only briefly.
MAX_BATCH = 256
#: A batch of several writers is a sign that more will come: this many batches of one end the expectation.
COMPANY = 8
#: Turns of the loop for which a batch waits for company: about as many as one who was answered takes to write again.
#: They take long only if others work meanwhile.
TURNS = 4
#: How long a scrub may keep writers waiting for other users of the file.
SCRUB_WAIT_MS = 200
#: Commits slower than this are never run on the event loop.
QUICK_COMMIT = 0.002
#: Batches whose statements take longer than this, as those before them did, are not run on the event loop.
QUICK_BATCH = 0.005


class SqliteWriter:
    """Run writes in batches on one connection; used from one event loop."""

    def __init__(self, connect: Callable[[], apsw.Connection], can_write: Callable[[], bool], busy_ms: int) -> None:
        self._connect = connect
        self._can_write = can_write
        self._busy_ms = busy_ms
        self._loop = asyncio.get_running_loop()
        self._pending: list[PendingWrite] = []
        self._flushing = False
        self._busy = False
        self._closed = False
        self._broken = False
        #: Whether the lock may be held although no write is under way.
        self.is_checkpointing = False
        #: Whether to open the file again once it can be written: while its disk was read-only it was opened for reading
        #: alone, and a search index that could not read a page goes on with half of what it knew.
        self._is_doubtful = False
        self._lone = False
        #: How many lone batches must follow until a writer counts as lone again.
        self._company = 0
        self._drained: asyncio.Future[None] | None = None
        self._commit_time = 0.0
        #: About how long the statements of one write take.
        self._work_time = 0.0
        self._wal_pages = 0
        #: Whether erased words may be in the files; at first a process that was killed may have left some.
        self._unscrubbed = True
        #: Held by whoever uses the connection.
        self.lock = threading.Lock()
        self._tx = self._open()
        #: Batches, and whether their statements have run, so that only the commit is left and the lock is held.
        self._batches: queue.SimpleQueue[tuple[list[PendingWrite], bool] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="recollect-writer", daemon=True)
        self._thread.start()

    @property
    def tx(self) -> SqliteTransaction:
        """The transaction on the writer's connection; hold the lock to use it."""
        return self._tx

    def _open(self) -> SqliteTransaction:
        connection = self._connect()
        with closed_on_failure(connection):
            self._scrubber = Scrubber(connection)
            connection.set_wal_hook(self._committed)
            return SqliteTransaction(connection, prepare(connection))

    def _committed(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._wal_pages = pages
        self._scrubber.committed()
        return apsw.SQLITE_OK

    async def write(self, work: Work[T]) -> T:
        """Run the work and return its result once it is durable.

        A cancelled caller does not stop the work: it is committed or not, as a whole.
        """
        if self._closed:
            raise StorageUnavailableError("the store is closed")
        write = PendingWrite(work)
        if self._is_lone() and self._run_here([write]):
            self._lone = True
            try:
                # Others get their turn, and a second writer in this turn of the loop is seen as company.
                await asyncio.sleep(0)
            finally:
                self._lone = False
            if write.error is not None:
                raise write.error
            result: T = write.result
            return result
        future: asyncio.Future[T] = self._loop.create_future()
        write.future = future
        self._pending.append(write)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._gather, TURNS if self._company else 0)
        return await future

    def _is_lone(self) -> bool:
        """Tell whether nobody else writes, so that there is nobody to share a commit with."""
        return not (self._pending or self._busy or self._lone or self._company) and self._is_quick()

    def _gather(self, turns: int) -> None:
        """Start the next batch after so many turns of the loop."""
        self._flushing = True
        if turns and len(self._pending) < MAX_BATCH:
            self._loop.call_soon(self._gather, turns - 1)
        else:
            self._flush()

    def _flush(self) -> None:
        """Start the next batch, unless one runs; its end calls this again."""
        self._flushing = False
        if self._busy or not self._pending:
            return
        batch, self._pending = self._pending[:MAX_BATCH], self._pending[MAX_BATCH:]
        self._company = COMPANY if len(batch) > 1 else max(0, self._company - 1)
        if self._is_quick() and (len(batch) == 1 or self._is_small(batch)) and self._run_here(batch):
            self._settle(batch)
            return
        if not self._is_small(batch) or not self._begin_here():
            self._busy = True
            self._batches.put((batch, False))
        elif self._tried(self._run_statements, batch):
            self._busy = True
            self._batches.put((batch, True))
        else:
            self.lock.release()
            self._settle(batch)

    def _run_here(self, batch: list[PendingWrite]) -> bool:
        """Run the batch without a thread, unless that would mean to wait for another user of the file."""
        if not self._begin_here():
            return False
        try:
            self._run(batch)
        finally:
            self.lock.release()
        return True

    def _begin_here(self) -> bool:
        """Take the lock and begin a transaction, unless that would mean to wait."""
        if self._broken or self._is_doubtful or not self.lock.acquire(blocking=False):
            return False
        connection = self._tx.connection
        try:
            connection.set_busy_timeout(0)
            try:
                connection.execute("BEGIN IMMEDIATE")
            finally:
                connection.set_busy_timeout(self._busy_ms)
        except BaseException as exc:  # whatever it is, the lock must not stay taken
            self.lock.release()
            if isinstance(exc, apsw.Error):
                return False
            raise
        return True

    def _is_small(self, batch: list[PendingWrite]) -> bool:
        """Tell whether the loop may run the statements: soon done, and not while the thread waits for the lock."""
        is_thread_free = not self.is_checkpointing and not self._wants_checkpoint()
        return is_thread_free and self._work_time * len(batch) < QUICK_BATCH

    def _is_quick(self) -> bool:
        return self._commit_time < QUICK_COMMIT and not self._wants_checkpoint()

    def _wants_checkpoint(self) -> bool:
        return self._unscrubbed or self._wal_pages >= CHECKPOINT_PAGES

    def _serve(self) -> None:
        while (given := self._batches.get()) is not None:
            batch, has_run = given
            if not has_run:
                self.lock.acquire()
            try:
                if has_run:
                    self._tried(self._commit, batch)
                else:
                    self._run(batch)
            finally:
                self.lock.release()
            self.is_checkpointing = self._wants_checkpoint()
            self._loop.call_soon_threadsafe(self._settle, batch)
            if self.is_checkpointing:
                self._checkpoint()
                self.is_checkpointing = False

    def _settle(self, batch: list[PendingWrite]) -> None:
        self._busy = False
        for write in batch:
            write.settle()
        if self._pending and not self._flushing:
            self._gather(TURNS)
        elif not self._pending and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def _run(self, batch: list[PendingWrite]) -> None:
        """Run the batch in one transaction; after a failure of the file no write of it counts as done."""
        if self._broken or (self._is_doubtful and self._can_write()):
            self._reopen()
        if self._tried(self._run_statements, batch):
            self._tried(self._commit, batch)

    def _tried(self, step: Callable[[list[PendingWrite]], None], batch: list[PendingWrite]) -> bool:
        """Take a step; if it fails, every write of the batch fails with it, and the writer goes on."""
        try:
            step(batch)
        except apsw.Error as exc:
            error = translated(exc)
            error.__cause__ = exc
            self._fail(batch, error)
            return False
        except BaseException as exc:  # noqa: BLE001  # the caller gets whatever its work raised; the writer goes on
            self._fail(batch, exc)
            return False
        return True

    def _run_statements(self, batch: list[PendingWrite]) -> None:
        # Not what a thread waits for its turn, which would keep the statements with it for good.
        started = time.thread_time()
        self._run_together(batch)
        self._tx.write_index()
        took = (time.thread_time() - started) / len(batch)
        self._work_time += (took - self._work_time) / 8

    def _commit(self, batch: list[PendingWrite]) -> None:
        started = time.perf_counter()
        self._tx.connection.execute("COMMIT")
        took = time.perf_counter() - started
        self._commit_time += (took - self._commit_time) / 8

    def _run_together(self, batch: list[PendingWrite]) -> None:
        """Run the works one after the other; if one refuses, start again with a savepoint for each.

        Savepoints cost a tenth of a small write, and refusals are rare.
        """
        connection = self._tx.connection
        if not connection.in_transaction:
            connection.execute("BEGIN IMMEDIATE")
        try:
            for write in batch:
                write.result = write.work(self._tx)
        except _FILE_FAILED:
            raise
        except Exception:  # some work refused its input: the others must not fail with it
            if len(batch) == 1:
                raise
            self._tx.back_to(0)
            connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                self._run_in_savepoint(write)

    def _run_in_savepoint(self, write: PendingWrite) -> None:
        execute, mark = self._tx.connection.execute, self._tx.mark()
        execute("SAVEPOINT work")
        try:
            write.result = write.work(self._tx)
        except _FILE_FAILED:
            raise
        except apsw.Error as exc:
            write.error = translated(exc)
            write.error.__cause__ = exc
        except Exception as exc:  # noqa: BLE001  # the work refused its input; the others of the batch go on
            write.error = exc
        if write.error is not None:
            execute("ROLLBACK TO work")
            self._tx.back_to(mark)
        execute("RELEASE work")

    def _fail(self, batch: list[PendingWrite], error: BaseException) -> None:
        for write in batch:
            write.error = write.error or error
        self._is_doubtful = self._is_doubtful or casts_doubt(error.__cause__)
        self._tx.back_to(0)
        try:
            if self._tx.connection.in_transaction:
                self._tx.connection.execute("ROLLBACK")
        except apsw.Error:
            self._reopen()

    def _reopen(self) -> None:
        """Replace a connection that cannot be used any more; a later write tries again."""
        self._broken, self._is_doubtful = True, False
        try:
            self._tx.connection.close(True)
            self._tx = self._open()
            self._broken = False
        except (apsw.Error, StorageError) as exc:
            _log.warning("the database file cannot be reopened yet: %s", type(exc).__name__)

    def _checkpoint(self) -> None:
        """Write the WAL back to the file as far as readers allow; what fails is tried again after later writes."""
        try:
            if self._unscrubbed:
                self.scrub()
            else:
                self._write_back()
        except apsw.Error as exc:
            _log.warning("the WAL cannot be written back yet: %s", type(exc).__name__)
            self._wal_pages = 0

    def _write_back(self) -> None:
        with self.lock:
            connection = self._tx.connection
            connection.set_busy_timeout(0)
            try:
                pages, done = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                self._scrubber.note(pages)
            except apsw.BusyError:
                return
            finally:
                connection.set_busy_timeout(self._busy_ms)
        self._wal_pages = 0 if pages == done else pages - CHECKPOINT_PAGES // 2

    def scrub(self, *, erased: bool = False) -> Progress:
        """Take one step to remove erased words from the WAL and the file; say first that something was erased.

        A step waits briefly for other users of the file; what they stand in the way of is tried again after each
        write.
        """
        with self.lock:
            if erased:
                self._unscrubbed = True
                self._scrubber.ask()
            connection = self._tx.connection
            connection.set_busy_timeout(min(SCRUB_WAIT_MS, self._busy_ms))
            try:
                progress = self._scrubber.step()
            finally:
                connection.set_busy_timeout(self._busy_ms)
            if progress != "blocked":
                self._wal_pages = 0
            if progress == "done":
                self._unscrubbed = False
        return progress

    def wait(self) -> None:
        """Block until nobody holds the lock."""
        with self.lock:
            pass

    async def close(self) -> None:
        """Finish every accepted write, then stop."""
        self._closed = True
        if self._pending or self._busy:
            self._drained = self._loop.create_future()
            await self._drained
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)
        with self.lock:
            self._tx.connection.close(True)
