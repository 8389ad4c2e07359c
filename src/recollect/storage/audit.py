"""The audit trail in SQL."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, InvalidCursorError
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.jobs import LAST
from recollect.storage.rows import instant, json_object, json_text, micros, scoped


def note(tx: Transaction, scope: Scope, action: str, entity: tuple[str, str], at: datetime, **detail: Any) -> None:
    """Add an entry to the trail: what was done to which (kind, id), in counts, versions and states."""
    kind, entity_id = entity
    when, said = micros(at), json_text(detail)
    tx.send(
        "insert_audit",
        **scoped(scope),
        agent=scope.agent,
        id=_entry_id(when, scope.agent, action, entity, said),
        at=when,
        action=action,
        kind=kind,
        entity_id=entity_id,
        detail=said,
    )


def _entry_id(at: int, agent: str, action: str, entity: tuple[str, str], detail: str | None) -> str:
    """Return an id that follows from the entry: the store has no chance of its own, and it guards the entry."""
    said = f"{at} {agent} {action} {entity} {detail}"
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def entry_from(row: Row) -> AuditEntry:
    """Return the entry of a row, or raise if the row was damaged."""
    i, at, agent, action, kind, entity, detail = row
    if i != _entry_id(at, agent, action, (kind, entity), detail):
        raise CorruptRecordError("audit entry", i)
    return AuditEntry(
        id=i, at=instant(at), agent=agent, action=action, kind=kind, entity_id=entity, detail=json_object(detail)
    )


def page(tx: Transaction, scope: Scope, query: AuditQuery) -> Sound[AuditEntry]:
    """List the trail, newest first."""
    before = LAST
    if query.before_id is not None:
        row = tx.one("audit_number", **scoped(scope), id=query.before_id)
        if row is None:
            raise InvalidCursorError("this page position is not known; start from the first page")
        before = row[0]
    found = tx.all("page_audit", **scoped(scope), before=before, entity_id=query.entity_id, limit=query.limit)
    return sound(entry_from, found)
