"""Which replies repeat what, in SQL: kept with every reply, followed by every erasure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recollect.domain.erasure import Tombstone, repeated_tombstones
from recollect.domain.message import Message, NewMessage
from recollect.domain.repeating import Repeated, repeated_by
from recollect.domain.scope import Scope
from recollect.storage.driver import Row, Transaction
from recollect.storage.rows import scoped
from recollect.storage.tombstones import buried


class Place(NamedTuple):
    """Where a reply stands, or stood until a summary took its place."""

    conversation_id: str
    message_id: str
    seq: int


def hold(tx: Transaction, scope: Scope, messages: Iterable[NewMessage]) -> None:
    """Let nobody erase what these messages repeat until the transaction ends; call it before anything else is held."""
    if any(map(repeated_by, messages)):
        tx.one("lock_user", **scoped(scope))


def keep(tx: Transaction, scope: Scope, message: Message) -> None:
    """Keep what a message repeats, so that it is found when that is erased."""
    for source in repeated_by(message):
        values = {"source_conversation_id": source.conversation_id, "source_id": source.id}
        place = {"conversation_id": message.conversation_id, "message_id": message.id, "seq": message.seq}
        tx.run("insert_repeat", **scoped(scope), **values, **place)


def of_erased(tx: Transaction, scope: Scope, messages: Iterable[NewMessage]) -> frozenset[str]:
    """Return the ids of those messages that repeat something erased."""
    named: dict[Tombstone, set[str]] = {}
    for message in messages:
        for source in repeated_by(message):
            for mark in repeated_tombstones(tx.salt, source):
                named.setdefault(mark, set()).add(message.id)
    found: set[str] = set()
    for kind in sorted({mark.kind for mark in named}):
        for mark in buried(tx, scope, [mark for mark in named if mark.kind == kind]):
            found |= named[mark]
    return frozenset(found)


def of(tx: Transaction, scope: Scope, source: Repeated) -> frozenset[Place]:
    """Return the replies that repeat a message or a memory."""
    values = {"source_conversation_id": source.conversation_id, "source_id": source.id}
    return _places(tx.all("repeats_of_source", **scoped(scope), **values))


def of_conversation(tx: Transaction, scope: Scope, conversation_id: str) -> frozenset[Place]:
    """Return the replies that repeat any message of a conversation, also one that a summary took the place of."""
    return _places(tx.all("repeats_of_conversation", **scoped(scope), source_conversation_id=conversation_id))


def drop(tx: Transaction, scope: Scope, conversation_id: str, message_id: str) -> None:
    """Forget what a message repeats that is erased."""
    tx.run("delete_repeats", **scoped(scope), conversation_id=conversation_id, message_id=message_id)


def drop_in(tx: Transaction, scope: Scope, conversation_id: str) -> None:
    """Forget what the messages of a conversation repeat that is emptied."""
    tx.run("delete_repeats_in", **scoped(scope), conversation_id=conversation_id)


def _places(found: Iterable[Row]) -> frozenset[Place]:
    return frozenset(Place(*row) for row in found)
