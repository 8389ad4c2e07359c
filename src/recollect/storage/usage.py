"""The ledger in SQL: enter what was spent once, add it up, and forget on what it was spent.

Entries are added up here and not by the database, so that each is read with its checksum.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from recollect.domain.checks import as_utc
from recollect.domain.erasure import conversation_tombstone
from recollect.domain.scope import Scope
from recollect.domain.turn import Usage
from recollect.domain.usage import UsageEntry, UsageQuery, UsageTotals, added_up
from recollect.storage import damage
from recollect.storage.damage import sound
from recollect.storage.driver import Driver, Row, Transaction
from recollect.storage.rows import instant, micros, scoped, sealed, unsealed
from recollect.storage.tombstones import buried

#: Before and after every time that can be stored.
FIRST, LAST = -(2**62), 2**62


def values(scope: Scope, entry: UsageEntry) -> dict[str, Any]:
    """Return the column values of an entry."""
    row = {
        "id": entry.id,
        "at": micros(entry.at),
        "kind": entry.kind,
        "model": entry.model,
        "conversation_id": entry.conversation_id,
        "job_id": entry.job_id,
        "input_tokens": entry.usage.input_tokens,
        "output_tokens": entry.usage.output_tokens,
        "calls": entry.calls,
        "estimated": entry.estimated,
    }
    return sealed(scope, row)


def entry_from(scope: Scope, row: Row) -> UsageEntry:
    """Return the entry of a row, or raise if the row was damaged."""
    i, at, kind, model, conversation_id, job_id, read, written, calls, estimated = unsealed(scope, "usage", row)
    return UsageEntry(
        id=i,
        at=instant(at),
        kind=kind,
        model=model,
        usage=Usage(input_tokens=read, output_tokens=written),
        conversation_id=conversation_id,
        job_id=job_id,
        calls=calls,
        estimated=estimated,
    )


def insert(tx: Transaction, scope: Scope, entry: UsageEntry) -> None:
    """Enter what was spent on a conversation that is locked, or on none."""
    tx.run("insert_usage", **values(scope, msgspec.structs.replace(entry, at=as_utc(entry.at))))


def record(tx: Transaction, scope: Scope, entry: UsageEntry) -> None:
    """Enter what was spent; what was erased meanwhile is not named."""
    # An erasure that is under way waits for this lock and then finds the entry, or is waited for and is then seen.
    if entry.conversation_id is not None and not tx.one("lock_conversation", **scoped(scope), id=entry.conversation_id):
        mark = conversation_tombstone(tx.salt, entry.conversation_id)
        if buried(tx, scope, [mark]):
            entry = msgspec.structs.replace(entry, conversation_id=None, job_id=None)
    insert(tx, scope, entry)


def totals(tx: Transaction, scope: Scope, query: UsageQuery) -> UsageTotals:
    """Add up the entries of the query."""
    period = {
        "since": FIRST if query.since is None else micros(query.since),
        "until": LAST if query.until is None else micros(query.until),
    }
    if query.conversation_id is None:
        found = tx.all("usage_of_period", **scoped(scope), **period)
    else:
        found = tx.all("usage_of_conversation", **scoped(scope), **period, conversation_id=query.conversation_id)
    entries, corrupt = sound(partial(entry_from, scope), found)
    wanted = (entry for entry in entries if query.job_id in (None, entry.job_id))
    return added_up(wanted, query, corrupt)


def detach(tx: Transaction, scope: Scope, conversation_id: str) -> None:
    """Keep what a conversation cost without its id and those of its jobs."""
    found = tx.all("all_usage_of_conversation", **scoped(scope), conversation_id=conversation_id)
    entries, _ = sound(partial(entry_from, scope), found)
    for entry in entries:
        left = values(scope, msgspec.structs.replace(entry, conversation_id=None, job_id=None))
        tx.run("detach_usage", **scoped(scope), id=entry.id, checksum=left["checksum"])
    if len(entries) < len(found):
        tx.run("detach_damaged_usage", **scoped(scope), conversation_id=conversation_id)


class UsageRecords:
    """The part of the store that keeps the ledger."""

    _driver: Driver

    async def record_usage(self, scope: Scope, entry: UsageEntry) -> None:
        await self._driver.write(scope, lambda tx: record(tx, scope, entry))

    async def usage_totals(self, scope: Scope, query: UsageQuery) -> UsageTotals:
        found = await self._driver.read(scope, lambda tx: totals(tx, scope, query))
        await damage.report(self._driver, scope, "usage", found.corrupt)
        return found
