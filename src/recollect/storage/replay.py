"""Erase again, in restored data, what was erased after the backup was made.

Two traces of an erasure outlive it: its receipt in the audit trail names what a person erased, and its tombstones
are the digests of everything that went with it.
Both are read from the database that is about to be replaced and done again in the restored one, in one transaction.
With them go the API keys that were revoked since, for a backup must not let anybody in again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import msgspec

from recollect.domain.conversation import NewConversation
from recollect.domain.erasure import (
    KEPT,
    Erased,
    Erasure,
    Receipt,
    Tombstone,
    conversation_tombstone,
    memory_tombstone,
    message_tombstone,
)
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, InvalidInputError, NotFoundError, StorageError
from recollect.storage import erasure, keys
from recollect.storage.conversations import create, lock, save
from recollect.storage.driver import Row, Transaction
from recollect.storage.rows import instant, json_object, scoped

Owner = tuple[str, str]


class Entry(msgspec.Struct, frozen=True):
    """A receipt, as the audit trail keeps it."""

    tenant: str
    user: str
    agent: str
    id: str
    at: int
    kind: str
    entity_id: str
    detail: str | None

    @property
    def what(self) -> tuple[str, str, int, str, str]:
        """Name the erasure; a replay of it has the same name but may count less."""
        return (self.tenant, self.user, self.at, self.kind, self.entity_id)

    @property
    def receipt_id(self) -> str:
        """Return the id that the erasure was given; an entry that was damaged is named by its own."""
        return str(self._told.get("receipt_id", self.id))

    @property
    def has_kept_memories(self) -> bool:
        """Tell whether what was learned stayed."""
        return self._told.get("kept") == KEPT

    @property
    def _told(self) -> dict[str, Any]:
        try:
            return json_object(self.detail)
        except msgspec.MsgspecError:  # the entry was damaged
            return {}


class Erasures(msgspec.Struct, frozen=True, kw_only=True):
    """Every trace of an erasure that a database holds."""

    salt: bytes
    #: When each was buried, by owner and mark.
    tombstones: dict[tuple[Owner, Tombstone], int]
    entries: tuple[Entry, ...]
    #: Conversations whose writers must look up tombstones, each with its agent and its age.
    looked_up: dict[tuple[Owner, str], tuple[str, int]]
    #: Conversation and message ids that memories outlived.
    outlived: frozenset[tuple[Owner, str, str]]
    #: The age of the oldest memory of a conversation.
    oldest: dict[tuple[Owner, str], int]
    #: Since when API keys are refused.
    revoked: dict[tuple[Owner, str], int]

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was ever erased."""
        return not self.tombstones and not self.entries


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay did."""

    #: What the restored data had and has no longer.
    erased: Erased = Erased()
    #: Marks that were carried over.
    tombstones: int = 0


def gather(tx: Transaction) -> Erasures:
    """Read every trace of an erasure, of all users."""
    buried = {((t, u), Tombstone(kind, digest)): at for t, u, kind, digest, at in tx.all("all_tombstones")}
    return Erasures(
        salt=tx.salt,
        tombstones=buried,
        entries=tuple(Entry(*row) for row in tx.all("all_erasures")),
        looked_up={((t, u), i): (agent, at) for t, u, i, agent, at in tx.all("conversations_with_erased", yes=True)},
        outlived=frozenset(((t, u), c, m) for t, u, c, m in tx.all("sources_without_message")),
        oldest={((t, u), c): at for t, u, c, at in tx.all("oldest_memories")},
        revoked={((t, u), i): at for t, u, i, at in tx.all("revoked_keys")},
    )


def replay(tx: Transaction, past: Erasures, receipt_id: str) -> Replayed:
    """Erase in this database what `past` knows to be erased and this database does not; keep every trace.

    The receipt id stands for what has left a tombstone but no receipt of its own.
    """
    known = gather(tx)
    done = {entry.what for entry in known.entries}
    entries: dict[Owner, list[Entry]] = defaultdict(list)
    for entry in past.entries:
        if entry.what not in done:
            entries[entry.tenant, entry.user].append(entry)
    buried: dict[Owner, dict[Tombstone, int]] = defaultdict(dict)
    for (owner, tombstone), at in past.tombstones.items():
        # The summary that stood for an original is not in the backup, so the original may be stored again.
        if tombstone.kind == "original":
            continue
        if past.salt != known.salt or (owner, tombstone) not in known.tombstones:
            buried[owner][tombstone] = at
    result = Replayed()
    for owner in sorted({*entries, *buried, *(owner for owner, _ in (*past.looked_up, *past.revoked))}):
        one = _Replay(tx, past, owner, receipt_id)
        one.run(entries[owner], buried[owner])
        result = Replayed(erased=result.erased.plus(one.erased), tombstones=result.tombstones + len(buried[owner]))
    return result


def replay_or_refuse(tx: Transaction, past: Erasures | None, *, lose: bool) -> Replayed:
    """Replay what can be; raise if a trace of an erasure would be lost, unless that is accepted."""
    if past is None or (past.is_empty and not past.revoked):
        return Replayed()
    if past.salt != tx.salt and not past.is_empty and not lose:
        raise StorageError(
            "the backup is of another database, so erasures of this one cannot be kept; "
            "pass --lose-erasures to restore it all the same"
        )
    try:
        return replay(tx, past, f"restore-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    except (CorruptRecordError, InvalidInputError) as exc:
        raise StorageError(f"what was erased since cannot be erased in this backup: {exc}; use another backup") from exc


class _Replay:
    """The erasures of one user, done again."""

    def __init__(self, tx: Transaction, past: Erasures, owner: Owner, receipt_id: str) -> None:
        self.tx = tx
        self.past = past
        self.owner = owner
        self.scope = Scope(*owner)
        self.receipt_id = receipt_id
        self.erased = Erased()
        self._messages: dict[str, list[str]] = {}

    def run(self, entries: list[Entry], buried: dict[Tombstone, int]) -> None:
        self.tx.enter(self.scope)
        for conversation_id, message_id in self.tx.all("message_ids_of_user", **scoped(self.scope)):
            self._messages.setdefault(conversation_id, []).append(message_id)
        messages: dict[tuple[str, int], list[Entry]] = defaultdict(list)
        for entry in entries:
            if entry.kind == "message":
                messages[entry.entity_id, entry.at].append(entry)
            elif not self._redo(entry):
                self._keep(entry)
        self._conversations_by_digest(buried)
        self._messages_by_digest(buried, messages)
        self._memories_by_digest(buried)
        for entry in chain(*messages.values()):
            self._keep(entry)
        if self.past.salt == self.tx.salt:
            for tombstone, at in buried.items():
                self.tx.run(
                    "insert_tombstone", **scoped(self.scope), kind=tombstone.kind, digest=tombstone.digest, at=at
                )
        for (owner, conversation_id), (agent, at) in sorted(self.past.looked_up.items()):
            if owner == self.owner:
                self._look_up_from_now_on(conversation_id, agent, at)
        self._revoke_keys()

    def _revoke_keys(self) -> None:
        for (owner, key_id), at in self.past.revoked.items():
            if owner == self.owner:
                keys.revoke_again(self.tx, self.scope, key_id, instant(at))

    def _redo(self, entry: Entry) -> bool:
        """Do an erasure again; tell whether there was anything of it."""
        scope = msgspec.structs.replace(self.scope, agent=entry.agent)
        again = self._again(entry)
        try:
            if entry.kind == "user":
                self._count(erasure.user(self.tx, scope, again))
            elif entry.kind == "conversation":
                self._count(erasure.conversation(self.tx, scope, entry.entity_id, again))
            elif entry.kind == "clear":
                self._count(erasure.clear(self.tx, scope, entry.entity_id, again))
            elif entry.kind == "memory":
                self._count(erasure.memory(self.tx, scope, entry.entity_id, again))
            else:
                return False
        except NotFoundError:
            return False
        return True

    def _again(self, entry: Entry) -> Erasure:
        is_place = entry.kind in {"conversation", "clear"}
        kept = entry.has_kept_memories or (is_place and self._has_kept_memories(entry.entity_id, entry.at))
        return Erasure(receipt_id=entry.receipt_id, at=instant(entry.at), memories=not kept)

    def _has_kept_memories(self, conversation_id: str, at: int) -> bool:
        """Tell whether whoever erased the conversation chose to keep what was learned from it."""
        if self.past.oldest.get((self.owner, conversation_id), at) < at:
            return True
        ids = self._messages.get(conversation_id, ())
        return any((self.owner, conversation_id, message_id) in self.past.outlived for message_id in ids)

    def _count(self, receipt: Receipt) -> None:
        self.erased = self.erased.plus(receipt.erased)

    def _keep(self, entry: Entry) -> None:
        """Carry over the receipt of something that the restored data never had."""
        self.tx.run(
            "insert_audit",
            **scoped(self.scope),
            agent=entry.agent,
            id=entry.id,
            at=entry.at,
            action="erase",
            kind=entry.kind,
            entity_id=entry.entity_id,
            detail=entry.detail,
        )

    def _conversations_by_digest(self, buried: dict[Tombstone, int]) -> None:
        for (conversation_id,) in self._rows("conversation", buried, "conversation_ids"):
            at = buried.get(conversation_tombstone(self.past.salt, conversation_id))
            if at is not None:
                self._count(erasure.conversation(self.tx, self.scope, conversation_id, self._nameless(at)))

    def _messages_by_digest(self, buried: dict[Tombstone, int], entries: dict[tuple[str, int], list[Entry]]) -> None:
        for conversation_id, message_id in self._rows("message", buried, "message_ids_of_user"):
            at = buried.get(message_tombstone(self.past.salt, conversation_id, message_id))
            if at is None:
                continue
            known = entries.get((message_id, at))
            entry = known.pop() if known else None
            name = self.receipt_id if entry is None else entry.receipt_id
            kept = (self.owner, conversation_id, message_id) in self.past.outlived
            kept = kept or (entry is not None and entry.has_kept_memories)
            again = Erasure(receipt_id=name, at=instant(at), memories=not kept)
            try:
                self._count(erasure.message(self.tx, self.scope, conversation_id, message_id, again))
            except NotFoundError:
                # It went with something that it repeats.
                if entry is not None:
                    self._keep(entry)

    def _memories_by_digest(self, buried: dict[Tombstone, int]) -> None:
        for memory_id, content in self._rows("memory", buried, "statements_of_user"):
            at = buried.get(memory_tombstone(self.past.salt, content))
            if at is not None:
                with suppress(NotFoundError):  # it went with a reply that it was drawn from
                    self._count(erasure.memory(self.tx, self.scope, memory_id, self._nameless(at)))

    def _rows(self, kind: str, buried: Iterable[Tombstone], query: str) -> list[Row]:
        if not any(tombstone.kind == kind for tombstone in buried):
            return []
        return self.tx.all(query, **scoped(self.scope))

    def _nameless(self, at: int) -> Erasure:
        return Erasure(receipt_id=self.receipt_id, at=instant(at))

    def _look_up_from_now_on(self, conversation_id: str, agent: str, at: int) -> None:
        """Make every writer of the conversation look up tombstones.

        One that the backup does not know yet is made, empty: else a client that sends its transcript again
        would make it, and nobody would look.
        """
        try:
            stored = lock(self.tx, self.scope, conversation_id)
        except NotFoundError:
            if self.past.salt != self.tx.salt or not self._has_erased_messages(conversation_id):
                return
            new = NewConversation(id=conversation_id, at=instant(at), agent=agent)
            stored = create(self.tx, self.scope, new)
        if not stored.has_erased:
            save(self.tx, self.scope, msgspec.structs.replace(stored, has_erased=True))

    def _has_erased_messages(self, conversation_id: str) -> bool:
        """Tell whether a person erased messages of the conversation; a summary may have replaced them as well."""
        for entry in self.past.entries:
            if (entry.tenant, entry.user) != self.owner:
                continue
            mark = message_tombstone(self.past.salt, conversation_id, entry.entity_id)
            if entry.kind == "clear" and entry.entity_id == conversation_id:
                return True
            if entry.kind == "message" and (self.owner, mark) in self.past.tombstones:
                return True
        return False
