"""Fill a store with one of everything, and read everything back as its users would.

Each answer is kept as it came or as the error that came instead, so that two readings can be compared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationQuery
from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import Answer, RequestKey
from recollect.domain.job import ClaimRequest, JobFailure, JobQuery, NewJob
from recollect.domain.memory import MemoryChanges, MemoryQuery, NewMemory, Source
from recollect.domain.message import NewMessage
from recollect.domain.note import NoteChange, NoteHistoryQuery
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.preferences import PreferenceChanges
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord
from recollect.errors import RecollectError
from recollect.ports.store import Store

AT = datetime(2026, 1, 1, tzinfo=UTC)
USERS = (Scope("acme", "ada"), Scope("acme", "bob"))
CONVERSATIONS = ("c1", "c2", "c3")

#: What was read, by the name of the read: an answer or the error that came instead.
Reading = dict[str, Any]


def message(name: str, words: int) -> NewMessage:
    text = f"words of {name} " + " ".join(f"{name}x{number}" for number in range(words))
    metadata = {"from": name} if words % 2 else {}
    return NewMessage(id=name, role="user", content=text, created_at=AT, metadata=metadata)


async def fill(store: Store, scope: Scope) -> None:
    """Store something in every table for one user."""
    for number, conversation in enumerate(CONVERSATIONS):
        await _fill_conversation(store, scope, conversation, 4 + 5 * number)
    await _fill_knowledge(store, scope)
    await _fill_work(store, scope)


async def _fill_conversation(store: Store, scope: Scope, conversation: str, words: int) -> None:
    ids = [f"{conversation}-m{number}" for number in range(8)]

    def request(first: int, last: int) -> Append:
        messages = tuple(message(name, words) for name in ids[first:last])
        return Append(conversation_id=conversation, messages=messages, at=AT, create=True)

    await store.record_turn(scope, TurnRecord(id=f"{conversation}-t1", append=request(0, 2), metadata={"model": "m"}))
    await store.record_turn(scope, TurnRecord(id=f"{conversation}-t2", append=request(2, 4)))
    await store.append(scope, request(4, 6))
    await store.archive(scope, ArchiveBatch(id=f"{conversation}-b1", append=request(5, 8)))
    await store.put_summary(
        scope,
        NewSummary(
            id=f"{conversation}-s1",
            message_id=f"{conversation}-sm1",
            conversation_id=conversation,
            content=f"summary of {conversation}",
            at=AT,
            generator="test",
            message_ids=tuple(ids[:3]),
        ),
    )
    await store.erase_message(scope, conversation, ids[6], Erasure(receipt_id=f"{conversation}-r1", at=AT))


async def _fill_knowledge(store: Store, scope: Scope) -> None:
    for number in range(6):
        new = NewMemory(
            id=f"y{number}",
            content=f"statement {number} about {scope.user}",
            at=AT,
            origin="user",
            quote=f"quote {number}",
            sources=(Source("c1", f"c1-m{number}"), Source("c2", f"c2-m{number}")),
        )
        await store.add_memories(scope, (new,))
    await store.change_memory(scope, "y1", MemoryChanges(at=AT, content=f"changed statement about {scope.user}"))
    await store.erase_memory(scope, "y5", Erasure(receipt_id="y5-r", at=AT))
    for text in ("# Likes", "tea", "no coffee"):
        await store.change_note(scope, NoteChange(operation="append", at=AT, content=text))
    await store.change_preferences(scope, PreferenceChanges(at=AT, instructions=f"be kind to {scope.user}"))


async def _fill_work(store: Store, scope: Scope) -> None:
    for number in range(4):
        new = NewJob(id=f"j{number}", kind=f"kind-{scope.user}", run_at=AT, conversation_id="c1", payload={"n": number})
        await store.enqueue_job(scope, new, AT)
    request = ClaimRequest(worker="w", now=AT, lease=timedelta(minutes=1), kinds=(f"kind-{scope.user}",), limit=2)
    first, second = await store.claim_jobs(request)
    await store.complete_job(scope, first.claim, AT)
    await store.fail_job(scope, second.claim, JobFailure(at=AT, error="it failed", retry_at=None))
    answer = Answer(request=RequestKey(key="q1", digest="d"), status=200, body=b"an answer")
    await store.finish_request(scope, answer, AT)


def reads(store: Store, scope: Scope) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Name every read of what `fill` stored for one user."""
    found: dict[str, Callable[[], Awaitable[Any]]] = {
        "conversations": lambda: store.list_conversations(scope, ConversationQuery()),
        "memories": lambda: store.list_memories(scope, MemoryQuery(trust=None, archived=None)),
        "memory history": lambda: store.memory_history(scope, "y1"),
        "note": lambda: store.get_note(scope),
        "note history": lambda: store.note_history(scope, NoteHistoryQuery()),
        "preferences": lambda: store.get_preferences(scope),
        "jobs": lambda: store.list_jobs(scope, JobQuery()),
        "audit": lambda: store.list_audit(scope, AuditQuery(limit=100)),
        "search": lambda: store.search_messages(scope, SearchQuery(text="words of", limit=100)),
    }
    for conversation in CONVERSATIONS:
        found |= _conversation_reads(store, scope, conversation)
    return found


def _conversation_reads(store: Store, scope: Scope, conversation: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    return {
        f"{conversation} itself": lambda: store.get_conversation(scope, conversation),
        f"{conversation} messages": lambda: store.list_messages(scope, MessageQuery(conversation_id=conversation)),
        f"{conversation} message": lambda: store.get_message(scope, conversation, f"{conversation}-m1"),
        f"{conversation} turns": lambda: store.list_turns(scope, conversation),
        f"{conversation} summaries": lambda: store.active_summaries(scope, conversation),
    }


async def read_everything(store: Store) -> Reading:
    """Return every answer, or the error of ours that came instead; any other error is a failure of the test."""
    reading: Reading = {}
    for scope in USERS:
        for name, read in reads(store, scope).items():
            try:
                reading[f"{scope.user} {name}"] = await read()
            except RecollectError as error:
                reading[f"{scope.user} {name}"] = error
    return reading
