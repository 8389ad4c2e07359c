"""Counting in SQL what is kept of a user; the database adds up, so that no text leaves it."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.domain.holdings import (
    DAY,
    Holdings,
    HoldingsQuery,
    MemoryDay,
    MemoryKind,
    TextBytes,
    days_of,
    most,
    numbered,
    states,
)
from recollect.domain.job import JOB_STATES
from recollect.domain.scope import Scope
from recollect.storage import audit, damage
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Driver, Transaction
from recollect.storage.rows import micros, scoped


def count(tx: Transaction, scope: Scope, query: HoldingsQuery) -> tuple[Holdings, tuple[str, ...]]:
    """Return how much is kept of a user, and the ids of audit entries that are damaged."""
    conversations = {bool(row[0]): (row[1], int(row[2])) for row in tx.all("count_conversations", **scoped(scope))}
    (current, said), (archived, said_there) = conversations.get(False, (0, 0)), conversations.get(True, (0, 0))
    kinds, learned_bytes = _kinds(tx, scope)
    days, corrupt = _days(tx, scope, query)
    is_measured = max(said + said_there, current + archived) <= query.measured
    found = Holdings(
        conversations=current + archived,
        archived_conversations=archived,
        messages=said + said_there,
        memories=states(kinds),
        by_type=most(kinds, "memory_type"),
        by_category=most(kinds, "category", query.categories),
        by_origin=most(kinds, "origin"),
        days=days,
        texts=TextBytes(
            messages=_sum(tx, "bytes_of_messages", scope) if is_measured else None,
            memories=learned_bytes,
            notes=_sum(tx, "bytes_of_notes", scope),
        ),
        jobs=_jobs(tx, scope),
        database_bytes=_database(tx) if query.database else None,
    )
    return found, corrupt


def _kinds(tx: Transaction, scope: Scope) -> tuple[dict[MemoryKind, int], int]:
    """Return how many memories there are of each kind, and how long all of them are."""
    kinds: dict[MemoryKind, int] = {}
    length = 0
    for state, memory_type, category, origin, number, size in tx.all("count_memories", **scoped(scope)):
        kinds[MemoryKind(state, memory_type, category, origin)] = number
        length += int(size)
    return kinds, length


def _days(tx: Transaction, scope: Scope, query: HoldingsQuery) -> Sound[MemoryDay]:
    start = micros(query.start)
    period = {**scoped(scope), "start": start, "end": start + query.day_count * DAY}
    learned: dict[int, int] = dict(tx.all("count_learned", **period, day=DAY))
    superseded: dict[int, int] = dict(tx.all("count_superseded", **period, day=DAY))
    erasures, corrupt = sound(audit.entry_from, tx.all("erasures_between", **period))
    forgotten = numbered(query, ((entry.at, entry.detail.get("memories", 0)) for entry in erasures))
    return days_of(query, learned, superseded, forgotten), corrupt


def _sum(tx: Transaction, name: str, scope: Scope) -> int:
    row = tx.one(name, **scoped(scope))
    return 0 if row is None or row[0] is None else int(row[0])


def _jobs(tx: Transaction, scope: Scope) -> Mapping[str, int]:
    return dict.fromkeys(JOB_STATES, 0) | {
        state: number for state, number in tx.all("count_jobs", **scoped(scope)) if state in JOB_STATES
    }


def _database(tx: Transaction) -> int | None:
    row = tx.one("database_size")
    return None if row is None or row[0] is None else int(row[0])


class HoldingsRecords:
    """The part of the store that counts."""

    _driver: Driver

    async def count_holdings(self, scope: Scope, query: HoldingsQuery) -> Holdings:
        found, corrupt = await self._driver.read(scope, lambda tx: count(tx, scope, query))
        await damage.report(self._driver, scope, "audit entry", corrupt)
        return found
