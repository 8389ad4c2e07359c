"""API keys in SQL: each function is the work of one transaction, or a part of it.

Whose a key is stands in the key, so it is found without a scope; whatever changes it then enters the key's own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import msgspec

from recollect.domain import identity as rule
from recollect.domain.identity import RIGHTS, ApiKey, KeyQuery, Right, StoredKey
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, InvalidInputError, NotFoundError
from recollect.storage import damage
from recollect.storage.driver import Driver, Row, Transaction
from recollect.storage.rows import instant, micros, optional_instant, optional_micros, scoped, sealed, unsealed

MISSING = "there is no API key with this id"
#: What damaged keys are listed as.
KIND = "key"

Found = tuple[list[StoredKey], list[tuple[Scope, str]]]


def values(stored: StoredKey) -> dict[str, Any]:
    """Return the column values of a key."""
    key = stored.key
    row = {
        "id": key.id,
        "name": key.name,
        "agent": key.agent,
        "rights": " ".join(right for right in RIGHTS if right in key.rights),
        "digest": stored.digest,
        "created_at": micros(key.created_at),
        "expires_at": optional_micros(key.expires_at),
        "revoked_at": optional_micros(key.revoked_at),
        "last_used_at": optional_micros(key.last_used_at),
    }
    return sealed(key.owner, row)


def key_from(scope: Scope, row: Row) -> StoredKey:
    """Return the key of a row, or raise if the row was damaged."""
    i, name, agent, rights, digest, created, expires, revoked, last_used = unsealed(scope, KIND, row)
    key = ApiKey(
        id=i,
        name=name,
        tenant=scope.tenant,
        user=None if scope.user == i else scope.user,
        agent=agent,
        rights=frozenset(cast("list[Right]", rights.split())),
        created_at=instant(created),
        expires_at=optional_instant(expires),
        revoked_at=optional_instant(revoked),
        last_used_at=optional_instant(last_used),
    )
    return StoredKey(key=key, digest=digest)


def _sound(found: list[Row]) -> Found:
    """Read rows that begin with their scopes, and set those aside that were damaged."""
    whole: list[StoredKey] = []
    corrupt: list[tuple[Scope, str]] = []
    for tenant, user, *row in found:
        try:
            scope = Scope(tenant, user)
        except InvalidInputError:
            continue  # nobody to tell; `recollect db check` finds it
        try:
            whole.append(key_from(scope, tuple(row)))
        except CorruptRecordError as exc:
            corrupt.append((scope, exc.record_id))
    return whole, corrupt


def find(tx: Transaction, key_id: str) -> Found:
    """Look for a key."""
    return _sound(tx.all("find_key", id=key_id))


def page(tx: Transaction, query: KeyQuery) -> Found:
    """List the keys of a tenant."""
    return _sound(tx.all("page_keys", of_tenant=query.tenant, after=query.after or "", limit=query.limit))


def create(tx: Transaction, new: StoredKey) -> ApiKey:
    """Keep a key unless it is kept already."""
    given, owner = rule.in_utc(new), new.key.owner
    row = tx.one("find_key", id=given.key.id)
    if row is not None:
        return rule.same_key(key_from(Scope(*row[:2]), tuple(row[2:])), given)
    tx.enter(owner)
    if not tx.run("insert_key", **values(given)):
        # Somebody else kept it since.
        return _change_in(tx, owner, given.key.id, lambda key: key)
    return given.key


def change(tx: Transaction, key_id: str, changed: Callable[[ApiKey], ApiKey]) -> ApiKey:
    """Change a key, of whomever it is."""
    row = tx.one("find_key", id=key_id)
    if row is None:
        raise NotFoundError(MISSING)
    scope = Scope(*row[:2])
    tx.enter(scope)
    return _change_in(tx, scope, key_id, changed)


def _change_in(tx: Transaction, scope: Scope, key_id: str, changed: Callable[[ApiKey], ApiKey]) -> ApiKey:
    row = tx.one("lock_key", **scoped(scope), id=key_id)
    if row is None:
        raise NotFoundError(MISSING)
    stored = key_from(scope, row)
    after = changed(stored.key)
    if after is not stored.key:
        row_after = values(msgspec.structs.replace(stored, key=after))
        written = {name: row_after[name] for name in ("revoked_at", "last_used_at", "checksum")}
        tx.run("update_key", **scoped(scope), id=key_id, **written)
    return after


def revoke_again(tx: Transaction, scope: Scope, key_id: str, at: datetime) -> None:
    """Refuse a key in the scope that was entered, if it is there and whole; a damaged one is refused anyway."""
    try:
        _change_in(tx, scope, key_id, lambda key: rule.revoked(key, at))
    except (NotFoundError, CorruptRecordError):
        return


class KeyRecords:
    """The part of the store that keeps API keys."""

    _driver: Driver

    async def create_key(self, new: StoredKey) -> ApiKey:
        return await self._driver.write_any(lambda tx: create(tx, new))

    async def find_key(self, wanted: str) -> StoredKey | None:
        found = await self._whole(await self._driver.read_any(lambda tx: find(tx, wanted)))
        return found[0] if found else None

    async def list_keys(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        found = await self._whole(await self._driver.read_any(lambda tx: page(tx, query)))
        return tuple(stored.key for stored in found)

    async def revoke_key(self, key_id: str, at: datetime) -> ApiKey:
        return await self._driver.write_any(lambda tx: change(tx, key_id, lambda key: rule.revoked(key, at)))

    async def touch_key(self, key_id: str, at: datetime) -> ApiKey:
        return await self._driver.write_any(lambda tx: change(tx, key_id, lambda key: rule.used(key, at)))

    async def _whole(self, found: Found) -> list[StoredKey]:
        """Return what is sound, once it is written down what was damaged."""
        whole, corrupt = found
        for scope, key_id in corrupt:
            await damage.report(self._driver, scope, KIND, (key_id,))
        return whole
