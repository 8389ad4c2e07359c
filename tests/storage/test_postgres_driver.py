"""The Postgres driver under load, limits and cancellation, and how its errors look from outside."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import psycopg
import psycopg_pool
import pytest

from recollect.domain.job import ClaimedJob
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, StorageError, StorageUnavailableError
from recollect.storage.conversations import lock
from recollect.storage.driver import Transaction
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.postgres_connection import translated
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, after, append, claims, job, message


async def test_a_call_that_finds_no_free_connection_is_refused_in_time(postgres_url: str) -> None:
    options = PostgresOptions(pool_max=2, pool_timeout=timedelta(seconds=0.3))
    driver = await PostgresDriver.open(postgres_url, options)
    release = threading.Event()

    def work(tx: Transaction) -> str:
        release.wait(20)
        return "done"

    busy = [asyncio.create_task(driver.write(ALICE, work)) for _ in range(2)]
    await asyncio.sleep(0.05)
    started = time.monotonic()
    with pytest.raises(StorageUnavailableError, match="busy"):
        await driver.read(ALICE, lambda tx: tx.all("list_agents", tenant="acme", user="alice"))
    assert 0.2 < time.monotonic() - started < 2
    release.set()
    assert await asyncio.gather(*busy) == ["done", "done"]
    assert await driver.read(ALICE, lambda tx: "free") == "free"
    await driver.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    started = time.monotonic()
    with pytest.raises(StorageUnavailableError):
        await PostgresDriver.open("postgresql://postgres@127.0.0.1:1/none")
    assert time.monotonic() - started < 5


async def test_a_closed_driver_says_so(postgres_url: str) -> None:
    driver = await PostgresDriver.open(postgres_url)
    await driver.close()
    with pytest.raises(StorageUnavailableError, match="closed"):
        await driver.read(ALICE, lambda tx: 1)


async def test_a_statement_that_takes_too_long_is_ended(postgres_url: str) -> None:
    driver = await PostgresDriver.open(postgres_url, PostgresOptions(statement_timeout=timedelta(seconds=0.2)))
    driver.queries["sleep"] = b"SELECT pg_sleep(20)"
    started = time.monotonic()
    with pytest.raises(StorageUnavailableError, match="57014"):
        await driver.read(ALICE, lambda tx: tx.one("sleep"))
    assert time.monotonic() - started < 5
    await driver.close()


async def test_a_lock_that_is_not_released_is_given_up(postgres_url: str) -> None:
    driver = await PostgresDriver.open(postgres_url, PostgresOptions(lock_timeout=timedelta(seconds=0.2)))
    await SqlStore(driver).append(ALICE, append("c1", "m1"))
    held, release = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        lock(tx, ALICE, "c1")
        held.set()
        release.wait(20)

    holding = asyncio.create_task(driver.write(ALICE, hold))
    await asyncio.to_thread(held.wait)
    with pytest.raises(StorageUnavailableError, match="55P03"):
        await driver.write(ALICE, lambda tx: lock(tx, ALICE, "c1"))
    release.set()
    await holding
    await driver.close()


async def test_a_deadlock_is_tried_again(postgres_driver: PostgresDriver) -> None:
    store = SqlStore(postgres_driver)
    for name in ("c1", "c2"):
        await store.append(ALICE, append(name, "m1"))
    meeting = threading.Barrier(2)
    attempts: list[str] = []

    def work(first: str, second: str) -> Callable[[Transaction], str]:
        def both(tx: Transaction) -> str:
            attempts.append(first)
            lock(tx, ALICE, first)
            if attempts.count(first) == 1:
                meeting.wait(20)
            lock(tx, ALICE, second)
            return first

        return both

    done = await asyncio.gather(
        postgres_driver.write(ALICE, work("c1", "c2")), postgres_driver.write(ALICE, work("c2", "c1"))
    )
    assert list(done) == ["c1", "c2"]
    assert len(attempts) == 3


async def test_a_row_that_always_contradicts_another_is_a_conflict(postgres_driver: PostgresDriver) -> None:
    attempts: list[int] = []

    def work(tx: Transaction) -> None:
        attempts.append(1)
        for _ in range(2):
            tx.run("add_user_again", tenant="acme", user="alice", at=0)

    postgres_driver.queries["add_user_again"] = b"INSERT INTO users VALUES (%(tenant)s, %(user)s, %(at)s)"
    with pytest.raises(ConflictError) as caught:
        await postgres_driver.write(ALICE, work)
    assert len(attempts) == 5
    assert "alice" not in str(caught.value)
    assert isinstance(caught.value.__cause__, psycopg.errors.UniqueViolation)


async def test_work_that_hides_a_failed_statement_is_not_acknowledged(postgres_driver: PostgresDriver) -> None:
    postgres_driver.queries["broken"] = b"SELECT 1 / 0"

    def work(tx: Transaction) -> str:
        tx.run("add_user", tenant="acme", user="alice", at=0)
        try:
            tx.one("broken")
        except psycopg.Error:
            return "all is well"
        return "unreachable"

    with pytest.raises(StorageError):
        await postgres_driver.write(ALICE, work)
    postgres_driver.queries["users"] = b"SELECT user_id FROM users"
    assert await postgres_driver.read(ALICE, lambda tx: tx.all("users")) == []


async def test_a_read_cannot_write(postgres_driver: PostgresDriver) -> None:
    with pytest.raises(StorageUnavailableError, match="25006"):
        await postgres_driver.read(ALICE, lambda tx: tx.run("add_user", tenant="acme", user="alice", at=0))


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (psycopg.OperationalError(), StorageUnavailableError),
        (psycopg_pool.PoolTimeout(), StorageUnavailableError),
        (psycopg_pool.PoolClosed(), StorageUnavailableError),
        (psycopg.errors.DiskFull(), StorageUnavailableError),
        (psycopg.errors.OutOfMemory(), StorageUnavailableError),
        (psycopg.errors.TooManyConnections(), StorageUnavailableError),
        (psycopg.errors.AdminShutdown(), StorageUnavailableError),
        (psycopg.errors.QueryCanceled(), StorageUnavailableError),
        (psycopg.errors.LockNotAvailable(), StorageUnavailableError),
        (psycopg.errors.ReadOnlySqlTransaction(), StorageUnavailableError),
        (psycopg.errors.SerializationFailure(), StorageUnavailableError),
        (psycopg.errors.IdleInTransactionSessionTimeout(), StorageUnavailableError),
        (psycopg.errors.UniqueViolation(), ConflictError),
        (psycopg.errors.ForeignKeyViolation(), ConflictError),
        (psycopg.errors.DataCorrupted(), StorageError),
        (psycopg.errors.InsufficientPrivilege(), StorageError),
        (psycopg.errors.UndefinedTable(), StorageError),
        (psycopg.DataError("the words of a user"), StorageError),
        (psycopg.InterfaceError(), StorageError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_each_error_of_postgres_becomes_one_of_ours(error: psycopg.Error, ours: type[Exception]) -> None:
    ended = translated(error)
    assert type(ended) is ours
    assert "words" not in str(ended)
    assert type(error).__name__ in str(ended)


def test_a_missing_package_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from recollect.errors import MissingExtraError\n"
        "try:\n    import recollect.storage.postgres\n"
        "except MissingExtraError as exc:\n    print(exc)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "install recollect[postgres]" in done.stdout


async def test_a_storm_of_cancellations_delivers_no_foreign_reply(
    postgres_url: str, count: Callable[[int, int], int], seed: int
) -> None:
    chance = random.Random(seed)
    driver = await PostgresDriver.open(postgres_url, PostgresOptions(pool_max=4, pool_timeout=timedelta(seconds=60)))
    store = SqlStore(driver)
    scopes = [Scope("acme", f"user {number}") for number in range(8)]
    for scope in scopes:
        await store.append(scope, append("c1", message("m", f"the words of {scope.user}")))

    async def read(scope: Scope) -> None:
        page = await store.list_messages(scope, MessageQuery(conversation_id="c1", limit=1_000))
        assert {one.content for one in page.messages} == {f"the words of {scope.user}"}

    async def write(scope: Scope, number: int) -> None:
        said = message(f"m{number}", f"the words of {scope.user}")
        appended = await store.append(scope, append("c1", said))
        assert [one.id for one in appended.messages] == [f"m{number}"]

    async def cancelled(number: int) -> bool:
        scope = scopes[number % len(scopes)]
        task = asyncio.create_task(read(scope) if number % 3 else write(scope, number))
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.003, 0.01]))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    ended: list[bool] = []
    wanted = count(1_000, 10_000)
    for start in range(0, wanted, 20):
        ended += await asyncio.gather(*(cancelled(number) for number in range(start, start + 20)))
    assert len(ended) == wanted
    assert sum(ended) > wanted / 4
    for scope in scopes:
        await read(scope)
        page = await store.list_messages(scope, MessageQuery(conversation_id="c1", limit=1_000))
        assert [one.seq for one in page.messages] == list(range(1, len(page.messages) + 1))
        assert len({one.id for one in page.messages}) == len(page.messages)
    await driver.close()


async def test_workers_never_share_a_job(postgres_url: str) -> None:
    drivers = [await PostgresDriver.open(postgres_url, PostgresOptions(pool_max=3)) for _ in range(3)]
    stores = [SqlStore(driver) for driver in drivers]
    scopes = [Scope("acme", "alice"), Scope("acme", "bob"), Scope("other", "alice")]
    for number in range(60):
        await stores[0].enqueue_job(scopes[number % 3], job(f"j{number}"), after(0))

    async def work(worker: str, store: SqlStore, at: float) -> list[ClaimedJob]:
        taken: list[ClaimedJob] = []
        while more := await store.claim_jobs(claims(worker, limit=3, now=after(at), lease=timedelta(seconds=10))):
            taken += more
        return taken

    for at in (0, 20):  # the second time, every lease ran out
        shares = await asyncio.gather(*(work(f"w{n}", stores[n % 3], at) for n in range(6)))
        taken = [(one.scope, one.job.id) for share in shares for one in share]
        assert len(taken) == 60
        assert len(set(taken)) == 60
        assert {one.job.attempts for share in shares for one in share} == {1 if at == 0 else 2}
        assert sum(bool(share) for share in shares) > 1
    for driver in drivers:
        await driver.close()
