"""Any page costs the same at any depth: counted in steps of SQLite's machine, never in time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec
import pytest

from recollect.domain.appending import conversation_from
from recollect.domain.conversation import ConversationCursor, ConversationQuery, ConversationSearch, NewConversation
from recollect.domain.holdings import HoldingsQuery
from recollect.domain.memory import NewMemory
from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.turn import Append
from recollect.storage import conversations, finding, holdings, pages, rows
from recollect.storage.queries import load_positional
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import SqliteTransaction, connect
from recollect.storage.store import SqlStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCOPE = Scope(user="busy")
PAGE = 50
T = TypeVar("T")


class Steps:
    """Count the steps of the statements that run on a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.taken = 0
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._ended)

    def _ended(self, event: dict[str, Any]) -> None:
        self.taken += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def of(self, read: Callable[[], T]) -> tuple[T, int]:
        """Return what was read and how many steps it took."""
        before = self.taken
        result = read()
        return result, self.taken - before


@contextmanager
def reading(path: Path) -> Iterator[tuple[SqliteTransaction, Steps]]:
    connection = connect(str(path))
    try:
        yield SqliteTransaction(connection, b"salt"), Steps(connection)
    finally:
        connection.close()


async def fill_conversations(path: Path, size: int) -> None:
    """Write rows as the store does, but many in one transaction."""
    await (await SqliteDriver.open(path)).close()
    connection = connect(str(path))
    tx = SqliteTransaction(connection, b"salt")
    sql, names = load_positional()["insert_conversation"]
    with connection:
        conversations.add_agent(tx, SCOPE, SCOPE.agent, 0)
        for start in range(0, size, 10_000):
            batch = []
            for n in range(start, min(start + 10_000, size)):
                value = conversation_from(NewConversation(id=f"c{n:07}", at=NOON + timedelta(seconds=n // 3)))
                value = msgspec.structs.replace(value, is_archived=n % 10 == 0)
                row = rows.conversation_values(SCOPE, value, has_erased=False)
                batch.append([row[name] for name in names])
            connection.executemany(sql, batch)
    connection.close()


@pytest.mark.spec("R29")
async def test_a_page_of_conversations_costs_the_same_at_any_depth(
    tmp_path: Path, count: Callable[[int, int], int], seed: int
) -> None:
    size = count(50_000, 1_000_000)
    path = tmp_path / "many.db"
    await fill_conversations(path, size)
    chance = random.Random(seed)
    with reading(path) as (tx, steps):
        for archived in (False, True, None):
            query = ConversationQuery(limit=PAGE, archived=archived)
            _, first = steps.of(partial(conversations.page, tx, SCOPE, query))
            for _ in range(20):
                n = chance.randrange(size // 50, size)
                after = ConversationCursor(NOON + timedelta(seconds=n // 3), f"c{n:07}")
                deep = msgspec.structs.replace(query, after=after)
                page, cost = steps.of(partial(conversations.page, tx, SCOPE, deep))
                assert len(page.items) == PAGE
                assert cost <= first * 1.2


@pytest.mark.spec("R29")
async def test_the_longest_idle_conversations_cost_the_same_among_few_and_many(
    tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    costs = []
    for size in (1_000, count(20_000, 1_000_000)):
        path = tmp_path / f"{size}.db"
        await fill_conversations(path, size)
        with reading(path) as (tx, steps):
            before = rows.micros(NOON + timedelta(seconds=size))
            (idle, _), cost = steps.of(partial(conversations.idle, tx, SCOPE, before, PAGE))
            assert [one.id for one in idle] == [f"c{n:07}" for n in range(PAGE)]
            costs.append(cost)
    assert costs[1] <= costs[0] * 1.2


@pytest.mark.spec("R29")
async def test_a_search_does_not_look_at_automatic_titles_nor_at_messages_without_the_words(
    tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    costs = []
    for size in (1_000, count(20_000, 1_000_000)):
        path = tmp_path / f"{size}.db"
        await fill_conversations(path, size)
        store = SqlStore(await SqliteDriver.open(path))
        await store.create_conversation(SCOPE, NewConversation(id="titled", at=NOON, title="A pear"))
        for conversation_id, words in (("said", "a pear"), ("other", "an apple " * size)):
            said = NewMessage(id="m", role="user", content=words, created_at=NOON)
            await store.append(SCOPE, Append(conversation_id=conversation_id, messages=(said,), at=NOON, create=True))
        await store.close()
        with reading(path) as (tx, steps):
            page, cost = steps.of(partial(finding.search, tx, SCOPE, ConversationSearch(text="pear")))
            assert [item.conversation.id for item in page.items] == ["titled", "said"]
            costs.append(cost)
    assert costs[1] <= costs[0] * 1.2


@pytest.mark.spec("R29")
async def test_a_page_of_messages_costs_the_same_at_any_depth_in_both_directions(
    tmp_path: Path, count: Callable[[int, int], int], seed: int
) -> None:
    size = count(20_000, 100_000)
    path = tmp_path / "long.db"
    store = SqlStore(await SqliteDriver.open(path))
    for start in range(0, size, 5_000):
        said = tuple(
            NewMessage(id=f"m{n}", role="user", content=f"message {n}", created_at=NOON)
            for n in range(start, start + 5_000)
        )
        await store.append(SCOPE, Append(conversation_id="long", messages=said, at=NOON, create=True))
    await store.close()
    chance = random.Random(seed)
    with reading(path) as (tx, steps):
        query = MessageQuery(conversation_id="long", limit=PAGE)
        _, newest = steps.of(partial(pages.messages, tx, SCOPE, query))
        for _ in range(40):
            n = chance.randrange(PAGE, size - PAGE)
            for direction, first in (("before", n - PAGE), ("after", n + 1)):
                deep = msgspec.structs.replace(query, **{direction: f"m{n}"})
                page, cost = steps.of(partial(pages.messages, tx, SCOPE, deep))
                assert [message.id for message in page.messages] == [f"m{k}" for k in range(first, first + PAGE)]
                assert cost <= newest * 1.2


@pytest.mark.spec("R29")
async def test_a_page_of_a_branched_conversation_costs_in_proportion_to_the_way_from_its_head(tmp_path: Path) -> None:
    path = tmp_path / "branched.db"
    store = SqlStore(await SqliteDriver.open(path))
    costs = []
    for size in (500, 2_000):
        said = [NewMessage(id=f"m{n}", role="user", content=f"message {n}", created_at=NOON) for n in range(size)]
        said.append(NewMessage(id="other", role="user", content="other", created_at=NOON, parent_id=f"m{size - 2}"))
        name = f"branched-{size}"
        await store.append(SCOPE, Append(conversation_id=name, messages=tuple(said), at=NOON, create=True))
        with reading(path) as (tx, steps):
            query = MessageQuery(conversation_id=name, limit=PAGE, after="m0")
            page, cost = steps.of(partial(pages.messages, tx, SCOPE, query))
            assert [message.id for message in page.messages] == [f"m{n}" for n in range(1, PAGE + 1)]
            costs.append(cost)
    await store.close()
    assert costs[1] <= 5 * costs[0]


@pytest.mark.spec("R29")
async def test_the_ends_of_branches_cost_what_follows_the_first_of_them(tmp_path: Path) -> None:
    path = tmp_path / "branched.db"
    store = SqlStore(await SqliteDriver.open(path))
    costs = []
    for size in (1_000, 4_000):
        said = [NewMessage(id=f"m{n}", role="user", content=f"message {n}", created_at=NOON) for n in range(size)]
        said.append(NewMessage(id="other", role="user", content="other", created_at=NOON, parent_id=f"m{size - 2}"))
        name = f"branched-{size}"
        for start in range(0, len(said), 1_000):
            some = tuple(said[start : start + 1_000])
            await store.append(SCOPE, Append(conversation_id=name, messages=some, at=NOON, create=True))
        with reading(path) as (tx, steps):
            number = conversations.find(tx, SCOPE, name).number
            values = {"tenant": SCOPE.tenant, "user": SCOPE.user, "conversation": number}
            runs, cost = steps.of(partial(tx.all, "run_starts", **values, first=size - PAGE))
            assert len(runs) == 2
            costs.append(cost)
            page = pages.messages(tx, SCOPE, MessageQuery(conversation_id=name, limit=PAGE))
            assert page.ends == {"other": "other", f"m{size - 1}": f"m{size - 1}"}
    await store.close()
    assert costs[1] <= 1.2 * costs[0]


@pytest.mark.spec("R29")
async def test_counting_looks_at_nothing_of_others(tmp_path: Path) -> None:
    path = tmp_path / "counted.db"
    store = SqlStore(await SqliteDriver.open(path))
    costs = []
    for others in (1, 40):
        for number in range(others):
            scope = Scope(user=f"user {others} {number}")
            said = tuple(NewMessage(id=f"m{n}", role="user", content="words", created_at=NOON) for n in range(20))
            await store.append(scope, Append(conversation_id="c", messages=said, at=NOON, create=True))
            new = tuple(NewMemory(id=f"k{n}", content=f"statement {n}", at=NOON) for n in range(20))
            await store.add_memories(scope, new)
        with reading(path) as (tx, steps):
            counted = partial(holdings.count, tx, Scope(user="user 1 0"), HoldingsQuery(now=NOON))
            (found, _), cost = steps.of(counted)
            assert (found.messages, found.memories["active"], found.days[-1].learned) == (20, 20, 20)
            costs.append(cost)
    await store.close()
    assert costs[1] <= 1.2 * costs[0]


@pytest.mark.spec("S3.8")
async def test_marking_idle_conversations_costs_the_same_however_many_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "idle.db"
    await fill_conversations(path, 3_000)
    before = rows.micros(NOON + timedelta(days=1))
    costs = []
    with reading(path) as (tx, steps):
        for _ in range(25):
            marked, cost = steps.of(partial(conversations.mark_inactive, tx, SCOPE, before, 100))
            assert len(marked) == 100
            costs.append(cost)
    assert max(costs) <= 1.2 * min(costs)


@pytest.mark.spec("R29")
async def test_no_list_is_scanned_or_sorted(tmp_path: Path) -> None:
    await (await SqliteDriver.open(tmp_path / "plan.db")).close()
    connection = connect(str(tmp_path / "plan.db"))
    listed = (
        "newest_conversations",
        "older_conversations",
        "pinned_conversations",
        "unpinned_conversations",
        "oldest_conversations",
        "idle_conversations",
        "titled_conversations",
        "messages_before",
        "messages_after",
        "newest_memories",
        "first_memories",
        "note_versions",
        "find_message",
        "same_statement",
        "queued_job",
        "usage_of_period",
        "usage_of_conversation",
        "all_usage_of_conversation",
    )
    for name in listed:
        sql, names = load_positional()[name]
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * len(names)).fetchall()
        said = " ".join(str(row[3]) for row in plan)
        assert "SEARCH" in said, name
        assert "SCAN" not in said, name
        assert "TEMP B-TREE" not in said, name
    for name, index in (("pinned_conversations", "conversations_pinned"), ("count_jobs", "jobs_user")):
        sql, names = load_positional()[name]
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * len(names)).fetchall()
        assert index in str(plan[0][3]), name
    for name in ("matching_places", "numbered_messages", "find_conversations"):
        sql, names = load_positional()[name]
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", ["[]"] * len(names)).fetchall()
        steps = [str(row[3]) for row in plan]
        assert [step for step in steps if "SCAN" in step and "json_each" not in step] == [], name
        assert not any("conversations_activity" in step for step in steps), name
    connection.close()
