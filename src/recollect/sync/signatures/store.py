"""What `Store` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

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
from recollect.domain.holdings import Holdings, HoldingsQuery
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.identity import ApiKey, KeyQuery, StoredKey
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
from recollect.domain.preferences import PreferenceChanges, Preferences
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary, Summary
from recollect.domain.turn import Append, Appended, ArchiveBatch, ArchivedBatch, Turn, TurnRecord
from recollect.domain.usage import UsageEntry, UsageQuery, UsageTotals
from recollect.domain.vector import VectorBatch
from recollect.domain.window import Backlog, Unextracted, Window
from recollect.ports.erasure import Damaged


class BlockingStore(Protocol):
    """Everything the service keeps, in one database."""

    def signing_key(self, scope: Scope, purpose: str) -> bytes:
        """Return a secret that only this database has for this user and purpose, the same for every process."""

    def close(self) -> None:
        """Finish what was accepted, then release everything; a closed store raises `StorageUnavailableError`."""

    def create_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        """Return the conversation with this id, created if there is none."""

    def current_conversation(self, scope: Scope, new: NewConversation) -> Conversation:
        """Return the newest conversation of `new.agent` that is not archived, or create this one."""

    def get_conversation(self, scope: Scope, conversation_id: str) -> Conversation:
        """Return the conversation or raise `ConversationNotFoundError`."""

    def list_conversations(self, scope: Scope, query: ConversationQuery) -> ConversationPage:
        """List conversations by last activity, newest first, then by id; any page costs the same."""

    def search_conversations(self, scope: Scope, query: ConversationSearch) -> FoundConversations:
        """Find conversations by their words, in any script; newest activity first, then by id, in pages."""

    def conversations_holding(self, scope: Scope, message_id: str, limit: int) -> tuple[str, ...]:
        """Return the ids of the conversations that hold a message with this id, the newest such message first."""

    def change_conversation(self, scope: Scope, conversation_id: str, changes: ConversationChanges) -> Conversation:
        """Apply the changes and return the conversation after them."""

    def mark_inactive(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[str, ...]:
        """Mark at most `limit` conversations inactive that had no activity after this time; return their ids."""

    def list_idle(self, scope: Scope, idle_since: datetime, limit: int) -> tuple[Conversation, ...]:
        """Return the conversations without activity after this time, the longest idle first, then by id."""

    def append(self, scope: Scope, request: Append) -> Appended:
        """Add messages at the head, in the given order, with consecutive seqs, and enqueue their jobs."""

    def record_turn(self, scope: Scope, record: TurnRecord) -> Appended:
        """Store a turn: its messages, jobs, access counts and the answer to a retry."""

    def archive(self, scope: Scope, batch: ArchiveBatch) -> ArchivedBatch:
        """Store a client's batch; overlap is stored once, and the same batch again gets the first answer."""

    def get_message(self, scope: Scope, conversation_id: str, message_id: str) -> Message:
        """Return the message or raise `MessageNotFoundError`; `CorruptRecordError` if it was damaged."""

    def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        """Read a page in chronological order; any page of an unbranched conversation costs the same."""

    def get_window(self, scope: Scope, conversation_id: str) -> Window:
        """Return what a prompt needs of the conversation; it may be held in a cache, but is never out of date."""

    def list_unextracted(self, scope: Scope, conversation_id: str, limit: int, context: int) -> Unextracted:
        """Return the oldest messages of the head path that were not learned from, and so many before them."""

    def get_backlog(self, scope: Scope, conversation_id: str, limit: int) -> Backlog:
        """Return at most `limit` of the messages on the head path that no summary covers, the oldest of them."""

    def list_turns(self, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
        """Return the turns of a conversation, oldest first."""

    def find_turns(self, scope: Scope, conversation_id: str, turn_ids: tuple[str, ...]) -> tuple[Turn, ...]:
        """Return those of these turns that are stored, oldest first; the cost depends on how many are asked for."""

    def search_messages(self, scope: Scope, query: SearchQuery) -> tuple[Hit, ...]:
        """Find messages by their words, in any script, those with most of the words first, then the newest."""

    def put_summary(self, scope: Scope, new: NewSummary) -> Summary:
        """Replace a range of messages, or of summaries, by a summary."""

    def active_summaries(self, scope: Scope, conversation_id: str) -> tuple[Summary, ...]:
        """Return the summaries that no other replaces, on every branch, in order of what they cover."""

    def expand_summary(self, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
        """Return the summary and every summary folded into it, widest first."""

    def add_memories(self, scope: Scope, new: tuple[NewMemory, ...]) -> SavedMemories:
        """Store memories; those that say what is stored are duplicates."""

    def get_memory(self, scope: Scope, memory_id: str) -> Memory:
        """Return the memory or raise `MemoryNotFoundError`; one that was deleted counts as missing."""

    def find_memories(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[Memory, ...]:
        """Return those of these memories that are stored and not deleted, the first added first."""

    def list_memories(self, scope: Scope, query: MemoryQuery) -> MemoryPage:
        """List memories by filter, the last added first unless the query says otherwise."""

    def change_memory(self, scope: Scope, memory_id: str, changes: MemoryChanges) -> Memory:
        """Apply the changes, keep what the memory was, and return it after them."""

    def save_memories(self, scope: Scope, plan: MemoryPlan) -> SavedMemories:
        """Edit and add memories together, if the memories of the user still are at the revision of the plan."""

    def save_extraction(self, scope: Scope, result: Extraction) -> SavedMemories:
        """Save what was extracted from a range, as `save_memories` does, move the mark, end the job."""

    def memory_history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return what the memory was before each change, newest first."""

    def read_passages(self, scope: Scope, query: PassageQuery) -> Passages:
        """Return the messages of users and assistants that are new, and name the conversations that are gone."""

    def match_passages(self, scope: Scope, match: PassageMatch) -> MatchedPassages:
        """Return the messages that hold most of the terms, rare ones counting more, and those nearest in meaning."""

    def read_memories(self, scope: Scope, model: str, known: int | None = None) -> IndexedMemories | None:
        """Return all memories of the user, or None if they still are at this revision."""

    def list_unembedded(self, scope: Scope, model: str, limit: int) -> Unembedded:
        """Return the oldest messages or memories without a vector of this model, and how many there are in all."""

    def save_vectors(self, scope: Scope, batch: VectorBatch) -> int:
        """Keep vectors in place of older ones, except those of texts that are gone or changed, and return how many."""

    def get_note(self, scope: Scope) -> Note:
        """Return the note of the scope's agent; version 0 if nothing was written."""

    def noting_agents(self, scope: Scope) -> tuple[str, ...]:
        """Return the names of the user's agents that ever noted something, in order."""

    def change_note(self, scope: Scope, change: NoteChange) -> Note:
        """Apply an operation to the newest text; concurrent operations all take effect, one after the other."""

    def undo_note(self, scope: Scope, at: datetime) -> Note:
        """Bring back the text before the last change, as a new version."""

    def note_history(self, scope: Scope, query: NoteHistoryQuery) -> tuple[NoteVersion, ...]:
        """List the versions, newest first."""

    def get_preferences(self, scope: Scope) -> Preferences:
        """Return what the user set; version 0 and the defaults if nothing was."""

    def change_preferences(self, scope: Scope, changes: PreferenceChanges) -> Preferences:
        """Change the newest preferences and return them; what changes nothing makes no version."""

    def enqueue_job(self, scope: Scope, new: NewJob, at: datetime) -> Job:
        """Queue a job, or postpone the queued one with the same key; the same id again changes nothing."""

    def claim_jobs(self, request: ClaimRequest) -> tuple[ClaimedJob, ...]:
        """Take due jobs, and jobs whose lease ran out, of any scope, longest due first."""

    def complete_job(self, scope: Scope, claim: Claim, at: datetime) -> Job:
        """End a job that was done."""

    def fail_job(self, scope: Scope, claim: Claim, failure: JobFailure) -> Job:
        """Queue a job again for later, or let it die if it may not be retried or used up its attempts."""

    def heartbeat_job(self, scope: Scope, claim: Claim, lease_until: datetime) -> Job:
        """Keep a job until this time."""

    def get_job(self, scope: Scope, job_id: str) -> Job:
        """Return the job or raise `JobNotFoundError`."""

    def list_jobs(self, scope: Scope, query: JobQuery) -> tuple[Job, ...]:
        """List jobs, the last queued first."""

    def retry_job(self, scope: Scope, job_id: str, at: datetime) -> Job:
        """Queue a dead job again; any other raises `ConflictError`."""

    def forget_jobs(self, scope: Scope, before: datetime) -> int:
        """Delete the jobs of the user that were done before this time, and return how many; dead ones stay."""

    def begin_request(self, scope: Scope, start: RequestStart) -> Answer | None:
        """Return the first answer, or None if this caller, and no other, does the work."""

    def finish_request(self, scope: Scope, answer: Answer, at: datetime) -> None:
        """Keep the answer for every retry; the first one stays."""

    def abandon_request(self, scope: Scope, request: RequestKey) -> None:
        """Let this very request be tried again, unless it was answered; one with other content is left alone."""

    def forget_requests(self, scope: Scope, before: datetime) -> int:
        """Delete the records of requests begun before this time and return how many."""

    def record_usage(self, scope: Scope, entry: UsageEntry) -> None:
        """Enter what was spent; the same id again changes nothing."""

    def usage_totals(self, scope: Scope, query: UsageQuery) -> UsageTotals:
        """Add up what was spent, exactly; a damaged entry is told and not counted."""

    def count_holdings(self, scope: Scope, query: HoldingsQuery) -> Holdings:
        """Count conversations, messages, memories, jobs and bytes of one user, on one snapshot."""

    def create_key(self, new: StoredKey) -> ApiKey:
        """Keep a key; the same again changes nothing, and another with its id raises `ConflictError`."""

    def find_key(self, wanted: str) -> StoredKey | None:
        """Return the key with this id, or None; one that was damaged proves nothing and is not returned."""

    def list_keys(self, query: KeyQuery) -> tuple[ApiKey, ...]:
        """List the keys of a tenant by their ids, those that are refused included."""

    def revoke_key(self, key_id: str, at: datetime) -> ApiKey:
        """Refuse a key from now on; a second time changes nothing, and a missing one raises `NotFoundError`."""

    def touch_key(self, key_id: str, at: datetime) -> ApiKey:
        """Note that a key was used, unless the last use noted is less than a minute before."""

    def clear_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        """Empty a conversation, which then starts again at seq 1; raise `ConversationNotFoundError` if it is empty."""

    def erase_message(self, scope: Scope, conversation_id: str, message_id: str, erasure: Erasure) -> Receipt:
        """Erase one message; its seq stays unused and its answers move up to its parent."""

    def erase_conversation(self, scope: Scope, conversation_id: str, erasure: Erasure) -> Receipt:
        """Erase a conversation; its id cannot be used again."""

    def erase_memory(self, scope: Scope, memory_id: str, erasure: Erasure) -> Receipt:
        """Erase a memory with its history; extraction does not learn it again."""

    def erase_user(self, scope: Scope, erasure: Erasure) -> Receipt:
        """Erase everything of the user."""

    def list_audit(self, scope: Scope, query: AuditQuery) -> tuple[AuditEntry, ...]:
        """List who changed what, newest first."""

    def list_damaged(self, scope: Scope) -> tuple[Damaged, ...]:
        """List the records that reads found damaged."""
