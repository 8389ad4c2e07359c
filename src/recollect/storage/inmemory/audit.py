"""The audit trail in memory."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.checks import as_utc
from recollect.domain.scope import Scope
from recollect.errors import InvalidCursorError
from recollect.storage.inmemory.shelves import Shelves, UserData


def note(data: UserData, scope: Scope, action: str, entity: tuple[str, str], at: datetime, **detail: Any) -> None:
    """Add an entry to the trail: what was done to which (kind, id), in counts, versions and states."""
    kind, entity_id = entity
    data.audit.append(
        AuditEntry(
            id=str(data.next_number()),
            at=as_utc(at),
            agent=scope.agent,
            action=action,
            kind=kind,
            entity_id=entity_id,
            detail=detail,
        )
    )


class Audit(Shelves):
    """Read the trail."""

    async def list_audit(self, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
        found = list(reversed(self._reading(scope).audit))
        if query.before_id is not None:
            ids = [entry.id for entry in found]
            if query.before_id not in ids:
                raise InvalidCursorError("this page position is not known; start from the first page")
            found = found[ids.index(query.before_id) + 1 :]
        if query.entity_id is not None:
            found = [entry for entry in found if entry.entity_id == query.entity_id]
        return tuple(found[: query.limit])
