"""The audit trail in SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.scope import Scope
from recollect.errors import InvalidCursorError
from recollect.storage.driver import Transaction
from recollect.storage.jobs import LAST
from recollect.storage.rows import instant, json_object, json_text, micros, scoped


def note(tx: Transaction, scope: Scope, action: str, entity: tuple[str, str], at: datetime, **detail: Any) -> None:
    """Add an entry to the trail: what was done to which (kind, id), in counts, versions and states."""
    kind, entity_id = entity
    tx.run(
        "insert_audit",
        **scoped(scope),
        agent=scope.agent,
        id=_entry_id(at, action, entity, detail),
        at=micros(at),
        action=action,
        kind=kind,
        entity_id=entity_id,
        detail=json_text(detail),
    )


def _entry_id(at: datetime, action: str, entity: tuple[str, str], detail: Mapping[str, Any]) -> str:
    """Return an id that follows from the entry, since the store has neither clock nor chance of its own."""
    said = f"{micros(at)} {action} {entity} {json_text(detail)}"
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def page(tx: Transaction, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
    """List the trail, newest first."""
    before = LAST
    if query.before_id is not None:
        row = tx.one("audit_number", **scoped(scope), id=query.before_id)
        if row is None:
            raise InvalidCursorError("this page position is not known; start from the first page")
        before = row[0]
    found = tx.all("page_audit", **scoped(scope), before=before, entity_id=query.entity_id, limit=query.limit)
    return tuple(
        AuditEntry(
            id=i, at=instant(at), agent=agent, action=action, kind=kind, entity_id=entity, detail=json_object(detail)
        )
        for i, at, agent, action, kind, entity, detail in found
    )
