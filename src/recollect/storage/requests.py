"""Idempotency records in SQL: each function is the work of one transaction, or a part of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.domain.checks import later
from recollect.domain.idempotency import Answer, IdempotencyRecord, RequestKey, RequestStart, first_answer
from recollect.domain.scope import Scope
from recollect.storage.driver import Transaction
from recollect.storage.rows import instant, micros, scoped, sealed, unsealed


def begin(tx: Transaction, scope: Scope, start: RequestStart) -> Answer | None:
    """Return the answer of a finished request, or None once this caller, and no other, may do the work."""
    at, until = micros(start.at), micros(later(start.at, start.lease))
    if tx.run("insert_request", **_values(scope, start.request, at, until, None)):
        return None
    answer = first_answer(_find(tx, scope, start.request.key), start)
    if answer is None:
        tx.run("save_request", **_values(scope, start.request, at, until, None))
    return answer


def finish(tx: Transaction, scope: Scope, answer: Answer, at: datetime) -> None:
    """Keep the answer for every retry, unless one is kept already."""
    record = _find(tx, scope, answer.request.key)
    if record is not None and record.status is not None:
        return
    started = micros(at if record is None else record.started_at)
    tx.run("save_request", **_values(scope, answer.request, started, started, answer))


def abandon(tx: Transaction, scope: Scope, request: RequestKey) -> None:
    """Forget this very request if it came to nothing."""
    tx.run("delete_request", **scoped(scope), key=request.key, digest=request.digest)


def _find(tx: Transaction, scope: Scope, key: str) -> IdempotencyRecord | None:
    row = tx.one("find_request", **scoped(scope), key=key)
    if row is None:
        return None
    if row[4] is None or row[5] is not None:
        unsealed(scope, "request", row)
    stored_key, digest, started, lease, status, body, _ = row
    return IdempotencyRecord(
        request=RequestKey(key=stored_key, digest=digest),
        started_at=instant(started),
        lease_until=instant(lease),
        status=status,
        body=None if body is None else bytes(body),
    )


def _values(scope: Scope, request: RequestKey, at: int, until: int, answer: Answer | None) -> dict[str, Any]:
    row = {
        "key": request.key,
        "digest": request.digest,
        "started_at": at,
        "lease_until": until,
        "status": None if answer is None else answer.status,
        "body": None if answer is None else answer.body,
    }
    return sealed(scope, row)
