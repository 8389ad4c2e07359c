"""Connections die at any moment: nothing is lost, nothing is stored twice, nobody waits forever."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Literal

import psycopg
import pytest

from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import StorageUnavailableError
from recollect.storage import conversations, jobs, notes, postgres_connection
from recollect.storage.driver import Transaction
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.postgres_connection import checkout
from recollect.storage.postgres_transaction import PostgresTransaction
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, after, append, claims, job, note
from tests.storage.commit_proxy import CommitProxy
from tests.support.servers import PostgresAddress, PostgresServer


def backend(tx: Transaction) -> int:
    assert isinstance(tx, PostgresTransaction)
    return tx._connection.info.backend_pid


@pytest.fixture
def proxy(shared_postgres: PostgresAddress) -> Iterator[CommitProxy]:
    opened = CommitProxy(shared_postgres.port)
    yield opened
    opened.close()


@pytest.fixture
async def far(postgres_url: str, proxy: CommitProxy) -> AsyncIterator[PostgresDriver]:
    """Open the database through the proxy."""
    database = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    driver = await PostgresDriver.open(f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}")
    yield driver
    await driver.close()


async def listed(store: SqlStore, scope: Scope, conversation_id: str) -> list[str]:
    page = await store.list_messages(scope, MessageQuery(conversation_id=conversation_id, limit=1_000))
    assert [message.seq for message in page.messages] == list(range(1, len(page.messages) + 1))
    return [message.id for message in page.messages]


async def test_a_backend_killed_in_the_middle_loses_and_doubles_nothing(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    store = SqlStore(postgres_driver)
    await store.append(ALICE, append("c1", "m1"))
    attempts: list[int] = []

    def work(tx: Transaction) -> int:
        attempts.append(backend(tx))
        result = conversations.append(tx, ALICE, append("c1", "m2"))
        if len(attempts) == 1:
            with psycopg.connect(postgres_url, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", (attempts[0],))
        return len(result.messages)

    assert await postgres_driver.write(ALICE, work) == 1
    assert len(attempts) == 2
    assert await listed(store, ALICE, "c1") == ["m1", "m2"]


async def test_idle_connections_that_died_are_replaced_before_they_are_used(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    store = SqlStore(postgres_driver)
    await asyncio.gather(*(store.append(ALICE, append(f"c{n}", "m1")) for n in range(20)))
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    started = time.monotonic()
    for n in range(20):
        assert await listed(store, ALICE, f"c{n}") == ["m1"]
    assert time.monotonic() - started < 3


async def test_a_connection_that_dies_twice_is_unavailable(postgres_url: str, postgres_driver: PostgresDriver) -> None:
    attempts: list[int] = []

    def work(tx: Transaction) -> None:
        attempts.append(backend(tx))
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", (attempts[-1],))
        tx.all("list_agents", tenant="acme", user="alice")

    with pytest.raises(StorageUnavailableError):
        await postgres_driver.write(ALICE, work)
    assert len(set(attempts)) == 2
    appended = await SqlStore(postgres_driver).append(ALICE, append("c1", "m1"))
    assert len(appended.messages) == 1


@pytest.mark.parametrize("lose", ["request", "reply"])
async def test_a_commit_whose_outcome_got_lost_happens_once(
    lose: Literal["request", "reply"], proxy: CommitProxy, far: PostgresDriver
) -> None:
    store = SqlStore(far)
    await store.append(ALICE, append("c1", "m1"))
    proxy.lose = lose
    assert (await store.change_note(ALICE, note("append", "once"))).notes == "once"
    proxy.lose = lose
    # The index of a message travels with the commit.
    assert [message.id for message in (await store.append(ALICE, append("c1", "m2"))).messages] == ["m2"]
    assert proxy.lost == 2
    assert (await store.get_note(ALICE)).notes == "once"
    assert await listed(store, ALICE, "c1") == ["m1", "m2"]


async def test_an_id_that_a_killed_server_does_not_know_was_never_committed(far: PostgresDriver) -> None:
    def outcome() -> str | None:
        with checkout(far._pool) as connection:
            return far._outcome(connection, "999999999")

    assert await asyncio.to_thread(outcome) == "aborted"


async def test_an_outcome_that_cannot_be_known_is_not_guessed(proxy: CommitProxy, far: PostgresDriver) -> None:
    attempts: list[int] = []

    def work(tx: Transaction) -> None:
        assert isinstance(tx, PostgresTransaction)
        attempts.append(1)
        # As if the server had crashed since, and given the id of the transaction to another.
        tx._connection.server_start = "before the crash"
        notes.change(tx, ALICE, note("append", "once"))

    proxy.lose = "reply"
    with pytest.raises(StorageUnavailableError, match="unknown"):
        await far.write(ALICE, work)
    assert len(attempts) == 1
    assert (await SqlStore(far).get_note(ALICE)).notes == "once"


async def test_a_claim_whose_outcome_got_lost_runs_out(proxy: CommitProxy, far: PostgresDriver) -> None:
    store = SqlStore(far)
    await store.enqueue_job(ALICE, job("j1"), after(0))
    proxy.lose = "reply"
    with pytest.raises(StorageUnavailableError, match="unknown"):
        await store.claim_jobs(claims("w1"))
    assert await store.claim_jobs(claims("w2")) == ()
    (taken,) = await store.claim_jobs(claims("w2", now=after(10_000)))
    assert taken.job.attempts == 2


async def test_looking_for_jobs_in_vain_writes_nothing(postgres_driver: PostgresDriver) -> None:
    postgres_driver.queries["id"] = b"SELECT pg_current_xact_id_if_assigned() IS NOT NULL"

    def work(tx: Transaction) -> tuple[object, ...] | None:
        assert jobs.claim(tx, claims()) == ()
        return tx.one("id")

    assert await postgres_driver.write_any(work) == (False,)


async def test_a_read_is_answered_even_if_its_end_gets_lost(proxy: CommitProxy, far: PostgresDriver) -> None:
    store = SqlStore(far)
    await store.append(ALICE, append("c1", "m1"))
    ways: tuple[Literal["request", "reply"], ...] = ("request", "reply")
    for lose in ways:
        proxy.lose = lose
        assert await listed(store, ALICE, "c1") == ["m1"]
    assert await listed(store, ALICE, "c1") == ["m1"]


async def test_a_server_that_does_not_reply_is_given_up(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connection, "GRACE", 0.2)
    driver = await PostgresDriver.open(postgres_url, PostgresOptions(statement_timeout=timedelta(seconds=0.3)))
    stopped: list[int] = []

    def work(tx: Transaction) -> list[tuple[str]]:
        if not stopped:
            stopped.append(backend(tx))
            os.kill(stopped[0], signal.SIGSTOP)
        return tx.all("list_agents", tenant="acme", user="alice")

    try:
        started = time.monotonic()
        assert await driver.write(ALICE, work) == []
        assert 0.5 <= time.monotonic() - started < 5
    finally:
        os.kill(stopped[0], signal.SIGCONT)
        await driver.close()


async def test_a_crash_of_the_server_shows_in_the_start_of_its_connections(
    start_postgres: Callable[..., PostgresServer],
) -> None:
    server = start_postgres(durable=False)
    driver = await PostgresDriver.open(server.address.url())

    def seen(tx: Transaction) -> tuple[str, int]:
        assert isinstance(tx, PostgresTransaction)
        tx.all("list_agents", tenant="acme", user="alice")
        return tx._connection.server_start, backend(tx)

    before, pid = await driver.read(ALICE, seen)
    assert (await driver.read(ALICE, seen))[0] == before
    os.kill(pid, signal.SIGKILL)
    await asyncio.sleep(0.2)
    after, _ = await driver.read(ALICE, seen)
    assert after != before
    await driver.close()


async def test_killing_the_server_loses_and_doubles_nothing(
    start_postgres: Callable[..., PostgresServer], count: Callable[[int, int], int]
) -> None:
    server = start_postgres()
    patience = PostgresOptions(pool_max=4, pool_timeout=timedelta(seconds=2))
    driver = await PostgresDriver.open(server.address.url(), patience)
    store = SqlStore(driver)
    acknowledged: dict[str, list[str]] = {f"c{n}": [] for n in range(4)}
    slowest = 0.0
    is_over = False

    async def write(conversation_id: str) -> None:
        nonlocal slowest
        number = 0
        while not is_over:
            started = time.monotonic()
            try:
                await store.append(ALICE, append(conversation_id, f"m{number}"))
            except StorageUnavailableError:
                slowest = max(slowest, time.monotonic() - started)
                continue
            acknowledged[conversation_id].append(f"m{number}")
            number += 1

    writers = [asyncio.create_task(write(conversation_id)) for conversation_id in acknowledged]
    recovery = 0.0
    for _ in range(count(2, 8)):
        await asyncio.sleep(0.5)
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.start)
        started, before = time.monotonic(), sum(map(len, acknowledged.values()))
        while sum(map(len, acknowledged.values())) == before:
            assert time.monotonic() - started < 15
            await asyncio.sleep(0.01)
        recovery = max(recovery, time.monotonic() - started)
    is_over = True
    await asyncio.gather(*writers)
    for conversation_id, ids in acknowledged.items():
        found = await listed(store, ALICE, conversation_id)
        assert found[: len(ids)] == ids
    await driver.close()
    print(f"slowest refusal {slowest:.2f} s, slowest recovery {recovery:.2f} s")
    assert slowest < 10
    assert recovery < 15  # five times the figure
