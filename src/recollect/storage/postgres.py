"""Postgres: each transaction runs wholly in one thread with one connection of a pool.

A cancelled caller therefore never leaves a connection in the middle of a reply: its thread goes on to the end.
"""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from recollect.domain.scope import Scope
from recollect.errors import StorageUnavailableError
from recollect.storage.driver import Work, id_of_database
from recollect.storage.migrations.postgres import prepare
from recollect.storage.postgres_connection import (
    PostgresConnection,
    PostgresOptions,
    checkout,
    connection_string,
    open_pool,
    our_errors,
    translated,
)
from recollect.storage.postgres_packages import psycopg, psycopg_pool
from recollect.storage.postgres_transaction import PostgresTransaction
from recollect.storage.queries import load_queries

__all__ = ["PostgresDriver", "PostgresOptions"]

T = TypeVar("T")

#: What another transaction caused; the same work may succeed a moment later.
_CROSSED = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)
#: The longest pause before each further attempt, in seconds.
_PAUSES = (0.005, 0.02, 0.05, 0.1)


class _LostError(Exception):
    """The connection was lost."""

    def __init__(self, error: psycopg.Error, tx: PostgresTransaction, server_start: str, result: Any) -> None:
        super().__init__()
        self.error = error
        self.was_committing = tx.is_committing
        self.transaction_id = tx.transaction_id
        self.server_start = server_start
        #: What the work returned, if the commit was sent.
        self.result = result


def _hand_over_error(answer: Future[Any], task: Future[None]) -> None:
    error = task.exception()
    if error is not None and not answer.done():
        answer.set_exception(error)


class PostgresDriver:
    """A Postgres database, opened."""

    def __init__(
        self, pool: psycopg_pool.ConnectionPool[PostgresConnection], salt: bytes, options: PostgresOptions
    ) -> None:
        self._pool = pool
        self._salt = salt
        self._patience = options.pool_timeout.total_seconds()
        self._threads = ThreadPoolExecutor(options.pool_max, thread_name_prefix="recollect-postgres")
        self._is_closed = False
        self.queries = {name: sql.encode() for name, sql in load_queries("postgres").items()}

    @classmethod
    async def open(cls, url: str, options: PostgresOptions | None = None) -> PostgresDriver:
        """Open the database, creating its tables if it is new.

        The address leads to Postgres itself, or to a pooler that gives each connection a session of its own.
        """
        return await asyncio.to_thread(cls._opened, url, options or PostgresOptions())

    @classmethod
    def _opened(cls, url: str, options: PostgresOptions) -> PostgresDriver:
        with our_errors():
            with psycopg.connect(connection_string(url, options), autocommit=True) as connection:
                salt = prepare(connection)
            pool = open_pool(url, options)
            pool.open()
            return cls(pool, salt, options)

    async def read(self, scope: Scope, work: Work[T], *, quick: bool = False) -> T:
        """Run the work on one consistent snapshot; it is answered while the transaction ends."""
        return await self._in_thread(scope, work, writes=False)

    async def read_any(self, work: Work[T]) -> T:
        """Run work that belongs to no scope; but for what our functions tell, it sees no row."""
        return await self._in_thread(None, work, writes=False)

    async def write(self, scope: Scope, work: Work[T]) -> T:
        """Run the work in one transaction and return only when it is durable.

        What another transaction caused is tried again, a few times.
        If the connection is lost before the commit was sent, nothing was written, and the work is tried once more.
        If it is lost during the commit, nobody told what became of it, and not every write may be repeated blindly
        (a note would be appended twice). So the server is asked for the state of the transaction by its id:
        if it was committed the result stands, if it was aborted the work is tried once more.
        After a crash the server may give the same id again, so then only "aborted" is believed;
        whatever stays unknown raises `StorageUnavailableError`, and the ids in the write make a retry safe.
        """
        return await self._in_thread(scope, work, writes=True)

    async def write_any(self, work: Work[T]) -> T:
        """Run work that belongs to no scope; until it enters one it sees no row.

        If the connection is lost during the commit this raises; a claim that was committed runs out by itself,
        and a change of a key can be made again.
        """
        return await self._in_thread(None, work, writes=True)

    async def _in_thread(self, scope: Scope | None, work: Work[T], *, writes: bool) -> T:
        """Run the work in a thread; stop waiting for a free one after a while."""
        if self._is_closed:
            raise StorageUnavailableError("the store is closed")
        answer: Future[T] = Future()
        task = self._threads.submit(self._serve, answer, scope, work, writes)
        task.add_done_callback(partial(_hand_over_error, answer))
        # Cancelling does nothing to an answer that is being worked on.
        timer = asyncio.get_running_loop().call_later(self._patience, answer.cancel)
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if waiter is not None and waiter.cancelling():
                raise
            raise StorageUnavailableError("every connection to Postgres is busy; nothing was done") from None
        finally:
            timer.cancel()

    def _serve(self, answer: Future[T], scope: Scope | None, work: Work[T], writes: bool) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        may_reconnect = True
        for pause in (*_PAUSES, None):
            try:
                self._attempt(answer, scope, work, writes)
                return
            except _LostError as lost:
                if lost.was_committing and self._was_committed(lost):
                    answer.set_result(lost.result)
                    return
                if not may_reconnect or pause is None:
                    raise translated(lost.error) from lost.error
                may_reconnect = False
            except _CROSSED as exc:
                if pause is None:
                    raise translated(exc) from exc
                time.sleep(random.uniform(0, pause))  # noqa: S311  # spreads retries, guards nothing
            except psycopg.Error as exc:
                raise translated(exc) from exc
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, answer: Future[T], scope: Scope | None, work: Work[T], writes: bool) -> None:
        with checkout(self._pool) as connection:
            tx = PostgresTransaction(connection, self.queries, self._salt, scope, writes=writes)
            result: T | None = None
            try:
                result = work(tx)
                if not writes:
                    # What a snapshot showed is true however its transaction ends.
                    answer.set_result(result)
                tx.commit()
                if writes:
                    answer.set_result(result)
            except psycopg.Error as exc:
                if not answer.done() and not connection.is_lost(exc):
                    raise
                connection.close()
                if not answer.done():
                    raise _LostError(exc, tx, connection.server_start, result) from exc

    def _was_committed(self, lost: _LostError) -> bool:
        """Ask the server what became of a transaction whose commit was sent and not answered."""
        deadline = time.monotonic() + self._patience
        with our_errors():
            while lost.transaction_id is not None and time.monotonic() < deadline:
                with checkout(self._pool) as connection:
                    outcome = self._outcome(connection, lost.transaction_id)
                    is_same_start = connection.server_start == lost.server_start
                if outcome == "aborted":
                    return False
                if outcome == "committed" and is_same_start:
                    return True
                if outcome != "in progress":
                    break
                time.sleep(0.05)
        raise StorageUnavailableError(
            "the connection to Postgres was lost during a commit and its outcome is unknown; retry with the same ids"
        )

    def _outcome(self, connection: PostgresConnection, transaction_id: str) -> str | None:
        try:
            row = connection.execute(self.queries["outcome"], {"transaction": transaction_id}).fetchone()
        except psycopg.errors.InvalidParameterValue:
            # The id lies in the future of a server that was killed before it kept that it had given it away.
            return "aborted"
        return None if row is None else row[0]

    @property
    def database_id(self) -> str:
        """Tell this database from any other, whatever address it is reached by."""
        return id_of_database(self._salt)

    def mark(self) -> None:
        """Return None: only a query could tell what others wrote."""

    async def settled_mark(self) -> object | None:
        """Return None, for nothing hides it."""
        return None

    async def scrub(self) -> None:
        """Do nothing: Postgres overwrites no page on demand.

        Erased rows leave the tables when autovacuum reaches them, and their bytes when the space is used again;
        the log that Postgres writes ahead, its archive and its replicas keep them as long as they are kept.
        The search index holds digests only.
        """

    async def close(self) -> None:
        """Finish what was accepted, then release everything."""
        self._is_closed = True
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)
