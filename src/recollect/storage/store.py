"""One store over named queries, the same for every dialect; the driver decides how a transaction runs.

Contracts are written on the ports; here each method checks its arguments and names its work.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TypeVar

from recollect.domain.audit import AuditEntry, AuditQuery
from recollect.domain.checks import check_id, check_items, check_limit, check_time, check_type
from recollect.domain.conversation import (
    Conversation,
    ConversationChanges,
    ConversationPage,
    ConversationQuery,
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
    MemoryQuery,
    MemoryVersion,
    NewMemory,
    SavedMemories,
)
from recollect.domain.message import Message
from recollect.domain.note import Note, NoteChange, NoteHistoryQuery, NoteVersion
from recollect.domain.page import Hit, MessagePage, MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary, Summary
from recollect.domain.turn import Append, Appended, ArchiveBatch, ArchivedBatch, Turn, TurnRecord
from recollect.errors import StorageUnavailableError
from recollect.ports.erasure import Damaged
from recollect.storage import audit, conversations, damage, erasure, jobs, memories, notes, pages, requests, summaries
from recollect.storage.driver import Driver, Transaction, Work
from recollect.storage.rows import micros, scoped

T = TypeVar("T")


class SqlStore:
    """Keep everything in one SQL database."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _read(self, scope: Scope, work: Work[T], *, quick: bool = True) -> T:
        check_type(scope, Scope, "scope")
        return await self._driver.read(scope, work, quick=quick)

    async def _write(self, scope: Scope, work: Work[T]) -> T:
        check_type(scope, Scope, "scope")
        return await self._driver.write(scope, work)

    async def _erase(self, scope: Scope, work: Work[Receipt]) -> Receipt:
        receipt = await self._write(scope, work)
        try:
            await self._driver.scrub()
        except StorageUnavailableError:
            damage.log_unscrubbed(receipt.receipt_id)
        return receipt

    # Conversations

    async def create_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        check_type(new, NewConversation, "new")
        return await self._write(scope, lambda tx: conversations.create(tx, scope, new).value)

    async def current_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        check_type(new, NewConversation, "new")
        return await self._write(scope, lambda tx: conversations.current(tx, scope, new))

    async def get_conversation(self, scope: Scope, conversation_id: str) -> Conversation:
        check_id(conversation_id, "conversation id")
        return await self._read(scope, lambda tx: conversations.find(tx, scope, conversation_id).value)

    async def list_conversations(self, scope: Scope, query: ConversationQuery) -> ConversationPage:
        check_type(query, ConversationQuery, "query")
        page = await self._read(scope, lambda tx: conversations.page(tx, scope, query))
        await damage.report(self._driver, scope, "conversation", page.corrupt)
        return page

    async def change_conversation(
        self, scope: Scope, conversation_id: str, changes: ConversationChanges
    ) -> Conversation:
        check_id(conversation_id, "conversation id")
        check_type(changes, ConversationChanges, "changes")
        return await self._write(scope, lambda tx: conversations.change(tx, scope, conversation_id, changes))

    async def mark_inactive(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[str, ...]:
        before = micros(check_time(idle_since, "idle_since"))
        check_limit(limit)
        return await self._write(scope, lambda tx: conversations.mark_inactive(tx, scope, before, limit))

    async def append(self, scope: Scope, request: Append) -> Appended:
        check_type(request, Append, "request")
        return await self._write(scope, lambda tx: conversations.append(tx, scope, request))

    async def record_turn(self, scope: Scope, record: TurnRecord) -> Appended:
        check_type(record, TurnRecord, "record")
        return await self._write(scope, lambda tx: conversations.record_turn(tx, scope, record))

    async def archive(self, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
        check_type(batch, ArchiveBatch, "batch")
        return await self._write(scope, lambda tx: conversations.archive(tx, scope, batch))

    async def get_message(self, scope: Scope, conversation_id: str, message_id: str) -> Message:
        check_id(conversation_id, "conversation id")
        check_id(message_id, "message id")
        return await self._read(scope, lambda tx: pages.message(tx, scope, conversation_id, message_id))

    async def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        check_type(query, MessageQuery, "query")
        page = await self._read(scope, lambda tx: pages.messages(tx, scope, query))
        if page.corrupt:
            await damage.report(self._driver, scope, "message", page.corrupt)
        return page

    async def list_turns(self, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
        check_id(conversation_id, "conversation id")
        return await self._read(scope, lambda tx: conversations.turns(tx, scope, conversation_id), quick=False)

    async def search_messages(self, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
        check_type(query, SearchQuery, "query")
        return await self._read(scope, lambda tx: pages.search(tx, scope, query), quick=False)

    async def put_summary(self, scope: Scope, new: NewSummary) -> Summary:
        check_type(new, NewSummary, "new")
        return await self._write(scope, lambda tx: summaries.put(tx, scope, new))

    async def active_summaries(self, scope: Scope, conversation_id: str) -> tuple[Summary, ...]:
        check_id(conversation_id, "conversation id")
        return await self._read(scope, lambda tx: summaries.active(tx, scope, conversation_id))

    async def expand_summary(self, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
        check_id(conversation_id, "conversation id")
        check_id(summary_id, "summary id")
        work = partial(_expand, scope, conversation_id, summary_id)
        return await self._read(scope, work, quick=False)

    # Memories

    async def add_memories(self, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
        check_items(new, NewMemory, "new", at_least=1, at_most=1_000)
        return await self._write(scope, lambda tx: memories.add(tx, scope, new))

    async def get_memory(self, scope: Scope, memory_id: str) -> Memory:
        check_id(memory_id, "memory id")
        return await self._read(scope, lambda tx: memories.find(tx, scope, memory_id))

    async def list_memories(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        check_type(query, MemoryQuery, "query")
        page = await self._read(scope, lambda tx: memories.page(tx, scope, query), quick=False)
        await damage.report(self._driver, scope, "memory", page.corrupt)
        return page

    async def change_memory(self, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
        check_id(memory_id, "memory id")
        check_type(changes, MemoryChanges, "changes")
        return await self._write(scope, lambda tx: memories.change(tx, scope, memory_id, changes))

    async def save_extraction(self, scope: Scope, result: Extraction) -> SavedMemories:
        check_type(result, Extraction, "result")
        return await self._write(scope, lambda tx: memories.save_extraction(tx, scope, result))

    async def memory_history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        check_id(memory_id, "memory id")
        return await self._read(scope, lambda tx: memories.history(tx, scope, memory_id))

    # Notes

    async def get_note(self, scope: Scope) -> Note:
        return await self._read(scope, lambda tx: notes.read(tx, scope))

    async def change_note(self, scope: Scope, change: NoteChange) -> Note:
        check_type(change, NoteChange, "change")
        return await self._write(scope, lambda tx: notes.change(tx, scope, change))

    async def undo_note(self, scope: Scope, at: datetime) -> Note:
        check_time(at, "at")
        return await self._write(scope, lambda tx: notes.undo(tx, scope, at))

    async def note_history(self, scope: Scope, query: NoteHistoryQuery) -> tuple[NoteVersion, ...]:
        check_type(query, NoteHistoryQuery, "query")
        return await self._read(scope, lambda tx: notes.history(tx, scope, query))

    # Jobs

    async def enqueue_job(self, scope: Scope, new: NewJob, at: datetime) -> Job:
        check_type(new, NewJob, "new")
        check_time(at, "at")
        return await self._write(scope, lambda tx: jobs.enqueue(tx, scope, new, at))

    async def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        check_type(request, ClaimRequest, "request")
        return await self._driver.write_any(lambda tx: jobs.claim(tx, request))

    async def complete_job(self, scope: Scope, claim: Claim, at: datetime) -> Job:
        check_type(claim, Claim, "claim")
        check_time(at, "at")
        return await self._write(scope, lambda tx: jobs.complete(tx, scope, claim, at))

    async def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        check_type(claim, Claim, "claim")
        check_type(failure, JobFailure, "failure")
        return await self._write(scope, lambda tx: jobs.fail(tx, scope, claim, failure))

    async def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
        check_type(claim, Claim, "claim")
        check_time(lease_until, "lease_until")
        return await self._write(scope, lambda tx: jobs.heartbeat(tx, scope, claim, lease_until))

    async def get_job(self, scope: Scope, job_id: str) -> Job:
        check_id(job_id, "job id")
        return await self._read(scope, lambda tx: jobs.find(tx, scope, job_id))

    async def list_jobs(self, scope: Scope, query: JobQuery) -> tuple[Job, ...]:
        check_type(query, JobQuery, "query")
        return await self._read(scope, lambda tx: jobs.page(tx, scope, query))

    async def retry_job(self, scope: Scope, job_id: str, at: datetime) -> Job:
        check_id(job_id, "job id")
        check_time(at, "at")
        return await self._write(scope, lambda tx: jobs.retry(tx, scope, job_id, at))

    # Requests

    async def begin_request(self, scope: Scope, start: RequestStart) -> Answer | None:
        check_type(start, RequestStart, "start")
        return await self._write(scope, lambda tx: requests.begin(tx, scope, start))

    async def finish_request(self, scope: Scope, answer: Answer, at: datetime) -> None:
        check_type(answer, Answer, "answer")
        check_time(at, "at")
        await self._write(scope, lambda tx: requests.finish(tx, scope, answer, at))

    async def abandon_request(self, scope: Scope, request: RequestKey) -> None:
        check_type(request, RequestKey, "request")
        await self._write(scope, lambda tx: requests.abandon(tx, scope, request))

    async def forget_requests(self, scope: Scope, before: datetime) -> int:
        at = micros(check_time(before, "before"))
        return await self._write(scope, lambda tx: tx.run("delete_old_requests", **scoped(scope), before=at))

    # Erasing

    async def clear_conversation(self, scope: Scope, conversation_id: str, erasure_: Erasure) -> Receipt:
        check_id(conversation_id, "conversation id")
        check_type(erasure_, Erasure, "erasure")
        return await self._erase(scope, lambda tx: erasure.clear(tx, scope, conversation_id, erasure_))

    async def erase_message(self, scope: Scope, conversation_id: str, message_id: str, erasure_: Erasure) -> Receipt:
        check_id(conversation_id, "conversation id")
        check_id(message_id, "message id")
        check_type(erasure_, Erasure, "erasure")
        return await self._erase(scope, lambda tx: erasure.message(tx, scope, conversation_id, message_id, erasure_))

    async def erase_conversation(self, scope: Scope, conversation_id: str, erasure_: Erasure) -> Receipt:
        check_id(conversation_id, "conversation id")
        check_type(erasure_, Erasure, "erasure")
        return await self._erase(scope, lambda tx: erasure.conversation(tx, scope, conversation_id, erasure_))

    async def erase_memory(self, scope: Scope, memory_id: str, erasure_: Erasure) -> Receipt:
        check_id(memory_id, "memory id")
        check_type(erasure_, Erasure, "erasure")
        return await self._erase(scope, lambda tx: erasure.memory(tx, scope, memory_id, erasure_))

    async def erase_user(self, scope: Scope, erasure_: Erasure) -> Receipt:
        check_type(erasure_, Erasure, "erasure")
        return await self._erase(scope, lambda tx: erasure.user(tx, scope, erasure_))

    async def list_audit(self, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
        check_type(query, AuditQuery, "query")
        return await self._read(scope, lambda tx: audit.page(tx, scope, query))

    async def list_damaged(self, scope: Scope) -> tuple[Damaged, ...]:
        return await self._read(scope, lambda tx: damage.page(tx, scope))

    async def close(self) -> None:
        await self._driver.close()


def _expand(scope: Scope, conversation_id: str, summary_id: str, tx: Transaction) -> tuple[Summary, ...]:
    return summaries.expand(tx, scope, conversation_id, summary_id)
