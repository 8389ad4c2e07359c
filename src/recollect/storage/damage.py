"""Keep a list of damaged records: they are left out of answers, reported, and never dropped."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, StorageError
from recollect.ports.erasure import Damaged
from recollect.storage.driver import Driver, Row, Transaction
from recollect.storage.rows import instant, micros, scoped

T = TypeVar("T")
#: What is sound of some records, and the ids of those that are not.
Sound = tuple[tuple[T, ...], tuple[str, ...]]

_log = logging.getLogger(__name__)


def sound(read: Callable[[Row], T], found: Iterable[Row]) -> Sound[T]:
    """Read rows, and set those aside that were damaged."""
    whole: list[T] = []
    corrupt: list[str] = []
    for row in found:
        try:
            whole.append(read(row))
        except CorruptRecordError as exc:
            corrupt.append(exc.record_id)
    return tuple(whole), tuple(corrupt)


async def report(driver: Driver, scope: Scope, kind: str, ids: tuple[str, ...]) -> None:
    """Write down what a read found damaged; the read succeeds even if this cannot be written."""
    if not ids:
        return
    _log.error("%d stored %s records do not match their checksums", len(ids), kind)
    at = micros(datetime.now(UTC))

    def work(tx: Transaction) -> None:
        for damaged_id in ids:
            tx.run("quarantine", **scoped(scope), kind=kind, id=damaged_id, at=at)

    try:
        await driver.write(scope, work)
    except StorageError as exc:
        _log.warning("the damaged records cannot be listed: %s", exc.code)


async def reported(driver: Driver, scope: Scope, asked: Awaitable[T]) -> T:
    """Return what is asked for; if a damaged record is in the way, write that down before it is raised."""
    try:
        return await asked
    except CorruptRecordError as exc:
        await report(driver, scope, exc.kind, (exc.record_id,))
        raise


def page(tx: Transaction, scope: Scope) -> tuple[Damaged, ...]:
    """List the damaged records of the user."""
    found = tx.all("list_quarantine", **scoped(scope))
    return tuple(Damaged(kind=kind, id=i, detected_at=instant(at)) for kind, i, at in found)


def log_unscrubbed(receipt_id: str) -> None:
    """Say that erased bytes are still in the WAL for a while."""
    _log.warning("erasure %s is done; its old pages leave the WAL after a later write", receipt_id)
