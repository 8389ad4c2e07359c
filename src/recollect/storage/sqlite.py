"""SQLite: one file, one writer with group commit, readers that never wait for it.

Several processes may open one file; what needs the file for itself takes the lock beside it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw
import msgspec

from recollect.domain.scope import Scope
from recollect.errors import StorageUnavailableError
from recollect.storage.driver import Work, id_of_database
from recollect.storage.sqlite_connection import SqliteTransaction, can_write, connect, our_errors, translated
from recollect.storage.sqlite_integrity import Integrity, IntegrityCheck
from recollect.storage.sqlite_lock import FileLock
from recollect.storage.sqlite_writer import SqliteWriter

T = TypeVar("T")
MEMORY = ":memory:"
#: Seconds between attempts to scrub while a reader keeps old pages; others write meanwhile.
_SCRUB_PAUSES = (0.001, 0.01, 0.05, 0.2, 0.5, 1.0, 1.0)


class SqliteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to open a file."""

    busy_ms: int = 5_000
    readers: int = 4
    #: The name of a registered virtual file system; it has no shared memory, so one connection does everything.
    vfs: str | None = None
    #: Check the file in the background once it is open.
    check: bool = True


class SqliteDriver:
    """A SQLite file, or a database in memory, opened."""

    def __init__(self, path: str, options: SqliteOptions, lock: FileLock | None) -> None:
        self._path = path
        self._options = options
        self._lock = lock
        self._closed = False
        self._alone = path == MEMORY or options.vfs is not None
        with our_errors():
            self._writer = SqliteWriter(self._connect, self._can_write, options.busy_ms)
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._inline: SqliteTransaction | None = None
        self._pool = ThreadPoolExecutor(options.readers, thread_name_prefix="recollect-reader")
        self._check = IntegrityCheck(self._borrowed if options.check and path != MEMORY else None)

    @classmethod
    async def open(cls, path: str | Path, options: SqliteOptions | None = None) -> SqliteDriver:
        """Open the file, creating it and its tables if it is new."""
        options = options or SqliteOptions()
        name = str(path)
        lock = None
        if name != MEMORY and options.vfs is None:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock.shared(Path(name))
        try:
            return cls(name, options, lock)
        except BaseException:  # the lock must not outlive a failed opening
            if lock is not None:
                lock.release()
            raise

    def _connect(self) -> apsw.Connection:
        return connect(
            self._path, vfs=self._options.vfs, busy_ms=self._options.busy_ms, exclusive=self._options.vfs is not None
        )

    def _can_write(self) -> bool:
        return can_write(self._path, self._options.vfs)

    @property
    def integrity(self) -> Integrity:
        """Tell what the check of the file has found so far."""
        return self._check.result

    async def checked(self) -> Integrity:
        """Return what the check of the file found, once it has ended."""
        return await asyncio.to_thread(self._check.wait)

    @contextmanager
    def _borrowed(self) -> Iterator[apsw.Connection]:
        """Give a connection to look at the whole file with."""
        if self._alone:
            with self._writer.lock:
                yield self._writer.tx.connection
            return
        connection = self._connect()
        try:
            connection.pragma("query_only", "on")
            yield connection
        finally:
            connection.close(True)

    async def write(self, scope: Scope, work: Work[T]) -> T:
        """Run the work in one transaction and return only when it is durable."""
        return await self._writer.write(work)

    async def write_any(self, work: Work[T]) -> T:
        """Run work that belongs to no scope."""
        return await self._writer.write(work)

    async def read_any(self, work: Work[T]) -> T:
        """Run quick work that belongs to no scope."""
        return await self.read(Scope(), work, quick=True)

    async def read(self, scope: Scope, work: Work[T], *, quick: bool = False) -> T:
        """Run the work on one consistent snapshot, on the event loop if it is quick."""
        if self._closed:
            raise StorageUnavailableError("the store is closed")
        if self._alone:
            return await self._read_alone(work)
        if quick:
            reader = self._inline_reader()
            try:
                return self._snapshot(reader, work)
            except apsw.BusyError:
                pass  # another process recovers the file: wait for it in a thread
            except apsw.Error as exc:
                self._inline = None
                self._discard(reader)
                raise translated(exc) from exc
        return await self._in_thread(self._read_in_thread, work)

    async def _in_thread(self, function: object, work: Work[T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, function, work)  # type: ignore[arg-type]  # same T

    async def _read_alone(self, work: Work[T]) -> T:
        if self._writer.lock.acquire(blocking=False):
            try:
                with our_errors():
                    return self._snapshot(self._writer.tx, work)
            finally:
                self._writer.lock.release()
        return await self._in_thread(self._read_locked, work)

    def _read_locked(self, work: Work[T]) -> T:
        with self._writer.lock, our_errors():
            return self._snapshot(self._writer.tx, work)

    def _read_in_thread(self, work: Work[T]) -> T:
        with our_errors():
            tx = getattr(self._local, "tx", None)
            if tx is None:
                tx = self._local.tx = self._reader()
            try:
                return self._snapshot(tx, work)
            except apsw.Error:
                self._local.tx = None
                self._discard(tx)
                raise

    def _inline_reader(self) -> SqliteTransaction:
        if self._inline is None:
            with our_errors():
                self._inline = self._reader()
            self._inline.connection.set_busy_timeout(0)
        return self._inline

    def _reader(self) -> SqliteTransaction:
        connection = self._connect()
        connection.pragma("query_only", "on")
        self._opened.append(connection)
        return SqliteTransaction(connection, self._writer.tx.salt)

    def _discard(self, reader: SqliteTransaction) -> None:
        """Give up a connection that failed; the next read opens another."""
        self._opened.remove(reader.connection)
        reader.connection.close(True)

    def _snapshot(self, tx: SqliteTransaction, work: Work[T]) -> T:
        execute = tx.connection.execute
        execute("BEGIN")
        try:
            return work(tx)
        finally:
            if tx.connection.in_transaction:
                execute("COMMIT")

    @property
    def database_id(self) -> str:
        """Tell this database from any other, whatever address it is reached by."""
        return id_of_database(self._writer.tx.salt)

    def mark(self) -> object | None:
        """Return SQLite's own count of the commits of other connections; None while the writer is busy."""
        if self._closed or not self._writer.lock.acquire(blocking=False):
            return None
        try:
            tx = self._writer.tx
            # The count belongs to the connection, which may have been opened again.
            return tx, tx.connection.execute("PRAGMA data_version").fetchall()
        except apsw.Error:
            return None
        finally:
            self._writer.lock.release()

    async def settled_mark(self) -> object | None:
        """Return the mark once the log is written back, if that is why there was none."""
        if not self._writer.is_checkpointing:
            return None
        await asyncio.to_thread(self._writer.wait)
        return self.mark()

    async def scrub(self) -> None:
        """Cut the WAL and zero what pages do not use, so that erased words are in neither file."""
        pauses = iter(_SCRUB_PAUSES)
        with our_errors():
            progress = await asyncio.to_thread(self._writer.scrub, erased=True)
            while progress != "done":
                pause = 0 if progress == "part" else next(pauses, None)
                if pause is None:
                    raise StorageUnavailableError("a reader keeps old pages; the erased bytes go after a later write")
                await asyncio.sleep(pause)
                progress = await asyncio.to_thread(self._writer.scrub)

    async def close(self) -> None:
        """Finish what was accepted, then release everything."""
        self._closed = True
        await asyncio.to_thread(self._check.stop)
        await self._writer.close()
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._opened:
            connection.close(True)
        if self._lock is not None:
            self._lock.release()
