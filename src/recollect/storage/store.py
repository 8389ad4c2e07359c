"""One store over named queries, the same for every dialect; the driver decides how a transaction runs.

Contracts are written on the ports, which also tell what arguments are refused; here each method names its work.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TypeVar

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    FoundConversations,
    NewConversation,
)
from recollect.domain.erasure import Erasure, Receipt
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.job import Claim, ClaimedJob, ClaimRequest, Job, JobFailure, JobQuery, NewJob
from recollect.domain.memory import (
    Extraction,
    Memory,
    MemoryChanges,
    MemoryPage,
    MemoryPlan,
    MemoryQuery,
    MemoryVersion,
    NewMemory,
    SavedMemories,
)
from recollect.domain.message import Message
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion
from recollect.domain.page import Hit, MessagePage, MessageQuery, SearchQuery
from recollect.domain.passage import IndexedMemories, MatchedPassages, PassageMatch, PassageQuery, Passages, Unembedded
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary, Summary
from recollect.domain.turn import Append, Appended, ArchiveBatch, ArchivedBatch, TurnRecord
from recollect.domain.vector import VectorBatch
from recollect.domain.window import Backlog, Unextracted, Window, after_append, after_change, after_summary
from recollect.errors import StorageError
from recollect.ports.erasure import Damaged
from recollect.ports.windows import WindowCache
from recollect.storage import (
    audit,
    conversations,
    damage,
    finding,
    jobs,
    memories,
    notes,
    pages,
    passages,
    requests,
    summaries,
    unembedded,
    vectors,
)
from recollect.storage import erasure as erasing
from recollect.storage import windows as reading
from recollect.storage.checked import checked
from recollect.storage.damage import Sound
from recollect.storage.driver import Driver, Transaction, Work
from recollect.storage.holdings import HoldingsRecords
from recollect.storage.keys import KeyRecords
from recollect.storage.preferences import PreferenceRecords
from recollect.storage.rows import micros, scoped
from recollect.storage.signing import Signing
from recollect.storage.turns import TurnRecords
from recollect.storage.usage import UsageRecords
from recollect.storage.vectors import Unsound
from recollect.storage.window_keeper import After, WindowKeeper, unknown_window

T = TypeVar("T")
#: So many conversations are compared with what is known of them in no time.
FEW_CONVERSATIONS = 100


@checked
class SqlStore(TurnRecords, PreferenceRecords, UsageRecords, HoldingsRecords, KeyRecords, Signing):
    """Keep everything in one SQL database."""

    def __init__(self, driver: Driver, windows: WindowCache | None = None, *, window_size: int = 20) -> None:
        self._driver = driver
        self._windows = WindowKeeper(windows)
        self._window_size = window_size

    @property
    def cache_is_up(self) -> bool:
        """Tell whether the cache is used, or passed by because it cannot be reached."""
        return self._windows.is_up

    async def _read(self, scope: Scope, work: Work[T], *, quick: bool = True) -> T:
        return await damage.reported(self._driver, scope, self._driver.read(scope, work, quick=quick))

    async def _read_sound(self, scope: Scope, kind: str, work: Work[Sound[T]], *, quick: bool = True) -> tuple[T, ...]:
        whole, corrupt = await self._read(scope, work, quick=quick)
        await damage.report(self._driver, scope, kind, corrupt)
        return whole

    async def _write(self, scope: Scope, work: Work[T]) -> T:
        return await damage.reported(self._driver, scope, self._driver.write(scope, work))

    async def _change(self, scope: Scope, conversation_id: str, work: Work[T], after: After[T] = unknown_window) -> T:
        """Write to one conversation whose window may be cached."""
        return await self._windows.change(scope, conversation_id, lambda: self._write(scope, work), after)

    async def _load(self, scope: Scope, conversation_id: str, known: int | None = None) -> Window | None:
        size = self._window_size
        found = await self._read(scope, lambda tx: reading.read(tx, scope, conversation_id, size, known))
        if found is None:
            return None
        window, corrupt_summaries = found
        await damage.report(self._driver, scope, "message", window.corrupt)
        await damage.report(self._driver, scope, "summary", corrupt_summaries)
        return window

    async def _erase(self, scope: Scope, work: Work[Receipt]) -> Receipt:
        """Erase something; replies that repeat it may stand in any conversation of the user."""
        return await self._scrubbed(await self._windows.change_many(scope, lambda: self._write(scope, work)))

    async def _scrubbed(self, receipt: Receipt) -> Receipt:
        try:
            await self._driver.scrub()
        except StorageError:
            damage.log_unscrubbed(receipt.receipt_id)
        return receipt

    # Conversations

    async def create_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        return await self._write(scope, lambda tx: conversations.create(tx, scope, new).value)

    async def current_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        return await self._write(scope, lambda tx: conversations.current(tx, scope, new))

    async def get_conversation(self, scope: Scope, conversation_id: str) -> Conversation:
        return await self._read(scope, lambda tx: conversations.find(tx, scope, conversation_id).value)

    async def list_conversations(self, scope: Scope, query: ConversationQuery) -> ConversationPage:
        page = await self._read(scope, lambda tx: conversations.page(tx, scope, query))
        await damage.report(self._driver, scope, "conversation", page.corrupt)
        return page

    async def search_conversations(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        found = await self._read(scope, lambda tx: finding.search(tx, scope, query), quick=False)
        await damage.report(self._driver, scope, "conversation", found.corrupt)
        return found

    async def conversations_holding(self, scope: Scope, message_id: str, limit: int) -> tuple[str, ...]:
        return await self._read(scope, lambda tx: finding.holding(tx, scope, message_id, limit))

    async def change_conversation(
        self, scope: Scope, conversation_id: str, changes: ConversationChanges
    ) -> Conversation:
        return await self._change(
            scope, conversation_id, lambda tx: conversations.change(tx, scope, conversation_id, changes), after_change
        )

    async def mark_inactive(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[str, ...]:
        before = micros(idle_since)
        return await self._windows.change_many(
            scope, lambda: self._write(scope, lambda tx: conversations.mark_inactive(tx, scope, before, limit))
        )

    async def list_idle(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[Conversation, ...]:
        before = micros(idle_since)
        return await self._read_sound(scope, "conversation", lambda tx: conversations.idle(tx, scope, before, limit))

    async def append(self, scope: Scope, request: Append) -> Appended:
        return await self._change(
            scope, request.conversation_id, lambda tx: conversations.append(tx, scope, request), self._after_append
        )

    async def record_turn(self, scope: Scope, record: TurnRecord) -> Appended:
        return await self._change(
            scope,
            record.append.conversation_id,
            lambda tx: conversations.record_turn(tx, scope, record),
            self._after_append,
        )

    async def archive(self, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
        return await self._change(
            scope, batch.append.conversation_id, lambda tx: conversations.archive(tx, scope, batch)
        )

    async def get_message(self, scope: Scope, conversation_id: str, message_id: str) -> Message:
        return await self._read(scope, lambda tx: pages.message(tx, scope, conversation_id, message_id))

    async def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        page = await self._read(scope, lambda tx: pages.messages(tx, scope, query))
        if page.corrupt or page.corrupt_summaries:
            await damage.report(self._driver, scope, "message", page.corrupt)
            await damage.report(self._driver, scope, "summary", page.corrupt_summaries)
        return page

    async def get_window(self, scope: Scope, conversation_id: str) -> Window:
        return await self._windows.get(scope, conversation_id, partial(self._load, scope, conversation_id))

    async def list_unextracted(self, scope: Scope, conversation_id: str, limit: int, context: int) -> Unextracted:
        work = partial(reading.unextracted, scope=scope, conversation_id=conversation_id, limit=limit, context=context)
        return await self._read(scope, work)

    async def get_backlog(self, scope: Scope, conversation_id: str, limit: int) -> Backlog:
        return await self._read(scope, lambda tx: reading.backlog(tx, scope, conversation_id, limit), quick=False)

    async def search_messages(self, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
        return await self._read(scope, lambda tx: pages.search(tx, scope, query), quick=False)

    async def put_summary(self, scope: Scope, new: NewSummary) -> Summary:
        stored = await self._change(
            scope, new.conversation_id, lambda tx: summaries.put(tx, scope, new), self._after_summary
        )
        return stored[0]

    async def active_summaries(self, scope: Scope, conversation_id: str) -> tuple[Summary, ...]:
        return await self._read_sound(scope, "summary", lambda tx: summaries.active(tx, scope, conversation_id))

    async def expand_summary(self, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
        work = partial(_expand, scope, conversation_id, summary_id)
        return await self._read(scope, work, quick=False)

    # Memories

    async def add_memories(self, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
        return await self._write(scope, lambda tx: memories.add(tx, scope, new))

    async def get_memory(self, scope: Scope, memory_id: str) -> Memory:
        return await self._read(scope, lambda tx: memories.find(tx, scope, memory_id))

    async def find_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Memory, ...]:
        return await self._read_sound(scope, "memory", lambda tx: memories.some(tx, scope, memory_ids))

    async def list_memories(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        page = await self._read(scope, lambda tx: memories.page(tx, scope, query), quick=False)
        await damage.report(self._driver, scope, "memory", page.corrupt)
        return page

    async def change_memory(self, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
        return await self._write(scope, lambda tx: memories.change(tx, scope, memory_id, changes))

    async def save_memories(self, scope: Scope, plan: MemoryPlan) -> SavedMemories:
        return await self._write(scope, lambda tx: memories.save_plan(tx, scope, plan))

    async def save_extraction(self, scope: Scope, result: Extraction) -> SavedMemories:
        return await self._change(scope, result.conversation_id, lambda tx: memories.save_extraction(tx, scope, result))

    async def memory_history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        return await self._read_sound(scope, "memory version", lambda tx: memories.history(tx, scope, memory_id))

    # Recall

    async def read_passages(self, scope: Scope, query: PassageQuery) -> Passages:
        few = 0 < len(query.known) <= FEW_CONVERSATIONS
        found = await self._read(scope, lambda tx: passages.read(tx, scope, query), quick=few)
        return await self._told(scope, *found)

    async def match_passages(self, scope: Scope, match: PassageMatch) -> MatchedPassages:
        found = await self._read(scope, lambda tx: passages.match(tx, scope, match), quick=False)
        return await self._told(scope, *found)

    async def read_memories(self, scope: Scope, model: str, known: int | None = None) -> IndexedMemories | None:
        if known is not None and await self._read(scope, lambda tx: passages.memory_revision(tx, scope)) == known:
            return None
        found = await self._read(scope, lambda tx: passages.memories(tx, scope, model, known), quick=False)
        return await self._told(scope, *found)

    async def list_unembedded(self, scope: Scope, model: str, limit: int) -> Unembedded:
        found = await self._read(scope, lambda tx: unembedded.find(tx, scope, model, limit), quick=False)
        return await self._told(scope, *found)

    async def save_vectors(self, scope: Scope, batch: VectorBatch) -> int:
        work = partial(unembedded.save, scope=scope, batch=batch)
        if batch.conversation_id is None:
            saved = await self._write(scope, work)
        else:
            saved = await self._change(scope, batch.conversation_id, work, _after_vectors)
        return saved[0]

    async def _told(self, scope: Scope, found: T, unsound: Unsound) -> T:
        """Return what was found, once it is written down what was damaged."""
        await damage.report(self._driver, scope, "conversation", unsound.conversations)
        await damage.report(self._driver, scope, "message", unsound.messages)
        await damage.report(self._driver, scope, "memory", unsound.memories)
        await vectors.reset(self._driver, scope, unsound.vectors)
        return found

    # Notes

    async def get_note(self, scope: Scope) -> Note:
        return await self._read(scope, lambda tx: notes.read(tx, scope))

    async def noting_agents(self, scope: Scope) -> tuple[str, ...]:
        return await self._read(scope, lambda tx: notes.agents(tx, scope))

    async def change_note(self, scope: Scope, change: NoteChange) -> Note:
        return await self._write(scope, lambda tx: notes.change(tx, scope, change))

    async def undo_note(self, scope: Scope, at: datetime) -> Note:
        return await self._write(scope, lambda tx: notes.undo(tx, scope, at))

    async def note_history(self, scope: Scope, query: NoteHistoryQuery) -> tuple[NoteVersion, ...]:
        return await self._read_sound(scope, "note version", lambda tx: notes.history(tx, scope, query))

    # Jobs

    async def enqueue_job(self, scope: Scope, new: NewJob, at: datetime) -> Job:
        return await self._write(scope, lambda tx: jobs.enqueue(tx, scope, new, at))

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        return await self._driver.write_any(lambda tx: jobs.claim(tx, request))

    async def complete_job(self, scope: Scope, claim: Claim, at: datetime) -> Job:
        return await self._write(scope, lambda tx: jobs.complete(tx, scope, claim, at))

    async def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        return await self._write(scope, lambda tx: jobs.fail(tx, scope, claim, failure))

    async def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
        return await self._write(scope, lambda tx: jobs.heartbeat(tx, scope, claim, lease_until))

    async def get_job(self, scope: Scope, job_id: str) -> Job:
        return await self._read(scope, lambda tx: jobs.find(tx, scope, job_id))

    async def list_jobs(self, scope: Scope, query: JobQuery) -> tuple[Job, ...]:
        return await self._read_sound(scope, "job", lambda tx: jobs.page(tx, scope, query))

    async def retry_job(self, scope: Scope, job_id: str, at: datetime) -> Job:
        return await self._write(scope, lambda tx: jobs.retry(tx, scope, job_id, at))

    async def forget_jobs(self, scope: Scope, before: datetime) -> int:
        at = micros(before)
        return await self._write(scope, lambda tx: tx.run("delete_done_jobs", **scoped(scope), before=at))

    # Requests

    async def begin_request(self, scope: Scope, start: RequestStart) -> Answer | None:
        return await self._write(scope, lambda tx: requests.begin(tx, scope, start))

    async def finish_request(self, scope: Scope, answer: Answer, at: datetime) -> None:
        await self._write(scope, lambda tx: requests.finish(tx, scope, answer, at))

    async def abandon_request(self, scope: Scope, request: RequestKey) -> None:
        await self._write(scope, lambda tx: requests.abandon(tx, scope, request))

    async def forget_requests(self, scope: Scope, before: datetime) -> int:
        at = micros(before)
        return await self._write(scope, lambda tx: tx.run("delete_old_requests", **scoped(scope), before=at))

    # Erasing

    async def clear_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        return await self._erase(scope, lambda tx: erasing.clear(tx, scope, conversation_id, erasure))

    async def erase_message(self, scope: Scope, conversation_id: str, message_id: str, erasure: Erasure) -> Receipt:
        return await self._erase(scope, lambda tx: erasing.message(tx, scope, conversation_id, message_id, erasure))

    async def erase_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        return await self._erase(scope, lambda tx: erasing.conversation(tx, scope, conversation_id, erasure))

    async def erase_memory(self, scope: Scope, memory_id: str, erasure: Erasure) -> Receipt:
        return await self._erase(scope, lambda tx: erasing.memory(tx, scope, memory_id, erasure))

    async def erase_user(self, scope: Scope, erasure: Erasure) -> Receipt:
        return await self._erase(scope, lambda tx: erasing.user(tx, scope, erasure))

    async def list_audit(self, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
        return await self._read_sound(scope, "audit entry", lambda tx: audit.page(tx, scope, query))

    async def list_damaged(self, scope: Scope) -> tuple[Damaged, ...]:
        return await self._read(scope, lambda tx: damage.page(tx, scope))

    async def close(self) -> None:
        await self._windows.close()
        await self._driver.close()

    def _after_append(self, window: Window | None, appended: Appended) -> Window | None:
        return after_append(window, appended, self._window_size)

    def _after_summary(self, window: Window | None, stored: tuple[Summary, Conversation]) -> Window | None:
        return after_summary(window, *stored, self._window_size)


def _after_vectors(window: Window | None, saved: tuple[int, Conversation | None]) -> Window | None:
    return None if saved[1] is None else after_change(window, saved[1])


def _expand(scope: Scope, conversation_id: str, summary_id: str, tx: Transaction) -> tuple[Summary, ...]:
    return summaries.expand(tx, scope, conversation_id, summary_id)
