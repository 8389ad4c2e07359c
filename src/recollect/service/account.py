"""Everything of one user at once: given away, taken in and erased."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.domain.conversation import ConversationCursor, ConversationQuery
from recollect.domain.erasure import Erasure, Receipt
from recollect.domain.exported import DamagedRecord, ExportHeader
from recollect.domain.exported_knowledge import (
    COUNTED,
    EndRecord,
    NoteRecord,
    UserRecord,
    memory_record,
    note_record,
    preference_records,
)
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.scope import Scope
from recollect.errors import CorruptRecordError, NotFoundError
from recollect.ports.store import Store
from recollect.service.conversations import CONVERSATION_CREATED, CONVERSATION_DELETED
from recollect.service.exporting import export_conversation
from recollect.service.importing import Imported, Importing, ImportParts
from recollect.service.keeping import Keeper
from recollect.service.means import Means
from recollect.service.memories import MEMORY_CREATED, MEMORY_DELETED
from recollect.service.notes import NOTES_UPDATED
from recollect.service.preferences import SETTINGS_UPDATED

if TYPE_CHECKING:
    from recollect.service.embedding import Embedding

_log = logging.getLogger(__name__)
#: Conversations, and versions of a note, that are read at once.
CONVERSATIONS, VERSIONS = 100, 20


class Account:
    """What a user can do with all that is theirs."""

    def __init__(self, store: Store, keeper: Keeper, embedding: Embedding, means: Means) -> None:
        self._store = store
        self._keeper = keeper
        self._embedding = embedding
        self._means = means

    async def export(self, scope: Scope) -> AsyncIterator[UserRecord]:
        """Give everything of the user: conversations with summaries, memories with history, notes, preferences.

        Every branch of a conversation is in it.
        It is read a page at a time while others go on writing: what is erased meanwhile is left out, and a
        conversation that is used meanwhile may come twice, which an import takes for one.
        The last record counts the others.
        """
        counts: Counter[str] = Counter()
        async for record in self._records(scope):
            if type(record) in COUNTED:
                counts[COUNTED[type(record)]] += 1
            yield record
        yield EndRecord(**counts)

    async def import_lines(self, scope: Scope, lines: AsyncIterator[bytes], *, trusted: bool = False) -> Imported:
        """Take in the lines of an export, this user's or another's, and return what was stored.

        What is stored already, known by its id, is skipped, and what was erased is refused.
        Unless the file is trusted, memories wait for review, messages count as imported, and notes and preferences
        are left out.
        Raise `InvalidInputError` at a line that cannot be read; what came before it is stored.
        """
        parts = ImportParts(self._store, self._keeper, self._embedding)
        importing = Importing(parts, scope, now=self._means.clock(), trusted=trusted)
        try:
            return await importing.take(lines)
        finally:
            stored = importing.imported
            _log.info("imported %s", stored.told())
            told = {
                CONVERSATION_CREATED: stored.conversations + stored.messages,
                MEMORY_CREATED: stored.memories,
                NOTES_UPDATED: stored.notes,
                SETTINGS_UPDATED: stored.preferences,
            }
            self._means.tell_of_many(scope, *(kind for kind, count in told.items() if count))

    async def erase(self, scope: Scope) -> Receipt:
        """Erase everything of the user, and return the receipt; whatever comes later starts afresh."""
        receipt = await self._store.erase_user(scope, Erasure(receipt_id=self._means.new_id(), at=self._means.clock()))
        self._means.tell_of_many(scope, CONVERSATION_DELETED, MEMORY_DELETED, NOTES_UPDATED, SETTINGS_UPDATED)
        return receipt

    async def _records(self, scope: Scope) -> AsyncIterator[UserRecord]:
        started = self._means.clock()
        yield ExportHeader(exported_at=started)
        async for record in self._conversations(scope, None):
            yield record
        # Whoever was used meanwhile may have moved past the page that would have held it.
        async for record in self._conversations(scope, started):
            yield record
        async for record in self._memories(scope):
            yield record
        for agent in await self._store.noting_agents(scope):
            async for version in self._note(Scope(scope.tenant, scope.user, agent)):
                yield version
        try:
            for kept in preference_records(await self._store.get_preferences(scope)):
                yield kept
        except CorruptRecordError as exc:
            _log.info("the preferences left the export: %s", exc.code)
        for damaged in await self._store.list_damaged(scope):
            if damaged.kind not in ("conversation", "message", "summary"):
                yield DamagedRecord(what=damaged.kind, id=damaged.id)

    async def _conversations(self, scope: Scope, used_since: datetime | None) -> AsyncIterator[UserRecord]:
        """Give the conversations, newest activity first, or those that were used since a time."""
        after: ConversationCursor | None = None
        while True:
            page = await self._store.list_conversations(scope, ConversationQuery(limit=CONVERSATIONS, after=after))
            for damaged in page.corrupt:
                yield DamagedRecord(conversation_id=damaged, what="conversation", id=damaged)
            for conversation in page.items:
                if used_since is not None and conversation.last_activity_at < used_since:
                    return
                try:
                    async for record in export_conversation(self._store, scope, conversation.id):
                        yield record
                except (NotFoundError, CorruptRecordError) as exc:
                    _log.info("%s left the export: %s", conversation.id, exc.code)
            if page.next is None:
                return
            after = page.next

    async def _memories(self, scope: Scope) -> AsyncIterator[UserRecord]:
        """Give all memories that are not deleted, current or not, the oldest first."""
        known = await self._store.read_memories(scope, self._embedding.model)
        for indexed in () if known is None else known.items:
            memory = indexed.memory
            try:
                history = await self._store.memory_history(scope, memory.id) if memory.version > 1 else ()
            except NotFoundError:
                continue
            yield memory_record(memory, history)

    async def _note(self, scope: Scope) -> AsyncIterator[NoteRecord]:
        """Give the versions of a note, the oldest first."""
        newest = (await self._store.get_note(scope)).version
        for below in range(0, newest, VERSIONS):
            query = NoteHistoryQuery(limit=VERSIONS, before_version=below + VERSIONS + 1)
            page = await self._store.note_history(scope, query)
            for version in reversed(page):
                if below < version.version <= newest:
                    yield note_record(version)
