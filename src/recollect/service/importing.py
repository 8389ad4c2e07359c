"""Take in what an export holds, record by record, so that a file of any length fits.

Ids are kept and everything stored by them, so the same file again, whole or in part, stores nothing twice, and what
was erased stays erased. A file may be anybody's work: unless it is trusted, memories of it wait for review, messages
are marked as imported so that whatever is learned from them waits too, and notes, which speak in every prompt, are
left out. No model is asked for anything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from recollect.domain.checks import as_utc, check_id, check_optional_id, check_time
from recollect.domain.conversation import ConversationChanges, NewConversation
from recollect.domain.exported import ConversationRecord, MessageRecord, SummaryRecord
from recollect.domain.exported_knowledge import MemoryRecord, NoteRecord, PreferenceRecord, UserRecord, read_record
from recollect.domain.memory import Extraction, MemoryChanges, NewMemory
from recollect.domain.message import NewMessage
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.errors import ConflictError, ErasedError, InvalidInputError, NotFoundError
from recollect.ports.store import Store
from recollect.service.embedding import EMBED
from recollect.service.keeping import TIDY, Keeper
from recollect.service.preferences import is_set, set_first

if TYPE_CHECKING:
    from recollect.service.embedding import Embedding

#: Messages, and memories, that are stored in one transaction.
MESSAGES, MEMORIES = 200, 100
#: Refusals that are told one by one; the others are only counted.
MOST_REFUSALS = 100


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was not stored although it was not there before."""

    line: int
    why: str


class Imported(msgspec.Struct, kw_only=True):
    """What an import stored so far."""

    conversations: int = 0
    messages: int = 0
    summaries: int = 0
    memories: int = 0
    #: Versions of notes.
    notes: int = 0
    preferences: int = 0
    #: Records that were there before.
    skipped: int = 0
    refused: int = 0
    #: Why, for the first of them.
    refusals: list[Refusal] = msgspec.field(default_factory=list)

    def refuse(self, line: int, why: str) -> None:
        """Count a record that is not stored."""
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(Refusal(line=line, why=why))

    def told(self) -> str:
        """Tell the counts in words."""
        names = ("conversations", "messages", "summaries", "memories", "notes", "preferences", "skipped", "refused")
        return ", ".join(f"{name} {getattr(self, name)}" for name in names)


class _Open:
    """The conversation whose messages are being read."""

    def __init__(self, conversation_id: str, record: ConversationRecord | None = None) -> None:
        self.id = conversation_id
        self.record = record
        self.is_erased = False
        #: Messages that wait to be stored, each with its line.
        self.waiting: list[tuple[int, NewMessage]] = []
        #: Messages of the file that are stored or will be.
        self.known: set[str] = set()
        #: The newest message that memories were learned from before.
        self.learned_id: str | None = None


class ImportParts(NamedTuple):
    """What an import is done with."""

    store: Store
    keeper: Keeper
    embedding: Embedding


class Importing:
    """One import of one user."""

    def __init__(self, parts: ImportParts, scope: Scope, *, now: datetime, trusted: bool) -> None:
        self._store, self._keeper, self._embedding = parts
        self._scope = scope
        self._now = now
        self._trusted = trusted
        self._open: _Open | None = None
        self._memories: list[tuple[int, MemoryRecord, NewMemory]] = []
        #: Whether the notes of an agent are those of the file.
        self._continues: dict[str, bool] = {}
        self.imported = Imported()

    async def take(self, lines: AsyncIterator[bytes]) -> Imported:
        """Store what the lines hold; raise `InvalidInputError` at a bad one, when all before it is stored."""
        number = 0
        async for line in lines:
            number += 1
            # An export as a JSON list has one record a line, too.
            told = line.strip().removesuffix(b",")
            if told in (b"", b"[", b"]"):
                continue
            try:
                await self._record(number, read_record(told))
            except InvalidInputError as exc:
                await self._close()
                raise self._bad_line(number, exc) from exc
        await self._close()
        return self.imported

    def _bad_line(self, number: int, fault: InvalidInputError) -> InvalidInputError:
        return InvalidInputError(
            f"line {number}: {fault}; stored before it: {self.imported.told()}; "
            "mend the line and send the file again, nothing is stored twice"
        )

    async def _record(self, line: int, record: UserRecord) -> None:
        match record:
            case ConversationRecord():
                await self._begin(line, record)
            case MessageRecord():
                await self._message(line, record)
            case SummaryRecord():
                await self._summary(line, record)
            case MemoryRecord():
                await self._memory(line, record)
            case NoteRecord():
                await self._note(line, record)
            case PreferenceRecord():
                await self._preferences(line, record)

    # Conversations

    async def _begin(self, line: int, record: ConversationRecord) -> None:
        """Create the conversation if it is not there."""
        await self._close()
        _state(record, self._now)
        new = NewConversation(
            id=record.id,
            at=record.created_at,
            agent=record.agent,
            title=record.title if record.title_source == "user" else None,
            metadata=record.metadata,
        )
        self._open = _Open(record.id, record)
        try:
            await self._store.get_conversation(self._scope, record.id)
            self.imported.skipped += 1
        except NotFoundError:
            try:
                await self._store.create_conversation(self._scope, new)
                self.imported.conversations += 1
            except ErasedError as exc:
                self._open.is_erased = True
                self.imported.refuse(line, str(exc))

    async def _opened(self, conversation_id: str) -> _Open:
        """Return the conversation of a record; where a file was cut, its own record may stand in an earlier part."""
        if self._open is None or self._open.id != conversation_id:
            check_id(conversation_id, "conversation id")
            await self._close()
            self._open = _Open(conversation_id)
        return self._open

    async def _message(self, line: int, record: MessageRecord) -> None:
        opened = await self._opened(record.conversation_id)
        new = record.new()
        if not await self._is_known(opened, record.parent_id):
            # What it answered was damaged or deleted; the message before it is the nearest to that.
            new = msgspec.structs.replace(new, parent_id=UNSET)
        if not self._trusted:
            new = msgspec.structs.replace(new, metadata={**new.metadata, "origin": "import"})
        opened.waiting.append((line, new))
        opened.known.add(new.id)
        if opened.record is not None and record.seq <= opened.record.extracted_seq:
            opened.learned_id = record.id
        if len(opened.waiting) >= MESSAGES:
            await self._store_messages(opened)

    async def _is_known(self, opened: _Open, message_id: str | None) -> bool:
        if message_id is None or message_id in opened.known:
            return True
        try:
            await self._store.get_message(self._scope, opened.id, message_id)
        except NotFoundError:
            return False
        return True

    async def _store_messages(self, opened: _Open) -> None:
        """Store the messages that wait, in one transaction."""
        waiting, opened.waiting = opened.waiting, []
        if not waiting:
            return
        append = await self._keeper.append(None, opened.id, tuple(message for _, message in waiting))
        at = self._now if opened.record is None else opened.record.last_activity_at
        # Summaries and memories come with the file; what is left to do waits until the conversation goes on.
        jobs = tuple(job for job in append.jobs if job.kind in (EMBED, TIDY))
        try:
            appended = await self._store.append(self._scope, msgspec.structs.replace(append, at=at, jobs=jobs))
        except ErasedError as exc:
            for line, _ in waiting:
                self.imported.refuse(line, str(exc))
            return
        self.imported.messages += len(appended.messages)
        self.imported.skipped += len(appended.duplicates)
        refused = set(appended.refused)
        for line, message in waiting:
            if message.id in refused:
                self.imported.refuse(line, "the message was erased")

    async def _summary(self, line: int, record: SummaryRecord) -> None:
        opened = await self._opened(record.conversation_id)
        await self._store_messages(opened)
        new = record.new()
        try:
            await self._store.expand_summary(self._scope, opened.id, record.id)
            self.imported.skipped += 1
        except NotFoundError:
            try:
                await self._store.put_summary(self._scope, new)
                self.imported.summaries += 1
            except (ConflictError, NotFoundError) as exc:
                self.imported.refuse(line, str(exc))

    async def _close(self) -> None:
        """Store what waits, and leave the conversation as it was exported."""
        opened, self._open = self._open, None
        if opened is not None:
            await self._store_messages(opened)
            if opened.record is not None and not opened.is_erased:
                await self._mark_learned(opened)
                await self._settle(opened, opened.record)
        await self._store_memories()

    async def _mark_learned(self, opened: _Open) -> None:
        """Say that memories were learned from what they were learned from before."""
        if opened.learned_id is None:
            return
        try:
            learned = await self._store.get_message(self._scope, opened.id, opened.learned_id)
            conversation = await self._store.get_conversation(self._scope, opened.id)
            if learned.seq > conversation.extracted_seq:
                await self._store.save_extraction(
                    self._scope,
                    Extraction(
                        conversation_id=opened.id,
                        from_seq=conversation.extracted_seq,
                        to_seq=learned.seq,
                        at=self._now,
                    ),
                )
        except (NotFoundError, ConflictError):
            return  # it is learned from again, and what that finds is known already

    async def _settle(self, opened: _Open, record: ConversationRecord) -> None:
        """Give a conversation that no person changed since it was created the state that it had."""
        try:
            conversation = await self._store.get_conversation(self._scope, opened.id)
            if conversation.version != 1:
                return
            changes = _state(record, self._now)
            can_move = conversation.head_id in opened.known and record.head_id in opened.known
            if can_move and await self._is_stored(opened.id, record.head_id):
                changes = msgspec.structs.replace(changes, head_id=record.head_id)
            await self._store.change_conversation(self._scope, opened.id, changes)
        except NotFoundError:
            return  # somebody erased it meanwhile

    async def _is_stored(self, conversation_id: str, message_id: str | None) -> bool:
        try:
            await self._store.get_message(self._scope, conversation_id, message_id or "")
        except NotFoundError:
            return False
        return True

    # Memories

    async def _memory(self, line: int, record: MemoryRecord) -> None:
        if self._open is not None:
            await self._close()
        self._memories.append((line, record, record.new(trusted=self._trusted)))
        if len(self._memories) >= MEMORIES:
            await self._store_memories()

    async def _store_memories(self) -> None:
        """Store the memories that wait, then what cannot be said of a new one: that it is set aside or superseded."""
        waiting, self._memories = self._memories, []
        if not waiting:
            return
        made = await self._embedding.vectors(self._scope, [new.content for _, _, new in waiting])
        new = tuple(msgspec.structs.replace(one, vector=v) for (_, _, one), v in zip(waiting, made, strict=True))
        saved = await self._store.add_memories(self._scope, new)
        self.imported.memories += len(saved.created)
        self.imported.skipped += len(saved.duplicates)
        created, refused = {memory.id for memory in saved.created}, set(saved.refused)
        for line, record, _ in waiting:
            if record.id in refused:
                self.imported.refuse(line, "the memory or a message that it comes from was erased")
            elif record.id in created and (record.is_archived or record.superseded_by is not None):
                changes = MemoryChanges(
                    at=self._now, is_archived=record.is_archived, superseded_by=record.superseded_by
                )
                await self._store.change_memory(self._scope, record.id, changes)

    # Notes

    async def _note(self, line: int, record: NoteRecord) -> None:
        """Write the next version of a note, if the note is that of the file."""
        await self._close()
        scope = Scope(self._scope.tenant, self._scope.user, check_id(record.agent, "agent"))
        change = NoteChange(
            operation="overwrite",
            at=record.created_at,
            content=redacted(record.notes).text,
            conversation_id=record.conversation_id,
        )
        if not self._trusted:
            self.imported.refuse(line, "notes are taken over only from a trusted file")
            return
        note = await self._store.get_note(scope)
        if record.agent not in self._continues:
            self._continues[record.agent] = await self._is_same(scope, note, record, change)
        if not self._continues[record.agent]:
            self.imported.refuse(line, "the agent has other notes already")
        elif note.updated_at is not None and as_utc(change.at) <= note.updated_at:
            self.imported.skipped += 1
        else:
            await self._write_note(line, scope, note, change)

    async def _write_note(self, line: int, scope: Scope, note: Note, change: NoteChange) -> None:
        try:
            written = await self._store.change_note(
                scope, msgspec.structs.replace(change, expected_version=note.version)
            )
        except (ErasedError, ConflictError) as exc:
            self.imported.refuse(line, str(exc))
            return
        if written.version == note.version:
            self.imported.skipped += 1
        else:
            self.imported.notes += 1

    async def _is_same(self, scope: Scope, note: Note, record: NoteRecord, change: NoteChange) -> bool:
        """Tell whether the note is empty, or goes back to this version or to the one before it."""
        if note.version in (0, record.version - 1):
            return True
        query = NoteHistoryQuery(limit=1, before_version=record.version + 1)
        return any(
            (one.notes, one.created_at) == (change.content, as_utc(change.at))
            for one in await self._store.note_history(scope, query)
        )

    # Preferences

    async def _preferences(self, line: int, record: PreferenceRecord) -> None:
        """Set what the file says, if the user set nothing yet."""
        await self._close()
        changes = record.changes()
        if not self._trusted:
            self.imported.refuse(line, "preferences are taken over only from a trusted file")
        elif await set_first(self._store, self._scope, changes):
            self.imported.preferences += 1
        elif await is_set(self._store, self._scope, changes):
            self.imported.skipped += 1
        else:
            self.imported.refuse(line, "the user has other preferences already")


def _state(record: ConversationRecord, at: datetime) -> ConversationChanges:
    """Return what makes a new conversation what it was, but for its head."""
    check_optional_id(record.head_id, "head_id")
    check_time(record.last_activity_at, "last_activity_at")
    return ConversationChanges(
        at=at,
        title=UNSET if record.title is None else record.title,
        title_source=record.title_source,
        is_archived=record.is_archived,
        is_pinned=record.is_pinned,
    )
