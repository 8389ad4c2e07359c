"""Transactions that meet: a row that was read to be changed is held until it is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from recollect.domain.erasure import Receipt
from recollect.domain.turn import Appended
from recollect.errors import ErasedError
from recollect.storage import conversations
from recollect.storage import erasure as erasing
from recollect.storage.driver import Transaction
from recollect.storage.postgres import PostgresDriver
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, after, append, conversation, erasure, job

#: What stays of an erased user; the row of the user holds a counter that must not go back.
KEPT = {"audit", "tombstones", "users"}


class Meeting:
    """Let one transaction write, then wait for another to run into it."""

    def __init__(self) -> None:
        self.has_written = threading.Event()
        self.may_commit = threading.Event()

    def slow(self, work: Callable[[Transaction], Appended], tx: Transaction) -> Appended:
        result = work(tx)
        self.has_written.set()
        self.may_commit.wait(20)
        return result


async def append_slowly(driver: PostgresDriver, meeting: Meeting, message_id: str) -> asyncio.Task[Appended]:
    request = append("c1", message_id, at=after(5), jobs=(job(message_id, conversation_id="c1"),))
    work = partial(meeting.slow, lambda tx: conversations.append(tx, ALICE, request))
    task = asyncio.create_task(driver.write(ALICE, work))
    await asyncio.to_thread(meeting.has_written.wait, 20)
    return task


async def test_marking_inactive_loses_no_message(postgres_driver: PostgresDriver) -> None:
    store, meeting = SqlStore(postgres_driver), Meeting()
    await store.append(ALICE, append("c1", "m1"))
    appending = await append_slowly(postgres_driver, meeting, "m2")
    marking = asyncio.create_task(store.mark_inactive(ALICE, after(1), 5))
    await asyncio.sleep(0.2)
    meeting.may_commit.set()
    await appending
    assert await marking == ()
    found = await store.get_conversation(ALICE, "c1")
    assert (found.message_count, found.head_id, found.is_active) == (2, "m2", True)
    assert (await store.append(ALICE, append("c1", "m3"))).messages[0].seq == 3


async def test_erasing_a_user_waits_for_what_is_being_written(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    store, meeting = SqlStore(postgres_driver), Meeting()
    await store.append(ALICE, append("c1", "m1"))
    appending = await append_slowly(postgres_driver, meeting, "m2")
    erasing = asyncio.create_task(store.erase_user(ALICE, erasure("r1", at=after(9))))
    await asyncio.sleep(0.2)
    meeting.may_commit.set()
    await appending
    assert (await erasing).erased.messages == 2
    with psycopg.connect(postgres_url) as admin:
        left = {table: rows for table, rows in counts(admin).items() if rows and table not in KEPT}
    assert left == {}
    assert (await store.append(ALICE, append("c2", "m1"))).conversation.message_count == 1


async def test_erasing_a_user_meets_a_conversation_that_is_just_being_created(
    postgres_url: str, postgres_driver: PostgresDriver
) -> None:
    store, meeting = SqlStore(postgres_driver), Meeting()
    await store.append(ALICE, append("c0", "m1"))
    appending = await append_slowly(postgres_driver, meeting, "m1")
    erasing = asyncio.create_task(store.erase_user(ALICE, erasure("r1", at=after(9))))
    await asyncio.sleep(0.2)
    meeting.may_commit.set()
    await appending
    await erasing
    with psycopg.connect(postgres_url) as admin:
        left = {table: rows for table, rows in counts(admin).items() if rows and table not in KEPT}
    assert left == {}


def counts(admin: psycopg.Connection[tuple[Any, ...]]) -> dict[str, int]:
    tables = admin.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attname = 'tenant_id'"
    ).fetchall()
    found: dict[str, int] = {}
    for (table,) in tables:
        row = admin.execute(f"SELECT count(*) FROM recollect.{table}".encode()).fetchone()
        found[table] = 0 if row is None else row[0]
    return found


async def test_a_conversation_cannot_be_created_while_it_is_being_erased(postgres_driver: PostgresDriver) -> None:
    store, erased, may_commit = SqlStore(postgres_driver), threading.Event(), threading.Event()
    await store.append(ALICE, append("c1", "m1"))

    def erase_slowly(tx: Transaction) -> Receipt:
        receipt = erasing.conversation(tx, ALICE, "c1", erasure())
        erased.set()
        may_commit.wait(20)
        return receipt

    erasing_task = asyncio.create_task(postgres_driver.write(ALICE, erase_slowly))
    await asyncio.to_thread(erased.wait, 20)
    creating = asyncio.create_task(store.create_conversation(ALICE, conversation("c1")))
    await asyncio.sleep(0.2)
    may_commit.set()
    await erasing_task
    with pytest.raises(ErasedError):
        await creating
