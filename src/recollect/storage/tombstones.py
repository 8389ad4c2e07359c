"""The marks of what was erased, in SQL: left by every erasure, looked up by every writer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from recollect.domain.erasure import Tombstone
from recollect.domain.scope import Scope
from recollect.storage.driver import Transaction
from recollect.storage.rows import micros, scoped


def bury(tx: Transaction, scope: Scope, tombstone: Tombstone, at: datetime) -> None:
    """Keep the mark of something erased."""
    tx.run("insert_tombstone", **scoped(scope), kind=tombstone.kind, digest=tombstone.digest, at=micros(at))


def buried(tx: Transaction, scope: Scope, tombstones: Iterable[Tombstone]) -> set[Tombstone]:
    """Return those of the tombstones, all of one kind, that mark something erased."""
    by_digest = {tombstone.digest: tombstone for tombstone in tombstones}
    if not by_digest:
        return set()
    kind = next(iter(by_digest.values())).kind
    found = tx.all("which_tombstones", **scoped(scope), kind=kind, ids=tx.ids(by_digest))
    return {by_digest[digest] for (digest,) in found}
