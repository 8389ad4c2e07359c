"""Recall beside damaged records, and on the way that it is meant to take through a large store."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import apsw
import psycopg
import pytest

from recollect.domain.passage import PassageMatch, PassageQuery
from recollect.domain.scope import Scope
from recollect.domain.vector import MemoryVector, VectorBatch
from recollect.ports.erasure import Damaged
from recollect.storage import unembedded, vectors
from recollect.storage.driver import Transaction
from recollect.storage.postgres import PostgresDriver
from recollect.storage.queries import load_queries
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import connect
from recollect.storage.store import SqlStore
from recollect.storage.verify_postgres import damage as postgres_damage
from recollect.storage.verify_sqlite import damage as sqlite_damage
from recollect.testing.samples import ALICE, BOB, append, memory, message_vectors, vector

EAST, NORTH = vector(1, 0), vector(0, 1)


async def filled(driver: SqliteDriver | PostgresDriver) -> SqlStore:
    """Give a user two messages and a memory with vectors."""
    store = SqlStore(driver)
    await store.append(ALICE, append("c1", "m1", "m2", vectors=message_vectors(m1=EAST, m2=NORTH)))
    await store.add_memories(ALICE, (memory("k1", vector=EAST),))
    return store


async def passages(store: SqlStore) -> dict[str, bytes | None]:
    read = await store.read_passages(ALICE, PassageQuery(model="model"))
    return {passage.message.id: passage.vector for one in read.changed for passage in one.passages}


async def indexed(store: SqlStore) -> dict[str, bytes | None]:
    read = await store.read_memories(ALICE, "model")
    assert read is not None
    return {one.memory.id: one.vector for one in read.items}


async def check_damaged_vectors(store: SqlStore, caplog: pytest.LogCaptureFixture) -> None:
    """Read vectors that were damaged: they are missing, listed to be made again, and whole after that."""
    caplog.set_level(logging.ERROR)
    assert (await store.list_unembedded(ALICE, "model", 9)).remaining == 0
    assert await passages(store) == {"m1": None, "m2": NORTH.values}
    assert await indexed(store) == {"k1": None}
    assert "1 stored vectors do not match their checksums" in caplog.text
    left = await store.list_unembedded(ALICE, "model", 9)
    assert ([one.id for one in left.messages], left.remaining) == (["m1"], 2)
    again = VectorBatch(
        conversation_id="c1", messages=message_vectors(m1=EAST), memories=(MemoryVector("k1", 1, EAST),)
    )
    assert await store.save_vectors(ALICE, again) == 2
    assert await passages(store) == {"m1": EAST.values, "m2": NORTH.values}
    assert await indexed(store) == {"k1": EAST.values}
    assert await store.list_damaged(ALICE) == ()


async def test_a_damaged_vector_counts_as_missing_in_sqlite(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await filled(await SqliteDriver.open(tmp_path / "store.db"))
    connection = connect(str(tmp_path / "store.db"))
    spoiled = struct.pack("<2e", 0.5, 0)
    connection.execute("UPDATE vectors SET vector = ? WHERE kind = 'memory' OR number = 1", (spoiled,))
    found = [one for one in sqlite_damage(connection, lambda *_: None) if one.table == "vectors"]
    connection.close()
    assert [one.problem for one in found] == ["does not match its checksum"] * 2
    await check_damaged_vectors(store, caplog)
    await store.close()


async def test_a_damaged_vector_counts_as_missing_in_postgres(
    postgres_url: str, postgres_driver: PostgresDriver, caplog: pytest.LogCaptureFixture
) -> None:
    store = await filled(postgres_driver)
    with psycopg.connect(postgres_url, options="-c search_path=recollect,public") as connection:
        connection.execute("UPDATE vectors SET vector = '[0.5,0]' WHERE vector = '[1,0]'")
        found = [one for one in postgres_damage(connection, lambda *_: None) if one.table == "vectors"]  # type: ignore[arg-type]  # any connection will do
    assert [one.problem for one in found] == ["does not match its checksum"] * 2
    await check_damaged_vectors(store, caplog)


async def test_a_vector_of_nothing_is_found_by_a_check(tmp_path: Path) -> None:
    store = await filled(await SqliteDriver.open(tmp_path / "store.db"))

    def leave_one_behind(tx: Transaction) -> None:
        vectors.put(tx, ALICE, ("memory", 7), EAST)

    await store._driver.write(ALICE, leave_one_behind)
    await store.close()
    connection = connect(str(tmp_path / "store.db"))
    (found,) = sqlite_damage(connection, lambda *_: None)
    connection.close()
    assert (found.kind, found.table, found.problem) == ("reference", "vectors", "has no memory")


async def test_a_damaged_message_is_left_out_and_reported(tmp_path: Path) -> None:
    store = await filled(await SqliteDriver.open(tmp_path / "store.db"))
    connection = connect(str(tmp_path / "store.db"))
    connection.execute("UPDATE messages SET content = 'other words' WHERE id = 'm1'")
    connection.execute("UPDATE memories SET content = 'other words'")
    connection.close()
    assert await passages(store) == {"m2": NORTH.values}
    matched = await store.match_passages(ALICE, PassageMatch(terms=("words",), vector=EAST))
    assert [passage.message.id for passage in matched.passages] == ["m2"]
    assert await indexed(store) == {}
    left = await store.list_unembedded(ALICE, "other", 9)
    assert ([one.id for one in left.messages], left.memories, left.remaining) == (["m2"], (), 3)
    assert {(one.kind, one.id) for one in await store.list_damaged(ALICE)} == {("message", "m1"), ("memory", "k1")}
    await store.close()


async def test_a_damaged_conversation_is_gone_and_reported(tmp_path: Path) -> None:
    store = await filled(await SqliteDriver.open(tmp_path / "store.db"))
    read = await store.read_passages(ALICE, PassageQuery(model="model"))
    known = {one.conversation_id: one.reading for one in read.changed}
    connection = connect(str(tmp_path / "store.db"))
    connection.execute("UPDATE conversations SET revision = revision + 1")
    connection.close()
    after = await store.read_passages(ALICE, PassageQuery(model="model", known=known))
    assert (after.changed, after.gone) == ((), ("c1",))
    (damaged,) = await store.list_damaged(ALICE)
    assert isinstance(damaged, Damaged)
    assert (damaged.kind, damaged.id) == ("conversation", "c1")
    await store.close()


async def test_more_is_embedded_and_matched_than_is_looked_up_together(tmp_path: Path) -> None:
    store = SqlStore(await SqliteDriver.open(tmp_path / "store.db"))
    names = [f"m{number}" for number in range(1_300)]
    await store.append(ALICE, append("c1", *names, vectors=message_vectors(**dict.fromkeys(names[:700], EAST))))
    match = PassageMatch(terms=("words",), vector=EAST, limit=600)
    matched = [passage.message.id for passage in (await store.match_passages(ALICE, match)).passages]
    assert matched == names[99:]
    left = await store.list_unembedded(ALICE, "model", 1_000)
    assert ([one.id for one in left.messages], left.remaining) == (names[700:], 600)
    await store.close()


def plan(connection: apsw.Connection, query: str) -> list[str]:
    values = {"tenant": "t", "user": "u", "kind": "message", "model": "m", "after": 0, "limit": 9, "ids": "[1]"}
    values |= {"first": 0, "after_model": "", "after_number": 0, "conversation": 1, "id": "k", "number": 1}
    sql = load_queries("sqlite")[query]
    return [str(row[-1]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize(
    "query",
    [
        *("user_vectors", "unembedded_places", "count_vectors", "memory_vectors", "conversation_revisions"),
        *("passages_after", "numbered_passages", "candidate_places", "recalled_places", "embeddable_messages"),
        *("embeddable_memories", "delete_vectors", "delete_vector_places", "count_messages", "numbered_memories"),
    ],
)
async def test_only_the_users_own_rows_are_read(tmp_path: Path, query: str) -> None:
    await (await SqliteDriver.open(tmp_path / "store.db")).close()
    connection = connect(str(tmp_path / "store.db"))
    steps = plan(connection, query)
    connection.close()
    scans = [step for step in steps if step.startswith("SCAN") and "json_each" not in step and "SUBQUERY" not in step]
    assert [step for step in scans if not step.endswith(("others", "lesser", "greater"))] == []


async def test_what_has_no_vector_is_found_without_a_look_at_what_has_one(tmp_path: Path) -> None:
    driver = await SqliteDriver.open(tmp_path / "store.db")
    store = SqlStore(driver)
    names = [f"m{number}" for number in range(3_000)]
    await store.append(ALICE, append("c1", *names, vectors=message_vectors(**dict.fromkeys(names[:-5], EAST))))
    await store.append(BOB, append("c1", "m1"))
    connection = connect(str(tmp_path / "store.db"))
    steps: list[int] = []

    def count_a_step() -> bool:
        steps.append(1)
        return False

    connection.set_progress_handler(count_a_step, 50)
    values = {"tenant": "acme", "user": "alice", "kind": "message", "model": "model", "limit": 5}
    values |= {"after_model": "", "after_number": -1}
    found = connection.execute(load_queries("sqlite")["unembedded_places"], values).fetchall()
    connection.close()
    assert len(found) == 5
    assert len(steps) < 20

    def list_them(tx: Transaction) -> int:
        return len(unembedded.find(tx, ALICE, "model", 5)[0].messages)

    assert await driver.read(Scope("acme", "alice"), list_them) == 5
    await store.close()
