"""Postgres connections: how they are opened and kept, and how their errors become ours."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from recollect.errors import ConflictError, StorageError, StorageUnavailableError
from recollect.storage.driver import Row
from recollect.storage.postgres_packages import Int8Dumper, psycopg, psycopg_pool
from recollect.storage.postgres_vectors import PackedVector, PackedVectorDumper

if TYPE_CHECKING:
    from psycopg.abc import PQGen

RV = TypeVar("RV")

#: How much longer than the server's own limit a reply may take before the connection is given up.
GRACE = 5.0
#: How often to ask for a connection while the server cannot be reached.
RECONNECT = 0.25
#: More than the number of named queries, each in the variants that its NULLs make.
PREPARED = 500

#: With these the server says goodbye.
_GOODBYES = (
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
_PASSING = (
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
_DAMAGED = (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)


class PostgresOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to use a database."""

    #: Connections kept open, and connections at the very most; each has a thread.
    pool_min: int = 2
    pool_max: int = 10
    #: How long a call waits for a connection before it is told that the store is unavailable.
    pool_timeout: timedelta = timedelta(seconds=5)
    connect_timeout: timedelta = timedelta(seconds=5)
    statement_timeout: timedelta = timedelta(seconds=30)
    #: How long a statement waits for a row that another transaction holds.
    lock_timeout: timedelta = timedelta(seconds=10)
    #: After which the server ends a transaction that a stopped program left open.
    idle_in_transaction_timeout: timedelta = timedelta(seconds=60)


def translated(error: psycopg.Error) -> StorageError | ConflictError:
    """Return our error for one of Postgres's; callers raise it from the original."""
    name = type(error).__name__ if error.sqlstate is None else f"{type(error).__name__} {error.sqlstate}"
    if isinstance(error, _PASSING):
        return StorageUnavailableError(f"Postgres cannot be used right now ({name}); nothing was acknowledged")
    if isinstance(error, _DAMAGED):
        return StorageError(f"the database is damaged ({name}); restore a backup")
    if isinstance(error, psycopg.IntegrityError):
        return ConflictError(f"the database refused a row that contradicts another ({name})")
    return StorageError(f"Postgres failed: {name}")


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise Postgres's errors as ours."""
    try:
        yield
    except psycopg.Error as exc:
        raise translated(exc) from exc


class PostgresConnection(psycopg.Connection[Row]):
    """A connection that waits for no reply forever, and knows which start of the server it belongs to."""

    #: Seconds to wait for a reply; a server that hangs keeps its sockets open and would hold us for good.
    patience: float = 60.0
    #: Changes whenever the server starts, also after a crash: transaction ids may be given again then.
    server_start: str = ""

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        """Consume a generator of the connection, or give the connection up."""
        return super().wait(self._bounded(gen), *args, **named)

    def _bounded(self, gen: PQGen[RV]) -> PQGen[RV]:
        deadline = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self.close()
                    raise psycopg.OperationalError("the server did not reply in time")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result

    def is_lost(self, error: psycopg.Error) -> bool:
        """Tell whether this error means that the connection is gone and everything uncommitted on it too."""
        return self.closed or isinstance(error, _GOODBYES)

    def looks_alive(self) -> bool:
        """Tell without a round trip whether the server still holds the other end.

        On an idle connection nothing is to be read, unless the server said goodbye or something in passing.
        """
        try:
            poll = select.poll()
            poll.register(self.fileno(), select.POLLIN)
            if poll.poll(0):
                psycopg_pool.ConnectionPool.check_connection(self)
        except psycopg.Error:
            return False
        return True


def connection_string(url: str, options: PostgresOptions) -> str:
    """Return the address with what it does not say itself: time limits, and how to notice a dead network."""
    defaults: dict[str, Any] = {
        "application_name": "recollect",
        "client_encoding": "utf8",
        "connect_timeout": max(2, round(options.connect_timeout.total_seconds())),
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }
    return psycopg.conninfo.make_conninfo(**(defaults | psycopg.conninfo.conninfo_to_dict(url)))


_SESSION = """
SELECT set_config('search_path', 'recollect', false),
    set_config('statement_timeout', %(statement)s, false),
    set_config('lock_timeout', %(lock)s, false),
    set_config('idle_in_transaction_session_timeout', %(idle)s, false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
    concat(pg_postmaster_start_time(), ' ', (SELECT stats_reset FROM pg_stat_bgwriter))
"""


def open_pool(url: str, options: PostgresOptions) -> psycopg_pool.ConnectionPool[PostgresConnection]:
    """Return a pool whose connections are ready for transactions; nothing is connected yet."""

    def configure(connection: PostgresConnection) -> None:
        connection.prepared_max = PREPARED
        connection.patience = options.statement_timeout.total_seconds() + GRACE
        # One type for every whole number, or each size of number would be a prepared statement of its own.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(PackedVector, PackedVectorDumper)
        limits = {
            "statement": _milliseconds(options.statement_timeout),
            "lock": _milliseconds(options.lock_timeout),
            "idle": _milliseconds(options.idle_in_transaction_timeout),
        }
        row = connection.execute(_SESSION, limits, prepare=False).fetchone()
        assert row is not None  # a SELECT without FROM
        connection.server_start = row[-1]

    return psycopg_pool.ConnectionPool(
        connection_string(url, options),
        connection_class=PostgresConnection,
        kwargs={"autocommit": True, "prepare_threshold": 0},
        min_size=min(options.pool_min, options.pool_max),
        max_size=options.pool_max,
        open=False,
        configure=configure,
        timeout=options.pool_timeout.total_seconds(),
        # Give up at once instead of trying less and less often: `checkout` asks again while somebody waits.
        reconnect_timeout=RECONNECT,
        name="recollect",
    )


def _milliseconds(duration: timedelta) -> str:
    return str(max(1, round(duration.total_seconds() * 1000)))


@contextmanager
def checkout(pool: psycopg_pool.ConnectionPool[PostgresConnection]) -> Iterator[PostgresConnection]:
    """Lend a connection that looks alive, and take it back clean or not at all."""
    connection = _living(pool)
    try:
        yield connection
    finally:
        if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            try:
                connection.rollback()
            except psycopg.Error:
                connection.close()
        pool.putconn(connection)


def _living(pool: psycopg_pool.ConnectionPool[PostgresConnection]) -> PostgresConnection:
    deadline = time.monotonic() + pool.timeout
    while True:
        try:
            connection = pool.getconn(timeout=min(RECONNECT, max(0.001, deadline - time.monotonic())))
        except psycopg_pool.PoolTimeout:
            if time.monotonic() >= deadline:
                raise
            continue
        if connection.looks_alive():
            return connection
        connection.close()
        pool.putconn(connection)
