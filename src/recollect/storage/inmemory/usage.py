"""The ledger in memory."""

from __future__ import annotations

import msgspec

from recollect.domain.checks import as_utc
from recollect.domain.erasure import conversation_tombstone
from recollect.domain.scope import Scope
from recollect.domain.usage import UsageEntry, UsageQuery, UsageTotals, added_up
from recollect.storage.inmemory.shelves import Shelves, UserData


def insert(data: UserData, entry: UsageEntry) -> None:
    """Enter what was spent, unless it is entered already."""
    data.usage.setdefault(entry.id, msgspec.structs.replace(entry, at=as_utc(entry.at)))


def detach(data: UserData, conversation_id: str) -> None:
    """Keep what a conversation cost without its id and those of its jobs."""
    for entry in list(data.usage.values()):
        if entry.conversation_id == conversation_id:
            data.usage[entry.id] = msgspec.structs.replace(entry, conversation_id=None, job_id=None)


def is_wanted(entry: UsageEntry, query: UsageQuery) -> bool:
    """Tell whether the query asks for the entry."""
    return (
        query.conversation_id in (None, entry.conversation_id)
        and query.job_id in (None, entry.job_id)
        and (query.since is None or query.since <= entry.at)
        and (query.until is None or entry.at < query.until)
    )


class UsageShelf(Shelves):
    """Keep the ledger."""

    async def record_usage(self, scope: Scope, entry: UsageEntry) -> None:
        with self._writing(scope) as data:
            gone = entry.conversation_id is not None and (
                conversation_tombstone(data.salt, entry.conversation_id) in data.tombstones
            )
            insert(data, msgspec.structs.replace(entry, conversation_id=None, job_id=None) if gone else entry)

    async def usage_totals(self, scope: Scope, query: UsageQuery) -> UsageTotals:
        found = self._reading(scope).usage.values()
        return added_up((entry for entry in found if is_wanted(entry, query)), query)
