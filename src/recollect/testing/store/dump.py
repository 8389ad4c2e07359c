"""Everything a store tells about a user, to see whether a call changed anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationQuery
from recollect.domain.identity import KeyQuery
from recollect.domain.job import JobQuery
from recollect.domain.memory import Memory, MemoryQuery
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery
from recollect.domain.passage import PassageQuery
from recollect.domain.scope import Scope
from recollect.domain.usage import UsageQuery
from recollect.errors import MemoryNotFoundError
from recollect.ports.store import Store
from recollect.testing.clock import START

#: As many as one page holds; the worlds of these tests are smaller.
ALL = 1_000


async def dump(store: Store, scope: Scope) -> dict[str, Any]:
    """Read everything of the user; two dumps are equal if nothing changed between them."""
    audit = await store.list_audit(scope, AuditQuery(limit=ALL))
    known = {entry.entity_id for entry in audit if entry.kind == "memory"}
    memories = await _memories(store, scope)
    conversations = await store.list_conversations(scope, ConversationQuery(limit=ALL))
    return {
        "conversations": [await _conversation(store, scope, one.id) for one in conversations.items],
        "memories": memories,
        "passages": await store.read_passages(scope, PassageQuery(model="model")),
        "indexed memories": await _indexed(store, scope),
        "unembedded": await store.list_unembedded(scope, "model", ALL),
        "history": {memory_id: await _history(store, scope, memory_id) for memory_id in sorted(known)},
        "note": await store.get_note(scope),
        "note history": await store.note_history(scope, NoteHistoryQuery(limit=ALL)),
        "preferences": await store.get_preferences(scope),
        "jobs": await store.list_jobs(scope, JobQuery(limit=ALL)),
        "audit": audit,
        "usage": await store.usage_totals(scope, UsageQuery(limit=ALL)),
        "keys": [
            one for one in await store.list_keys(KeyQuery(tenant=scope.tenant, limit=ALL)) if one.user == scope.user
        ],
        "damaged": await store.list_damaged(scope),
    }


async def _conversation(store: Store, scope: Scope, conversation_id: str) -> tuple[object, ...]:
    everything = MessageQuery(conversation_id=conversation_id, limit=ALL, all_branches=True)
    return (
        await store.get_conversation(scope, conversation_id),
        await store.list_messages(scope, everything),
        await store.list_messages(scope, MessageQuery(conversation_id=conversation_id, limit=ALL)),
        await store.list_turns(scope, conversation_id),
        await store.active_summaries(scope, conversation_id),
        await store.get_window(scope, conversation_id),
    )


async def _memories(store: Store, scope: Scope) -> list[tuple[Memory, ...]]:
    times = (None, START, START + timedelta(days=400))
    queries = [MemoryQuery(limit=ALL, trust=None, archived=None, as_of=as_of) for as_of in times]
    return [(await store.list_memories(scope, query)).items for query in queries]


async def _indexed(store: Store, scope: Scope) -> object:
    """Return the memories as recall reads them; their revision outlives them."""
    indexed = await store.read_memories(scope, "model")
    return None if indexed is None else indexed.items


async def _history(store: Store, scope: Scope, memory_id: str) -> object:
    try:
        return await store.memory_history(scope, memory_id)
    except MemoryNotFoundError:
        return None
